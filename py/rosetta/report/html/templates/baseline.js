// Ratios to the baseline that the reader chooses. Every pair was computed with the run's blocks.

const choice = document.getElementById("baseline");

function chosenBaseline() {
  return choice.value === "" ? null : Number(choice.value);
}

function speedsOf(task) {
  const baseline = chosenBaseline();
  return data.tasks[task].speeds.filter((speed) => speed.baseline === baseline);
}

function speedChart(task) {
  const shown = speedsOf(task).sort((one, other) => one.other - other.other);
  const traces = shown.map((speed) => {
    const { colour } = data.workers[speed.other];
    const known = speed.low !== null;
    const isBaseline = speed.other === speed.baseline;
    return traceOf(speed.other, {
      type: "scatter",
      mode: "markers",
      x: [speed.value],
      y: [nameOf(speed.other)],
      marker: { color: colour, size: 9, symbol: known || isBaseline ? "circle" : "circle-open" },
      error_x: known
        ? {
            type: "data",
            symmetric: false,
            array: [speed.high - speed.value],
            arrayminus: [speed.value - speed.low],
            color: colour,
            thickness: 2,
            width: 5,
          }
        : { visible: false },
      hovertemplate:
        `<b>${nameOf(speed.other)}</b>: ${plain(speed.text)}` +
        `<br>${plain(speed.verdict)}<extra></extra>`,
    });
  });
  const ends = shown.flatMap((speed) => [speed.low ?? speed.value, speed.high ?? speed.value]);
  const baseline = chosenBaseline();
  const words = `samples/s relative to ${baseline === null ? "the baseline" : nameOf(baseline)}`;
  return {
    traces,
    layout: {
      showlegend: false,
      xaxis: timeAxis(words, [...ends, 1]),
      yaxis: workerAxis(shown.map((speed) => speed.other)),
      shapes: [lineAtOne()],
      height: rowsHigh(shown.length),
      annotations: shown.length > 0 ? [] : [{ text: "no ratios to this baseline", showarrow: false }],
    },
  };
}

// The column of ratios, its heading, the words below the chart, and why there are none.
function fillRatios(task) {
  const shown = speedsOf(task);
  const table = document.querySelector(`table[data-task="${task}"]`);
  if (!table) return;
  const baseline = chosenBaseline();
  const name = baseline === null ? null : data.workers[baseline].label;
  for (const heading of table.querySelectorAll("th.ratio")) {
    heading.textContent = name === null ? "ratio" : `vs ${name}`;
  }
  for (const cell of table.querySelectorAll("td.ratio")) {
    const speed = shown.find((one) => one.other === Number(cell.dataset.worker));
    cell.textContent = speed ? speed.text : "";
    cell.title = speed ? speed.verdict : "";
    const known = Boolean(speed) && speed.low !== null;
    cell.classList.toggle("even", known && speed.low <= 1 && speed.high >= 1);
  }
  const remark = document.querySelector(`[data-remark="${task}"]`);
  const missing = shown.length === 0 && data.tasks[task].speeds.length > 0;
  remark.textContent = missing ? `No ratios here: ${name} has no result to compare with.` : "";
  fillWords(task, shown, name);
}

function fillWords(task, shown, name) {
  const list = document.getElementById(`words-${task}-speed`);
  if (!list) return;
  const sentences = shown.map((speed) => {
    const { label } = data.workers[speed.other];
    return `${label}: ${speed.text} of ${name}’s speed, ${speed.verdict}`;
  });
  list.replaceChildren(
    ...sentences.map((sentence) => {
      const item = document.createElement("li");
      item.textContent = sentence;
      return item;
    }),
  );
}

function baselineChanged() {
  data.tasks.forEach((_, task) => {
    fillRatios(task);
    const figure = document.querySelector(`figure[data-task="${task}"][data-kind="speed"]`);
    if (figure) draw(figure);
  });
}
