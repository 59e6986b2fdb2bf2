/** @file The sessions, by id; one leads to its runs. */

import { read } from "../lib/api.js";
import { clock, many, moment } from "../lib/format.js";
import { useKeys } from "../lib/keys.js";
import { failure, ghosts, icon, say } from "../lib/parts.js";
import { html, nothing, render } from "../vendor/lit-html.js";
import { Grid, heads } from "./grid.js";

/** @typedef {{id: string, status: string, created_at: string, ended_at: string | null}} Session */

export class SessionsView {
  nav = "Sessions";
  foot = html`<span><kbd>j</kbd><kbd>k</kbd> move</span><span><kbd>Enter</kbd> runs of the session</span>`;

  /** @param {typeof import("../app.js").page} page */
  constructor(page) {
    this.page = page;
    /** @type {Session[]} */
    this.sessions = [];
    this.cursor = "";
    this.loading = false;
    this.loaded = false;
    /** @type {unknown} */
    this.fault = null;
    /** @type {Grid<Session> | undefined} */
    this.grid = undefined;
    /** @type {HTMLElement | undefined} */
    this.blank = undefined;
    useKeys({
      j: () => this.grid?.move(1),
      k: () => this.grid?.move(-1),
      g: () => this.grid?.select(0),
      G: () => this.grid?.select(this.sessions.length - 1),
      Enter: () => this.grid?.row && this.#open(this.grid.row),
      Esc: () => page.go("/"),
    });
    void this.more();
  }

  state() {
    return null;
  }

  close() {
    this.grid?.close();
  }

  located() {}

  async more() {
    if (this.loading || (this.loaded && !this.cursor)) return;
    this.loading = true;
    this.fault = null;
    try {
      const body = await read(`/v1/sessions?limit=200${this.cursor ? `&cursor=${encodeURIComponent(this.cursor)}` : ""}`);
      this.sessions.push(...body.sessions);
      this.cursor = body.next_cursor;
      this.loaded = true;
      say(`${many(this.sessions.length, "session")} shown`, true);
    } catch (fault) {
      this.fault = fault;
    }
    this.loading = false;
    this.draw();
  }

  /** @param {Session} session */
  #open(session) {
    this.page.go(`/?session=${encodeURIComponent(session.id)}&since=all`);
  }

  draw() {
    const { main } = this.page;
    main.className = "listpage sessions";
    document.title = "Sessions · Runlane";
    render(html`<div class="listhead"><h1>Sessions</h1><p class="quiet">by id</p></div><div></div><div class="list" role="grid" aria-label="Sessions"></div>`, main);
    const scroller = /** @type {HTMLElement} */ (main.querySelector(".list"));
    if (!this.grid) {
      const head = scroller.appendChild(document.createElement("div"));
      head.className = "colheads";
      head.setAttribute("role", "rowgroup");
      render(heads([["c-st", "Status"], ["c-name", "Session"], ["c-when num", "Created"], ["c-when num", "Ended"]]), head);
      this.grid = new Grid(scroller, {
        rows: () => this.sessions,
        key: (session) => session.id,
        cells: (session) => this.#cells(session),
        cls: "sessionrow",
        height: "--h-run",
        open: (session) => this.#open(session),
        seen: (_first, last) => last >= this.sessions.length - 30 && this.cursor && void this.more(),
      });
      this.blank = scroller.appendChild(document.createElement("div"));
    }
    this.grid.update();
    if (this.blank) render(this.sessions.length ? nothing : this.#empty(), this.blank);
  }

  #empty() {
    if (this.fault) return failure(this.fault, () => void this.more());
    return this.loaded ? html`<div class="empty"><p class="strong">No session yet</p><p class="soft">A host creates one before it starts runs in it.</p></div>` : ghosts("Looking for sessions");
  }

  /** @param {Session} session */
  #cells(session) {
    const when = (/** @type {string | null} */ iso) => (iso ? html`<time datetime=${iso} title=${moment(Date.parse(iso))}>${moment(Date.parse(iso)).slice(0, 10)} ${clock(Date.parse(iso))}</time>` : nothing);
    const active = session.status === "active";
    return html`<span role="gridcell" class="c-st"><span class="st ${active ? "" : "canceled"}">${icon(active ? "mark" : "end")}<span>${active ? "Active" : "Ended"}</span></span></span>
      <span role="gridcell" class="c-name cut"><a class="strong" tabindex="-1" href="/?session=${encodeURIComponent(session.id)}&since=all" title=${session.id}>${session.id}</a></span>
      <span role="gridcell" class="c-when soft num">${when(session.created_at)}</span><span role="gridcell" class="c-when soft num">${when(session.ended_at)}</span>`;
  }
}
