/** @file What each agent does, in windows of time as the feed counts them. */

import { Stream } from "./api.js";
import { spark } from "./list.js";
import { duration, short } from "./text.js";
import { empty, ghosts, keys } from "./ui.js";
import { html, render } from "./vendor/lit-html.js";

const WINDOWS = 30;
const HEADS = [["", "Agent"], ["num", "Running"], ["num", "Started"], ["num", "Completed"], ["num", "Failed"], ["num", "Tokens"], ["num", "Tool calls"], ["num wide", "Tool p50"], ["num wide", "Tool p95"], ["wide", "Started by window"]];

/** @typedef {{agent_id: string, window_start: string, starts: number, completions: number, failures: number, running: number, tokens: number, tool_calls: number, tool_latency_ms_p50: number | null, tool_latency_ms_p95: number | null}} Window */

export class AgentsView {
  nav = "Agents";
  foot = "";
  /** @type {StreamState} */
  now = { kind: "connecting" };
  /** @type {Map<string, Map<string, Window>>} by agent and start; a window is sent again while it grows */
  agents = new Map();

  /** @param {import("./app.js").Page} page */
  constructor(page) {
    this.page = page;
    keys.current = { Esc: () => page.go("/") };
    const status = (/** @type {StreamState} */ state) => {
      this.now = state;
      page.draw();
    };
    const activity = (/** @type {Window} */ window) => {
      const windows = (this.agents.get(window.agent_id) ?? new Map()).set(window.window_start, window);
      this.agents.set(window.agent_id, new Map([...windows].sort().slice(-WINDOWS)));
      status({ kind: "live" });
    };
    const live = () => status({ kind: "live" });
    this.stream = new Stream(() => "/v1/activity/stream", { head: live, sync: live, activity }, status);
  }

  state() {
    return this.now;
  }

  close() {
    this.stream.stop();
  }

  located() {}

  draw() {
    this.page.main.className = "listpage";
    document.title = "Agents · Runlane";
    const rows = [...this.agents].sort().map(([agent, windows]) => this.#row(agent, [...windows.values()]));
    const table = html`<table><thead><tr>${HEADS.map(([cls, name]) => html`<th class=${cls}>${name}</th>`)}</tr></thead><tbody>${rows}</tbody></table>`;
    render(html`<div class="listhead"><h1>Agents</h1><p class="quiet">the newest window of each</p></div><div class="list" tabindex="0" role="region" aria-label="Agents">${rows.length ? table : this.now.kind === "live" ? empty("No activity yet", "It shows here once agents run.") : ghosts("Reading")}</div>`, this.page.main);
  }

  /** @param {string} agent @param {Window[]} windows oldest first */
  #row(agent, windows) {
    const w = windows[windows.length - 1];
    const number = (/** @type {number} */ n, tone = "soft") => html`<td class="num ${n ? tone : "soft"}">${short(n)}</td>`;
    const ms = (/** @type {number | null} */ n) => html`<td class="num soft wide">${n === null ? "" : duration(n)}</td>`;
    return html`<tr><th scope="row" class="cut"><a href="/?agent=${encodeURIComponent(agent)}" title=${agent}>${agent}</a></th>${number(w.running, "running")}${number(w.starts)}${number(w.completions)}${number(w.failures, "failed")}${number(w.tokens)}${number(w.tool_calls)}${ms(w.tool_latency_ms_p50)}${ms(w.tool_latency_ms_p95)}<td class="wide">${spark(windows.map((one) => [one.starts, one.failures]))}</td></tr>`;
  }
}
