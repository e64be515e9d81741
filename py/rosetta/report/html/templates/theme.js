"use strict";
// Light and dark: the system's choice until the reader makes one.

const data = JSON.parse(document.getElementById("data").textContent);
const themeListeners = [];

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  if (chosen) return chosen === "dark";
  return window.matchMedia("(prefers-color-scheme: dark)").matches;
}

function colourOf(variable) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${variable}`).trim();
}

function themeChanged() {
  const button = document.getElementById("theme");
  button.textContent = isDark() ? "light" : "dark";
  button.setAttribute("aria-label", `switch to the ${button.textContent} scheme`);
  button.setAttribute("aria-pressed", String(Boolean(document.documentElement.dataset.theme)));
  for (const listener of themeListeners) listener();
}

document.getElementById("theme").addEventListener("click", () => {
  document.documentElement.dataset.theme = isDark() ? "light" : "dark";
  themeChanged();
});
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", themeChanged);
