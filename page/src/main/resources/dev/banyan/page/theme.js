// Light and dark.

import { byId } from "./dom.js";

const listeners = [];
const system = matchMedia("(prefers-color-scheme: dark)");

/** Calls a function whenever colours have changed. */
export function onTheme(listener) {
  listeners.push(listener);
}

/** The value of a custom property of the style sheet. */
export function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

// Colours of Okabe and Ito, which people with any colour vision can tell apart, without yellow and with cyan in place of
// the sky blue that a faint blue looks like.
const HUES = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b8860b", "#00b4d8", "#8a6fc9"];

/** Colour of the tree or the curve of a number; each number has another one. */
export function hue(number) {
  return HUES[number] ?? further(number);
}

/** Steps by the golden angle, so that no two numbers have the same hue. */
function further(number) {
  const turn = (number * 137.508 + 100) % 360;
  const channel = (shift) => {
    const at = (shift + turn / 30) % 12;
    return Math.round(255 * (0.45 - 0.27 * Math.max(-1, Math.min(at - 3, 9 - at, 1))));
  };
  return `#${[0, 8, 4].map((shift) => channel(shift).toString(16).padStart(2, "0")).join("")}`;
}

function channels(hex) {
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
}

function mix(from, to, part) {
  const a = channels(from);
  const b = channels(to);
  return `rgb(${a.map((value, i) => Math.round(value + (b[i] - value) * part)).join(",")})`;
}

/** Colour of a number, more than half way to that of the paper. */
export function faint(number) {
  return mix(hue(number), colour("paper"), 0.62);
}

/** Colour of a link of whose bandwidth a percentage is used. */
export function heat(percents) {
  const part = Math.min(1, percents / 100);
  return part < 0.5 ? mix(colour("idle"), colour("half"), 2 * part) : mix(colour("half"), colour("full"), 2 * part - 1);
}

function setTheme(dark) {
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  byId("theme").textContent = dark ? "Light" : "Dark";
  byId("theme").setAttribute("aria-label", dark ? "Use light colours" : "Use dark colours");
  listeners.forEach((listener) => listener());
}

/** Follows the system until the user chooses. */
export function startTheme() {
  setTheme(system.matches);
  system.addEventListener("change", () => setTheme(system.matches));
  byId("theme").addEventListener("click", () => setTheme(document.documentElement.dataset.theme !== "dark"));
}
