/** @file Small templates that every view uses: icons, status, times, empty states. */

import { html, nothing } from "../vendor/lit-html.js";
import { Problem } from "./api.js";
import { clock, count, moment, shortId } from "./format.js";

/** @param {string} name @param {string} [cls] */
export const icon = (name, cls = "") => html`<svg class="i ${cls}" aria-hidden="true"><use href=${`#${name}`}></use></svg>`;

/** @type {Record<string, string>} */
export const STATUS = { running: "Running", suspended: "Suspended", failed: "Failed", canceled: "Canceled", completed: "Completed" };

/** Shape, word and colour of a status. @param {string} status @param {string} [phase] @param {boolean} [pill] */
export function statusMark(status, phase = "", pill = false) {
  const known = Object.hasOwn(STATUS, status);
  return html`<span class="st ${known ? status : ""} ${pill ? "pill" : ""}">${known ? icon(`s-${status}`) : nothing}<span>${STATUS[status] ?? status}${phase ? html` <i>${phase}</i>` : nothing}</span></span>`;
}

/** The connection in words. @param {StreamState} state @param {number} now @param {string} [ended] */
export function connection(state, now, ended = "") {
  switch (state.kind) {
    case "live":
      return html`<span class="conn live">${icon("live")}Live</span>`;
    case "catching":
      return html`<span class="conn">${icon("half")}Catching up, ${count(state.left)} left</span>`;
    case "waiting":
      return html`<span class="conn wait">${icon("half")}Reconnecting, try ${state.attempt} in ${Math.max(0, Math.ceil((state.until - now) / 1000))} s</span>`;
    case "lost":
      return html`<span class="conn lost">${icon("lost")}Disconnected</span>`;
    case "ended":
      return html`<span class="conn">${icon("end")}Ended${ended ? ` ${ended}` : ""}</span>`;
    case "purged":
      return html`<span class="conn">${icon("end")}Purged</span>`;
    case "refused":
      return html`<span class="conn lost">${icon("lost")}Not connected</span>`;
    default:
      return html`<span class="conn">${icon("half")}Connecting</span>`;
  }
}

/** @param {string} iso @param {string} [text] @param {boolean} [fine] */
export function time(iso, text, fine = false) {
  const ms = Date.parse(iso);
  return html`<time datetime=${iso} title=${moment(ms)}>${text ?? clock(ms, fine)}</time>`;
}

/** A cut id with its full text on hover. @param {string} id @param {number} [head] */
export const idText = (id, head = 0) => html`<span class="mono" title=${id}>${shortId(id, head)}</span>`;

/** What went wrong, and whether trying again can help. @param {unknown} fault @param {() => void} again */
export function failure(fault, again) {
  const known = fault instanceof Problem ? fault : new Problem(0, "internal", true, String(fault));
  if (known.status === 404) {
    return html`<div class="empty"><p class="strong">There is no such run</p><p class="soft">Either its id is wrong, or it may not be shown to you.</p></div>`;
  }
  if (known.status === 410) {
    return html`<div class="empty"><p class="strong">This session was purged</p><p class="soft">Its runs are gone for good, and its id is never used again.</p></div>`;
  }
  return html`<div class="empty" role="alert"><p class="strong failed">Reading failed</p>
    <p class="soft"><code>${known.code}</code>, ${known.retryable ? "can be tried again" : "trying again does not help"}</p>
    ${known.retryable ? html`<button class="btn" type="button" @click=${again}>Try again</button>` : nothing}</div>`;
}

/** Placeholder rows, which the style sheet shows only after a moment. @param {string} words */
export const ghosts = (words) => html`<div class="empty ghosts"><p class="soft">${words}</p><p class="ghost"></p><p class="ghost"></p><p class="ghost"></p></div>`;

/** Save text as a file. @param {string} name @param {BlobPart[]} parts */
export function save(name, parts) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob(parts, { type: "application/octet-stream" }));
  link.download = name.replace(/[^\w.-]+/g, "_").slice(0, 120);
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

let lastSaid = 0;
/** Tell a screen reader, at most every ten seconds unless it answers a key. @param {string} words @param {boolean} [asked] */
export function say(words, asked = false) {
  const now = performance.now();
  if (!asked && lastSaid && now - lastSaid < 10_000) return;
  lastSaid = now;
  const place = document.getElementById("said");
  if (place && place.textContent !== words) place.textContent = words;
}

/** @param {string} text @param {string} what */
export async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
    say(`${what} copied`, true);
  } catch {
    say(`${what} could not be copied: the browser refused`, true);
  }
}
