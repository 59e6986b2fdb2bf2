/** @file The keyboard: one table for the sheet, one listener for the page. */

import { html, render } from "../vendor/lit-html.js";

/** @type {[string[], string][]} */
const SHEET = [
  [["j", "k"], "next, previous row"],
  [["g", "G"], "first, last row"],
  [["Enter"], "open"],
  [["Esc"], "back, close"],
  [["/"], "search"],
  [["f"], "status filter"],
  [["n"], "show newer runs"],
  [["←", "→"], "close, open a row"],
  [["e", "w"], "open all, close all"],
  [["x"], "next failure"],
  [["a"], "next thing that waits"],
  [["u"], "parent run"],
  [["o", "p", "r"], "overview, payload, raw"],
  [["t", "c"], "timeline, conversation"],
  [["0", "+", "-"], "whole run, zoom in, out"],
  [["[", "]"], "previous, next run"],
  [["."], "follow, pause"],
  [["y"], "copy link"],
  [["d"], "download"],
  [["?"], "this sheet"],
];
const SAME = /** @type {Record<string, string>} */ ({ ArrowDown: "j", ArrowUp: "k", Home: "g", End: "G", ArrowLeft: "←", ArrowRight: "→", Escape: "Esc", "=": "+" });

/** @typedef {Record<string, (event: KeyboardEvent) => void>} Keys */
/** @type {Keys} */
let active = {};

/** @param {Keys} keys what the view in front answers to */
export const useKeys = (keys) => (active = keys);

const sheet = /** @type {HTMLDialogElement} */ (document.getElementById("sheet"));

export function openSheet() {
  render(
    html`<h2 class="strong" id="sheet-title">Keys</h2>
      <dl>${SHEET.map(([keys, does]) => html`<div><dt>${keys.map((key) => html`<kbd>${key}</kbd>`)}</dt><dd>${does}</dd></div>`)}</dl>
      <form method="dialog"><button class="btn">Close</button></form>`,
    sheet,
  );
  if (!sheet.open) sheet.showModal();
}

/** @param {KeyboardEvent} event */
function onKey(event) {
  const target = /** @type {HTMLElement} */ (event.target);
  if (event.metaKey || event.ctrlKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (target.matches("input, select, textarea")) {
    if (event.key === "Escape") target.blur();
    return;
  }
  // Enter and the arrows keep their meaning on what has one of its own.
  if (event.key === "Enter" && target.matches("a, button, summary")) return;
  if (event.key.startsWith("Arrow") && target.matches("[role=tab], .panel")) return;
  const key = SAME[event.key] ?? event.key;
  if (key === "?") return openSheet();
  const act = Object.hasOwn(active, key) ? active[key] : undefined;
  if (!act) return;
  event.preventDefault();
  act(event);
}

export const listen = () => addEventListener("keydown", onKey);
