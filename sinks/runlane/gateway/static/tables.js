/** @file Two small tables: the sessions by id, and what each agent does in windows of time. */

import { read, Stream } from "./api.js";
import { sessionHref } from "./list.js";
import { count, duration, moment, short } from "./text.js";
import { empty, failure, ghosts, icon, keys, say } from "./ui.js";
import { html, nothing, render, svg } from "./vendor/lit-html.js";

const WINDOWS = 30;

/** @typedef {{id: string, status: string, created_at: string, ended_at: string | null}} Session */
/** @typedef {{agent_id: string, window_start: string, starts: number, completions: number, failures: number, running: number, tokens: number, tool_calls: number, tool_latency_ms_p50: number | null, tool_latency_ms_p95: number | null}} Window */

class TableView {
  nav = "";
  foot = nothing;
  /** @type {StreamState | null} */
  now = null;
  /** @type {unknown} */
  fault = null;
  loaded = false;

  /** @param {import("./app.js").Page} page */
  constructor(page) {
    this.page = page;
    keys.current = { Esc: () => page.go("/") };
  }

  state() {
    return this.now;
  }

  close() {}

  located() {}

  /** @param {string} about @param {string[][]} columns @param {unknown[]} rows @param {string} none */
  table(about, columns, rows, none) {
    this.page.main.className = "listpage";
    document.title = `${this.nav} · Runlane`;
    const body = rows.length ? html`<table><thead><tr>${columns.map(([cls, name]) => html`<th class=${cls}>${name}</th>`)}</tr></thead><tbody>${rows}</tbody></table>` : this.loaded ? empty("Nothing yet", none) : ghosts("Reading");
    render(html`<div class="listhead"><h1>${this.nav}</h1><p class="quiet">${about}</p></div><div class="list" tabindex="0" role="region" aria-label=${this.nav}>${this.fault ? failure(this.fault, () => location.reload()) : body}</div>`, this.page.main);
  }
}

export class SessionsView extends TableView {
  nav = "Sessions";
  /** @type {Session[]} */
  sessions = [];
  cursor = "";

  /** @param {import("./app.js").Page} page */
  constructor(page) {
    super(page);
    void this.more();
  }

  async more() {
    try {
      const body = await read(`/v1/sessions?limit=200&cursor=${encodeURIComponent(this.cursor)}`);
      this.sessions.push(...body.sessions);
      this.cursor = body.next_cursor;
      this.loaded = true;
      say(`${count(this.sessions.length)} sessions shown`, true);
    } catch (fault) {
      this.fault = fault;
    }
    this.page.draw();
  }

  draw() {
    const when = (/** @type {string | null} */ iso) => html`<td class="num soft">${iso && html`<time datetime=${iso}>${moment(Date.parse(iso)).slice(0, 19)}</time>`}</td>`;
    const rows = this.sessions.map((one) => html`<tr><td><span class="st ${one.status === "ended" ? "canceled" : ""}">${icon(one.status === "ended" ? "end" : "live")}${one.status}</span></td><th scope="row" class="cut"><a href=${sessionHref(one.id)} title=${one.id}>${one.id}</a></th>${when(one.created_at)}${when(one.ended_at)}</tr>`);
    if (this.cursor) rows.push(html`<tr><td><button class="btn" type="button" @click=${() => void this.more()}>Show more</button></td></tr>`);
    this.table("by id; each leads to its runs", [["", "Status"], ["", "Session"], ["num", "Created"], ["num", "Ended"]], rows, "A host creates a session before it starts runs in it.");
  }
}

export class AgentsView extends TableView {
  nav = "Agents";
  /** @type {Map<string, Map<string, Window>>} by agent and start; a window is sent again while it grows */
  agents = new Map();

  /** @param {import("./app.js").Page} page */
  constructor(page) {
    super(page);
    const status = (/** @type {StreamState} */ state) => {
      this.now = state;
      this.loaded ||= state.kind === "live";
      this.page.draw();
    };
    const activity = (/** @type {Window} */ window) => {
      const windows = this.agents.get(window.agent_id) ?? new Map();
      windows.set(window.window_start, window);
      const kept = [...windows].sort().slice(-WINDOWS);
      this.agents.set(window.agent_id, new Map(kept));
      status({ kind: "live" });
    };
    this.stream = new Stream(() => "/v1/activity/stream", { head: () => status({ kind: "live" }), sync: () => status({ kind: "live" }), activity }, status);
  }

  close() {
    this.stream.stop();
  }

  draw() {
    const ms = (/** @type {number | null} */ n) => html`<td class="num soft wide">${n === null ? "" : duration(n)}</td>`;
    const number = (/** @type {number} */ n, tone = "soft") => html`<td class="num ${n ? tone : "soft"}">${short(n)}</td>`;
    const rows = [...this.agents].sort().map(([agent, byStart]) => {
      const windows = [...byStart.values()];
      const w = windows[windows.length - 1];
      const peak = Math.max(1, ...windows.map((one) => one.starts));
      const column = (/** @type {number} */ n, /** @type {number} */ i, /** @type {string} */ cls) => svg`<rect class=${cls} x=${i * 6} y=${19 - (n / peak) * 18} width="5" height=${(n / peak) * 18}></rect>`;
      return html`<tr><th scope="row" class="cut"><a href="/?agent=${encodeURIComponent(agent)}" title=${agent}>${agent}</a></th>${number(w.running, "running")}${number(w.starts)}${number(w.completions)}${number(w.failures, "failed")}${number(w.tokens)}${number(w.tool_calls)}${ms(w.tool_latency_ms_p50)}${ms(w.tool_latency_ms_p95)}
        <td class="wide"><svg width="180" height="20" aria-hidden="true">${windows.map((one, i) => [column(one.starts, i, "b-turn"), column(one.failures, i, "b-err")])}</svg></td></tr>`;
    });
    const columns = [["", "Agent"], ["num", "Running"], ["num", "Started"], ["num", "Completed"], ["num", "Failed"], ["num", "Tokens"], ["num", "Tool calls"], ["num wide", "Tool p50"], ["num wide", "Tool p95"], ["wide", "Starts by window"]];
    this.table("the newest window of each, and those before it", columns, rows, "Windows appear here once agents run.");
  }
}
