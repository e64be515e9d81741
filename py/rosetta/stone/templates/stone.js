"use strict";
// Which two workers are shown, and the links that say so: #torch/julia/cnn.
(() => {
  const selects = ["left", "right"].map((id) => document.getElementById(id));
  const names = [...selects[0].options].map((option) => option.value);
  let pair = selects.map((select) => select.value);

  function show(chosen) {
    pair = chosen;
    selects.forEach((select, side) => { select.value = pair[side]; });
    for (const article of document.querySelectorAll("[data-worker]")) {
      const side = pair.indexOf(article.dataset.worker);
      article.hidden = side < 0;
      article.style.order = String(side);
    }
    for (const link of document.querySelectorAll("[data-part]")) {
      link.href = `#${pair.join("/")}/${link.dataset.part}`;
    }
    const titles = selects.map((select) => select.selectedOptions[0].textContent);
    document.title = `${titles.join(" and ")}: Rosetta Stone`;
  }

  // The link may come from elsewhere: a worker that isn't here leaves what is shown as it is.
  function follow() {
    const [left, right, part] = decodeURIComponent(location.hash.slice(1)).split("/");
    if (names.includes(left) && names.includes(right) && left !== right) show([left, right]);
    const section = part && document.getElementById(part);
    if (section) section.scrollIntoView();
  }

  function choose(chosen) {
    show(chosen);
    const part = location.hash.split("/")[2];
    history.replaceState(null, "", `#${pair.join("/")}${part ? `/${part}` : ""}`);
  }

  // Who is chosen a second time changes sides with the other.
  selects.forEach((select, side) => select.addEventListener("change", () => {
    const chosen = [...pair];
    if (select.value === pair[1 - side]) chosen[1 - side] = pair[side];
    chosen[side] = select.value;
    choose(chosen);
  }));
  document.getElementById("swap").addEventListener("click", () => choose([pair[1], pair[0]]));
  addEventListener("hashchange", follow);

  const bar = document.querySelector("nav");
  new ResizeObserver(() => {
    document.documentElement.style.setProperty("--bar", `${bar.offsetHeight + 8}px`);
  }).observe(bar);
  document.documentElement.style.setProperty("--bar", `${bar.offsetHeight + 8}px`);
  show(pair);
  follow();
})();
