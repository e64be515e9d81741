// The report of a run: which function draws which figure.

const MAKERS = {
  speed: (charts, task) => speedChart(task),
  spread: (charts, task, figure) => spreadChart(charts, figure.dataset.violins === "yes"),
  times: timesChart,
  parts: partsChart,
  start: startChart,
  loss: lossChart,
  accuracy: accuracyChart,
  memory: memoryChart,
  proof: proofChart,
};

for (const figure of document.querySelectorAll("figure")) {
  const task = Number(figure.dataset.task);
  addChart(figure, () => MAKERS[figure.dataset.kind](data.tasks[task].charts, task, figure));
  figure.querySelector(".shape")?.addEventListener("click", (event) => {
    const violins = figure.dataset.violins !== "yes";
    figure.dataset.violins = violins ? "yes" : "no";
    event.target.setAttribute("aria-pressed", String(violins));
    draw(figure);
  });
}

choice.addEventListener("change", baselineChanged);
data.tasks.forEach((_, task) => fillRatios(task));
themeChanged();
drawAll();
