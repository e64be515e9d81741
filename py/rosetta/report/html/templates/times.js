// Charts of times: how they are spread, in their order, what they are made of, and the start.

const PARTS = [
  ["wait", "wait", 1],
  ["copy", "copy", 2],
  ["forward", "forward", 3],
  ["backward", "backward", 4],
  ["rest", "update and rest", 5],
  ["step", "step, not split", 4],
];

const STARTS = [
  ["setup", "set-up", "square-open"],
  ["first", "first step", "diamond"],
  ["warmup", "warm-up step", "circle-open"],
  ["typical", "timed step", "circle"],
];

function compared(list) {
  const frameworks = list.filter((one) => !isHarness(one.worker));
  return frameworks.length > 0 ? frameworks : list;
}

function spreadChart(charts, violins) {
  const shown = charts.spread;
  const traces = shown.map((one) =>
    traceOf(one.worker, {
      type: violins ? "violin" : "box",
      x: one.ms,
      y: one.ms.map(() => nameOf(one.worker)),
      orientation: "h",
      spanmode: "hard",
      points: violins ? false : undefined,
      boxpoints: violins ? undefined : "outliers",
      line: { width: 1.5, color: data.workers[one.worker].colour },
      marker: { color: data.workers[one.worker].colour, size: 3, opacity: 0.6 },
      meanline: { visible: false },
      hoverinfo: "x+name",
      xhoverformat: ",.4~g",
    }),
  );
  const values = compared(shown).flatMap((one) => [one.ms[0], one.ms[one.ms.length - 1]]);
  return {
    traces,
    layout: {
      xaxis: timeAxis("step, ms", values),
      // The legend names them; one that is hidden takes no room.
      yaxis: {
        ...workerAxis(shown.map((one) => one.worker)),
        showticklabels: false,
        range: undefined,
      },
      height: rowsHigh(shown.length) + 60,
    },
  };
}

function timesChart(charts) {
  const traces = charts.times.map((one) => {
    const { colour, symbol } = data.workers[one.worker];
    return traceOf(one.worker, {
      type: "scatter",
      mode: "markers",
      x: one.order,
      y: one.ms,
      marker: { color: colour, symbol, size: 4 },
      customdata: one.order.map((_, i) => [
        one.step[i],
        one.block[i],
        one.repeat[i],
        milliseconds(one.ms[i]),
        milliseconds(one.copy[i]),
        milliseconds(one.wait[i]),
      ]),
      hovertemplate:
        `<b>${nameOf(one.worker)}</b>` +
        "<br>%{customdata[3]}, copy %{customdata[4]}, wait %{customdata[5]}" +
        "<br>step %{customdata[0]}, block %{customdata[1]}, repeat %{customdata[2]}<extra></extra>",
    });
  });
  return {
    traces,
    layout: {
      xaxis: axis("steps of all workers, as they were computed", { rangemode: "tozero" }),
      yaxis: timeAxis("step, ms", compared(charts.times).flatMap((one) => one.ms)),
      height: 380,
    },
  };
}

function partsChart(charts) {
  const shown = charts.parts;
  const traces = PARTS.map(([part, name, shade]) => {
    const told = (one) => one[part] !== null && !(part === "step" && one.forward !== null);
    const having = shown.filter(told);
    return {
      type: "bar",
      orientation: "h",
      name,
      x: having.map((one) => one[part]),
      y: having.map((one) => nameOf(one.worker)),
      marker: { color: colourOf(`part-${shade}`) },
      customdata: having.map((one) => milliseconds(one[part])),
      hovertemplate: `%{y}: ${name} %{customdata}<extra></extra>`,
    };
  }).filter((trace) => trace.x.length > 0);
  return {
    traces,
    layout: {
      barmode: "stack",
      bargap: 0.35,
      xaxis: axis("ms of one step", { rangemode: "tozero" }),
      yaxis: workerAxis(shown.map((one) => one.worker)),
      legend: { ...layoutOf({}).legend, traceorder: "normal" },
      height: rowsHigh(shown.length) + 60,
    },
  };
}

function startChart(charts) {
  const shown = charts.start;
  const values = [];
  const traces = STARTS.flatMap(([field, name, symbol]) => {
    const having = shown.filter((one) => one[field] !== null && one[field] > 0);
    if (having.length === 0) return [];
    values.push(...having.map((one) => one[field]));
    const common = { type: "scatter", mode: "markers", name, legendgroup: field };
    // In the legend it has nobody's colour.
    const marker = { symbol, size: 9, color: colourOf("quiet") };
    const inLegend = { ...common, x: [null], y: [null], marker };
    const marks = {
      ...common,
      showlegend: false,
      x: having.map((one) => one[field]),
      y: having.map((one) => nameOf(one.worker)),
      marker: { symbol, size: 9, color: having.map((one) => data.workers[one.worker].colour) },
      customdata: having.map((one) => milliseconds(one[field])),
      hovertemplate: `%{y}: ${name} %{customdata}<extra></extra>`,
    };
    return [inLegend, marks];
  });
  return {
    traces,
    layout: {
      xaxis: axis("ms, logarithmic", decades(values)),
      yaxis: workerAxis(shown.map((one) => one.worker)),
      height: rowsHigh(shown.length) + 60,
    },
  };
}
