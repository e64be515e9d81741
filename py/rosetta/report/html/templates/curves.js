// Loss, accuracy, memory and the proof's margins.

const SMALLEST_SHARE = 1e-5; // where what doesn't deviate at all is drawn
const LARGEST_SHARE = 1e4; // where what is no number is drawn

function lossChart(charts) {
  const count = charts.loss.length;
  const traces = charts.loss.map((one, number) =>
    traceOf(one.worker, {
      type: "scatter",
      mode: "lines",
      x: one.step,
      y: one.value,
      // Equal curves lie on one another: the later, the thinner.
      line: {
        color: data.workers[one.worker].colour,
        width: 1.5 + (6 * (count - 1 - number)) / Math.max(1, count - 1),
      },
      hovertemplate: `<b>${nameOf(one.worker)}</b><br>step %{x}: loss %{y:.5f}<extra></extra>`,
    }),
  );
  return {
    traces,
    layout: { xaxis: axis("step"), yaxis: axis("loss"), height: 360 },
  };
}

function accuracyChart(charts) {
  const count = charts.accuracy.length;
  const traces = charts.accuracy.map((one, number) => {
    const { colour, symbol, dash } = data.workers[one.worker];
    return traceOf(one.worker, {
      type: "scatter",
      mode: "lines+markers",
      x: one.step,
      y: one.value,
      line: { color: colour, dash, width: 1.5 },
      marker: { color: colour, symbol, size: 7 + (6 * (count - 1 - number)) / Math.max(1, count - 1) },
      hovertemplate: `<b>${nameOf(one.worker)}</b><br>after step %{x}: %{y:.3f}<extra></extra>`,
    });
  });
  return {
    traces,
    layout: {
      xaxis: axis("steps trained", { rangemode: "tozero" }),
      yaxis: axis("accuracy", { range: [0, 1.02] }),
    },
  };
}

function memoryChart(charts) {
  const shown = charts.memory;
  const trace = {
    type: "bar",
    orientation: "h",
    x: shown.map((one) => one.value),
    y: shown.map((one) => nameOf(one.worker)),
    marker: { color: shown.map((one) => data.workers[one.worker].colour) },
    hovertemplate: "%{y}: %{x:,.0f} MB<extra></extra>",
  };
  return {
    traces: [trace],
    layout: {
      bargap: 0.45,
      showlegend: false,
      xaxis: axis("MB", { rangemode: "tozero" }),
      yaxis: workerAxis(shown.map((one) => one.worker)),
      height: rowsHigh(shown.length),
    },
  };
}

function shareDrawn(margin) {
  if (margin.share === null) return LARGEST_SHARE;
  return Math.min(LARGEST_SHARE, Math.max(SMALLEST_SHARE, margin.share));
}

function proofChart(charts) {
  const shown = charts.proof;
  const bad = colourOf("bad");
  const traces = shown.map((one) =>
    traceOf(one.worker, {
      type: "scatter",
      mode: "markers",
      x: one.margins.map(shareDrawn),
      y: one.margins.map(() => nameOf(one.worker)),
      marker: {
        color: one.margins.map(({ passed }) => (passed ? data.workers[one.worker].colour : bad)),
        symbol: one.margins.map((margin) => (margin.passed ? "circle" : "x")),
        size: 9,
        opacity: 0.75,
      },
      customdata: one.margins.map((margin) => [
        plain(margin.quantity),
        plain(margin.deviation),
        plain(margin.tolerance),
        margin.passed ? "" : ": not passed",
      ]),
      hovertemplate:
        `<b>${nameOf(one.worker)}</b><br>%{customdata[0]}` +
        "<br>%{customdata[1]} (tolerance %{customdata[2]})%{customdata[3]}<extra></extra>",
    }),
  );
  const values = [...shown.flatMap((one) => one.margins.map(shareDrawn)), 1];
  return {
    traces,
    layout: {
      showlegend: false,
      xaxis: axis("deviation / tolerance, logarithmic", { ...decades(values), dtick: 1 }),
      yaxis: workerAxis(shown.map((one) => one.worker)),
      shapes: [lineAtOne()],
      height: rowsHigh(shown.length),
    },
  };
}

// Where a ratio is 1; on a logarithmic axis as well.
function lineAtOne() {
  const line = { color: colourOf("quiet"), width: 1 };
  return { type: "line", x0: 1, x1: 1, yref: "paper", y0: 0, y1: 1, line };
}
