/** @file What each agent does: activity windows as the feed counts them. */

import { count, duration, short } from "../lib/format.js";
import { useKeys } from "../lib/keys.js";
import { ghosts } from "../lib/parts.js";
import { Stream } from "../lib/stream.js";
import { html, nothing, render, svg } from "../vendor/lit-html.js";

/** @typedef {{agent_id: string, window_start: string, window_seconds: number, starts: number, completions: number, failures: number, running: number, tokens: number, tool_calls: number, tool_latency_ms_p50: number | null, tool_latency_ms_p95: number | null}} Window */

const KEPT = 30;

export class AgentsView {
  nav = "Agents";
  foot = nothing;

  /** @param {typeof import("../app.js").page} page */
  constructor(page) {
    this.page = page;
    /** @type {Map<string, Window[]>} newest last */
    this.agents = new Map();
    /** @type {StreamState} */
    this.now = { kind: "connecting" };
    this.frame = 0;
    this.stream = new Stream({
      path: () => "/v1/activity/stream",
      on: {
        head: () => this.#live(),
        sync: () => this.#live(),
        activity: (window) => this.#take(window),
      },
      status: (state) => {
        this.now = state;
        this.#soon();
      },
    });
    useKeys({ Esc: () => page.go("/") });
    this.stream.start();
  }

  state() {
    return this.now;
  }

  close() {
    cancelAnimationFrame(this.frame);
    this.stream.stop();
  }

  located() {}

  #live() {
    this.now = { kind: "live" };
    this.#soon();
  }

  /** A window is sent again while it grows; the last word counts. @param {Window} window */
  #take(window) {
    const windows = this.agents.get(window.agent_id) ?? [];
    const kept = windows.filter((one) => one.window_start !== window.window_start);
    kept.push(window);
    kept.sort((a, b) => Date.parse(a.window_start) - Date.parse(b.window_start));
    this.agents.set(window.agent_id, kept.slice(-KEPT));
    this.#live();
  }

  #soon() {
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      this.page.chrome();
      this.draw();
    });
  }

  draw() {
    const { main } = this.page;
    main.className = "listpage";
    document.title = "Agents · Runlane";
    const rows = [...this.agents].sort(([a], [b]) => (a < b ? -1 : 1));
    render(
      html`<div class="listhead"><h1>Agents</h1><p class="quiet">the newest window of each, and the ${KEPT} before it</p></div><div></div>
        <div class="list" tabindex="0" role="region" aria-label="Activity by agent">${rows.length ? this.#table(rows) : this.#empty()}</div>`,
      main,
    );
  }

  #empty() {
    return this.now.kind === "live" ? html`<div class="empty"><p class="strong">No activity yet</p><p class="soft">Windows appear here once agents run.</p></div>` : ghosts("Waiting for activity");
  }

  /** @param {[string, Window[]][]} rows */
  #table(rows) {
    return html`<table class="agents"><thead><tr><th>Agent</th><th class="num">Running</th><th class="num">Started</th><th class="num">Completed</th><th class="num">Failed</th><th class="num">Tokens</th><th class="num">Tool calls</th><th class="num wide">Tool p50</th><th class="num wide">Tool p95</th><th class="wide">Starts by window</th></tr></thead>
      <tbody>${rows.map(([agent, windows]) => {
        const w = windows[windows.length - 1];
        const ms = (/** @type {number | null | undefined} */ n) => (n === null || n === undefined ? "" : duration(n));
        return html`<tr><th scope="row" class="cut"><a href="/?agent=${encodeURIComponent(agent)}" title=${agent}>${agent}</a></th>
          <td class="num ${w.running ? "running" : "soft"}">${count(w.running)}</td><td class="num soft">${count(w.starts)}</td><td class="num soft">${count(w.completions)}</td>
          <td class="num ${w.failures ? "failed" : "soft"}">${count(w.failures)}</td><td class="num soft">${short(w.tokens)}</td><td class="num soft">${count(w.tool_calls ?? 0)}</td>
          <td class="num soft wide">${ms(w.tool_latency_ms_p50)}</td><td class="num soft wide">${ms(w.tool_latency_ms_p95)}</td><td class="wide">${this.#spark(windows)}</td></tr>`;
      })}</tbody></table>`;
  }

  /** @param {Window[]} windows */
  #spark(windows) {
    const peak = Math.max(1, ...windows.map((w) => w.starts));
    return html`<svg width="180" height="20" viewBox="0 0 180 20" aria-hidden="true">${windows.map((w, i) => {
      const h = (w.starts / peak) * 18;
      const f = (w.failures / peak) * 18;
      return svg`<rect class="b-turn" x=${i * 6} y=${19 - h} width="5" height=${h}></rect><rect class="b-err" x=${i * 6} y=${19 - f} width="5" height=${f}></rect>`;
    })}</svg>`;
  }
}
