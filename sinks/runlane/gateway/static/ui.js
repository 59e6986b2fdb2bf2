/** @file What every view uses: icons, status, times, empty states, the keyboard, files and the clipboard. */

import { Problem } from "./api.js";
import { clock, count, many, moment, prefs, shortId } from "./text.js";
import { html, nothing, render } from "./vendor/lit-html.js";

/** @param {string} name @param {string} [cls] */
export const icon = (name, cls = "") => html`<svg class="i ${cls}" viewBox="0 0 16 16" aria-hidden="true"><use href=${`#${name}`}></use></svg>`;

/** A button that is only its icon. @param {string} name @param {string} symbol @param {() => void} act @param {string} [cls] */
export const iconButton = (name, symbol, act, cls = "t") => html`<button class="icon ${cls}" type="button" aria-label=${name} title=${name} @click=${act}>${icon(symbol, "s")}</button>`;

/** @type {Record<string, string>} */
export const STATUS = { running: "Running", suspended: "Suspended", failed: "Failed", canceled: "Canceled", completed: "Completed" };

/** Shape, word and colour of a status. @param {string} status @param {string} [phase] @param {string} [cls] */
export const statusMark = (status, phase = "", cls = "") => html`<span class="st ${status} ${cls}">${icon(`s-${status}`)}<span>${STATUS[status] ?? status}${phase ? html` <i>${phase}</i>` : nothing}</span></span>`;

/** A status in a row of other things: its shape, and the word for who can't see it. @param {string} status */
export const statusSign = (status) => (status ? html`${icon(`s-${status}`, `s ${status}`)}<span class="sr">${status}</span>` : nothing);

/** The connection in words. @param {StreamState} state @param {string} ended */
export function connection(state, ended) {
  const wait = "until" in state ? Math.max(0, Math.ceil((state.until - Date.now()) / 1000)) : 0;
  /** @type {Record<string, [string, string, string]>} */
  const forms = {
    live: ["live", "live", "Live"],
    catching: ["", "half", "left" in state ? `Catching up, ${count(state.left)} left` : ""],
    waiting: ["wait", "half", "attempt" in state ? `Reconnecting, try ${state.attempt} in ${wait} s` : ""],
    lost: ["lost", "lost", "Disconnected"],
    refused: ["lost", "lost", "Not connected"],
    ended: ["", "end", `Ended ${ended}`],
    purged: ["", "end", "Purged"],
    connecting: ["", "half", "Connecting"],
  };
  const [cls, symbol, words] = forms[state.kind];
  return html`<span class="conn ${cls}">${icon(symbol)}${words}</span>`;
}

/** @param {string} iso @param {string} [text] */
export function time(iso, text) {
  const ms = Date.parse(iso);
  return html`<time datetime=${iso} title="${moment(ms)} ${prefs.zone}">${text ?? clock(ms, true)}</time>`;
}

/** A cut id with its full text on hover. @param {string} id */
export const idText = (id) => html`<span class="mono" title=${id}>${shortId(id)}</span>`;

/** @param {string} title @param {unknown} words @param {unknown} [more] */
export const empty = (title, words, more = nothing) => html`<div class="empty"><p class="strong">${title}</p><p class="soft">${words}</p>${more}</div>`;

/** What went wrong, and whether trying again can help. @param {unknown} fault @param {() => void} again */
export function failure(fault, again) {
  const { status, code, retryable } = fault instanceof Problem ? fault : new Problem(0, "internal", true);
  if (status === 404) return empty("There is no such run", "Its id is wrong, or it is not for you to see.");
  if (status === 410) return empty("This session was purged", "Its runs are gone for good.");
  return empty("Reading failed", html`<code>${code}</code>, ${retryable ? "can be tried again" : "is final"}`, retryable ? html`<button class="btn" type="button" @click=${again}>Try again</button>` : nothing);
}

/** The sticky head of a grid, by column: class and name. @param {string[][]} columns */
export const heads = (columns) => html`<div class="colheads" role="rowgroup"><div role="row">${columns.map(([cls, name]) => html`<span role="columnheader" class=${cls}>${name}</span>`)}</div></div>`;

/** A word while something is read, which the style sheet shows only after a moment. @param {string} words */
export const ghosts = (words) => html`<div class="empty ghosts"><p class="soft">${words}</p></div>`;

/** Save text as a file. @param {string} name @param {BlobPart[]} parts */
export function save(name, parts) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob(parts, { type: "application/octet-stream" }));
  link.download = name.replace(/[^\w.-]+/g, "_").slice(-120);
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** Save records as JSON lines, in the order in which they replay. @param {string} name @param {Rec[]} records */
export function saveRecords(name, records) {
  save(`${name}.jsonl`, records.map((record) => `${JSON.stringify(record)}\n`));
  say(`${many(records.length, "record")} downloaded`, true);
}

let lastSaid = Number.NEGATIVE_INFINITY;
/** Tell a screen reader, at most every ten seconds unless it answers a key. @param {string} words @param {boolean} [asked] */
export function say(words, asked = false) {
  if (!asked && performance.now() - lastSaid < 10_000) return;
  lastSaid = performance.now();
  const place = document.getElementById("said");
  if (place && place.textContent !== words) place.textContent = words;
}

/** @param {string} text @param {string} what */
export const copy = (text, what) => void navigator.clipboard.writeText(text).then(() => say(`${what} copied`, true), () => say(`${what} not copied`, true));

const SHEET = [
  "j k=next, previous row", "g G=first, last row", "Enter=open", "Esc=back, close", "/=search", "f=status filter", "n=show newer runs", "← →=close, open a row", "e w=open all, close all", "x=next failure",
  "a=next thing that waits", "u=parent run", "o p r=overview, payload, raw", "t c=timeline, conversation", "0 + -=whole run, zoom in, out", "[ ]=previous, next run", ".=follow, pause", "y=copy link", "d=download", "?=this sheet",
];
/** @type {Record<string, string>} */
const SAME = { ArrowDown: "j", ArrowUp: "k", Home: "g", End: "G", ArrowLeft: "←", ArrowRight: "→", Escape: "Esc", "=": "+" };

/** What the view in front answers to. @type {{current: Record<string, () => void>}} */
export const keys = { current: {} };

/** @param {string} where a selector in the view */
export const focus = (where) => /** @type {HTMLElement | null} */ (document.querySelector(`main ${where}`))?.focus();

/** Keys with what they do, as `j k=move`. @param {string[]} entries */
export const hints = (entries) => entries.map((entry) => html`<span>${entry.split("=")[0].split(" ").map((key) => html`<kbd>${key}</kbd>`)} ${entry.split("=")[1]}</span>`);

export function openSheet() {
  const sheet = /** @type {HTMLDialogElement} */ (document.getElementById("sheet"));
  render(html`<h2 id="sheet-title">Keys</h2><div class="keys">${hints(SHEET)}</div><form method="dialog"><button class="btn">Close</button></form>`, sheet);
  sheet.showModal();
}

addEventListener("keydown", (event) => {
  const target = /** @type {HTMLElement} */ (event.target);
  if (event.metaKey || event.ctrlKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (target.matches("input, select")) {
    if (event.key === "Escape") target.blur();
    return;
  }
  // Enter and the arrows keep their meaning on what has one of its own.
  if ((event.key === "Enter" && target.matches("a, button, summary")) || (event.key.startsWith("Arrow") && target.matches("[role=tab], .panel"))) return;
  const key = SAME[event.key] ?? event.key;
  const act = key === "?" ? openSheet : Object.hasOwn(keys.current, key) ? keys.current[key] : undefined;
  if (!act) return;
  event.preventDefault();
  act();
});
