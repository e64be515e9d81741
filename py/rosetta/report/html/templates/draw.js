// What all charts share: how they look, when they are drawn, and what happens when paper is near.

const PAPER_WIDTH = 640;
const drawnCharts = new Map(); // figure → the function that makes {traces, layout}
let onPaper = false;

// Plotly reads tags and entities in texts; ours come from foreign programs and have none.
function plain(text) {
  return String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
}

function nameOf(worker) {
  return plain(data.workers[worker].label);
}

function isHarness(worker) {
  return data.workers[worker].harness;
}

// A trace of one worker: its name and colour; what measures the harness is there on a click only.
function traceOf(worker, more) {
  const { colour, symbol } = data.workers[worker];
  return {
    name: nameOf(worker),
    marker: { color: colour, symbol, size: 6 },
    line: { color: colour },
    visible: isHarness(worker) ? "legendonly" : true,
    ...more,
  };
}

function milliseconds(value) {
  if (value === null) return "unknown";
  const digits = value >= 100 ? 1 : value >= 1 ? 2 : 3;
  const places = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  return `${value.toLocaleString("en", places)} ms`;
}

function axis(title, more) {
  return {
    title: { text: title, font: { size: 12 }, standoff: 8 },
    gridcolor: colourOf("line"),
    zerolinecolor: colourOf("line"),
    linecolor: colourOf("line"),
    tickfont: { size: 11 },
    automargin: true,
    ...more,
  };
}

// Logarithmic where the values differ by more than ten times, else from zero.
function timeAxis(title, values, more) {
  const known = values.filter((value) => value > 0);
  const wide = known.length > 0 && largest(known) > 10 * smallest(known);
  if (wide) return axis(`${title}, logarithmic`, { ...decades(known), ...more });
  return axis(title, { rangemode: "tozero", ...more });
}

// Ticks at 1, 2 and 5 where there are few powers of ten, and none between where there are many.
function decades(values) {
  const span = Math.log10(largest(values) / smallest(values));
  return { type: "log", dtick: span > 3 ? 1 : "D2", tickformat: ",~g", exponentformat: "none" };
}

function largest(values) {
  return values.reduce((most, value) => Math.max(most, value), -Infinity);
}

function smallest(values) {
  return values.reduce((least, value) => Math.min(least, value), Infinity);
}

// Workers from the top, in the order of the tables.
function workerAxis(workers) {
  const names = workers.map(nameOf).reverse();
  const range = [-0.6, names.length - 0.4];
  return axis("", { type: "category", categoryorder: "array", categoryarray: names, range });
}

function layoutOf(own) {
  const ink = colourOf("ink");
  return {
    font: { family: getComputedStyle(document.body).fontFamily, size: 12, color: ink },
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    margin: { l: 8, r: 8, t: 8, b: 8 },
    height: 320,
    hovermode: "closest",
    hoverlabel: {
      bgcolor: colourOf("soft"),
      bordercolor: colourOf("line"),
      font: { color: ink },
      align: "left",
    },
    legend: {
      orientation: "h",
      x: 0,
      y: 0,
      yref: "container",
      yanchor: "bottom",
      font: { size: 12 },
      itemsizing: "constant",
    },
    showlegend: true,
    // On a touch screen a drag is for moving the page.
    dragmode: window.matchMedia("(pointer: coarse)").matches ? false : "zoom",
    ...(onPaper ? { width: PAPER_WIDTH } : {}),
    ...own,
  };
}

function rowsHigh(count) {
  return Math.max(170, 90 + 30 * count);
}

// A legend of several lines makes the chart higher, not what it shows lower.
function legendHeight(traces, width) {
  const named = traces.filter((trace) => trace.showlegend !== false);
  const longest = largest(named.map((trace) => trace.name.length));
  const inOneLine = Math.max(1, Math.floor(width / (60 + 7 * longest)));
  return 20 * Math.max(0, Math.ceil(named.length / inOneLine) - 1);
}

async function draw(figure) {
  const { traces, layout } = drawnCharts.get(figure)();
  const place = figure.querySelector(".chart");
  const whole = layoutOf(layout);
  const width = onPaper ? PAPER_WIDTH : place.clientWidth;
  if (whole.showlegend) whole.height += legendHeight(traces, width);
  await Plotly.react(place, traces, whole, { displayModeBar: false, responsive: !onPaper });
}

function addChart(figure, make) {
  drawnCharts.set(figure, make);
}

// One after the other, so that the page can be read meanwhile.
async function drawAll() {
  for (const figure of drawnCharts.keys()) {
    await draw(figure);
    await new Promise((resume) => setTimeout(resume));
  }
}

function redrawAll() {
  for (const figure of drawnCharts.keys()) draw(figure);
}

themeListeners.push(redrawAll);

// Paper is white and narrow, whatever the screen is.
let schemeBefore;
window.addEventListener("beforeprint", () => {
  schemeBefore = document.documentElement.dataset.theme;
  document.documentElement.dataset.theme = "light";
  onPaper = true;
  redrawAll();
});
window.addEventListener("afterprint", () => {
  if (schemeBefore) document.documentElement.dataset.theme = schemeBefore;
  else delete document.documentElement.dataset.theme;
  onPaper = false;
  redrawAll();
});
