// The report of a sweep: speed over the batch size and over the number of threads.

const FIELDS = {
  batch_size: ["batch size", "threads", (threads) => `${threads} thread${threads === 1 ? "" : "s"}`],
  threads: ["threads", "batch_size", (size) => `batch ${size}`],
};
const LINE_DASHES = ["solid", "dash", "dot", "dashdot", "longdash"];

function scalingChart(task, field) {
  const { points, unit } = data.tasks[task];
  const [title, other, words] = FIELDS[field];
  const others = [...new Set(points.map((point) => point[other]))].sort((a, b) => a - b);
  const workers = [...new Set(points.map((point) => point.worker))];
  const traces = workers.flatMap((worker) =>
    others.map((value, number) => {
      const line = points.filter((point) => point.worker === worker && point[other] === value);
      line.sort((a, b) => a[field] - b[field]);
      const { colour } = data.workers[worker];
      const name = others.length > 1 ? `${nameOf(worker)}, ${words(value)}` : nameOf(worker);
      return traceOf(worker, {
        type: "scatter",
        mode: "lines+markers",
        name,
        x: line.map((point) => point[field]),
        y: line.map((point) => point.samples_per_s),
        line: { color: colour, width: 1.5, dash: LINE_DASHES[number % LINE_DASHES.length] },
        customdata: line.map((point) => [milliseconds(point.step_ms)]),
        hovertemplate:
          `<b>${name}</b><br>${title} %{x}: %{y:,.0f} ${unit}, ` +
          "step %{customdata[0]}<extra></extra>",
      });
    }),
  ).filter((trace) => trace.x.length > 0);
  const values = [...new Set(points.map((point) => point[field]))].sort((a, b) => a - b);
  return {
    traces,
    layout: {
      xaxis: axis(title, { type: "log", tickvals: values, ticktext: values.map(String) }),
      yaxis: axis(unit, { ...decades(points.map((point) => point.samples_per_s)) }),
      height: 360,
    },
  };
}

for (const figure of document.querySelectorAll("figure")) {
  addChart(figure, () => scalingChart(Number(figure.dataset.task), figure.dataset.kind));
}
themeChanged();
drawAll();
