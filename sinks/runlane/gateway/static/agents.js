/** @file What each agent did in the last minutes, as the feed counts them; nothing where there is no feed. */

import { now, read, Stream } from "./api.js";
import { duration, MINUTE, short } from "./text.js";
import { html, nothing } from "./vendor/lit-html.js";

const SUMMED = 10;
/** What is summed up, and how each is headed. */
const SUMS = /** @type {const} */ ({ starts: "Started", completions: "Completed", failures: "Failed", tokens: "Tokens", tool_calls: "Tool calls" });

/** @typedef {{agent_id: string, window_start: string, starts: number, completions: number, failures: number, running: number, tokens: number, tool_calls: number, tool_latency_ms_p95: number | null}} Window */

export class Agents {
  /** @param {() => void} changed */
  constructor(changed) {
    this.changed = changed;
    /** @type {Map<string, Map<number, Window>>} by agent and minute; a window is told again while it grows */
    this.known = new Map();
    /** @type {Stream | null} */
    this.stream = null;
    this.look = () => {
      // A browser keeps six connections for all its tabs, so only a tab in view has one for this.
      if (document.hidden) this.#stop();
      else this.stream ??= new Stream(() => "/v1/activity/stream", { window: (one) => this.#take(one) }, () => {}, () => read("/v1/activity?minutes=1"));
    };
    document.addEventListener("visibilitychange", this.look);
    this.look();
  }

  #stop() {
    this.stream?.stop();
    this.stream = null;
  }

  close() {
    document.removeEventListener("visibilitychange", this.look);
    this.#stop();
  }

  /** @param {Window} window */
  #take(window) {
    const windows = this.known.get(window.agent_id) ?? new Map();
    this.known.set(window.agent_id, windows.set(Math.floor(Date.parse(window.window_start) / MINUTE), window));
    const oldest = Math.floor(now() / MINUTE) - SUMMED;
    for (const [agent, kept] of this.known) {
      for (const at of kept.keys()) if (at <= oldest) kept.delete(at);
      if (!kept.size) this.known.delete(agent);
    }
    this.changed();
  }

  /** A table of the agents that did something lately, by name so that no row moves. */
  panel() {
    const minute = Math.floor(now() / MINUTE);
    const rows = [...this.known].sort().map(([agent, windows]) => this.#row(agent, windows, minute)).filter((row) => row !== nothing);
    const heads = ["Running", ...Object.values(SUMS), "Tool p95"].map((name) => html`<th class="num">${name}</th>`);
    return rows.length ? html`<div class="agents wide" tabindex="0" role="region" aria-label="Agents"><table><thead><tr><th>Agent, last ${SUMMED} minutes</th>${heads}</tr></thead><tbody>${rows}</tbody></table></div>` : nothing;
  }

  /** @param {string} agent @param {Map<number, Window>} windows @param {number} minute */
  #row(agent, windows, minute) {
    const lately = [...windows].filter(([at]) => at > minute - SUMMED).sort(([a], [b]) => a - b).map(([, window]) => window);
    if (!lately.length) return nothing;
    const cell = (/** @type {number} */ n, tone = "soft") => html`<td class="num ${n ? tone : "soft"}">${short(n)}</td>`;
    const sums = /** @type {(keyof typeof SUMS)[]} */ (Object.keys(SUMS)).map((of) => cell(lately.reduce((sum, one) => sum + one[of], 0), of === "failures" ? "failed" : "soft"));
    const slow = Math.max(...lately.map((one) => one.tool_latency_ms_p95 ?? 0));
    return html`<tr><th scope="row" class="cut"><a href="/?agent=${encodeURIComponent(agent)}" title=${agent}>${agent}</a></th>${cell(lately[lately.length - 1].running, "running")}${sums}<td class="num soft">${slow ? duration(slow) : ""}</td></tr>`;
  }
}
