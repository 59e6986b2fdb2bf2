/** @file The runs list: live, filtered by the address, one row a run. */

import { now } from "../lib/api.js";
import { ago, count, duration, many, moment } from "../lib/format.js";
import { useKeys } from "../lib/keys.js";
import { failure, ghosts, icon, idText, say, STATUS, statusMark, time } from "../lib/parts.js";
import { segment } from "../lib/api.js";
import { filtersOf, Runs, searchOf } from "../model/runs.js";
import { html, nothing, render, svg } from "../vendor/lit-html.js";
import { Grid, heads } from "./grid.js";

/** @type {[string, string][]} */
const COLUMNS = [
  ["c-st", "Status"], ["c-agent", "Agent"], ["c-id wide", "Run"], ["c-session wide", "Session"], ["c-start num wide", "Started"], ["c-dur num", "Duration"],
  ["c-tok num wide", "Tokens"], ["c-rec num wide", "Records"], ["c-act", "Last activity"], ["c-ago num", "When"],
];
/** @type {[string, string][]} */
const RANGE_NAMES = [["15m", "Last 15 minutes"], ["1h", "Last hour"], ["24h", "Last 24 hours"], ["7d", "Last 7 days"], ["all", "Any time"]];
const ORDER = ["running", "suspended", "failed", "canceled", "completed"];

/** The order of the list that was left last, for "previous" and "next" on a run's page. @type {string[]} */
export let lastOrder = [];

/** @param {string} type */
function activityIcon(type) {
  if (type.startsWith("tool_")) return "tool";
  if (type.startsWith("await_") || type === "run_suspended") return "wait";
  if (type === "thinking_block") return "think";
  if (type === "child_run_linked") return "child";
  return type === "runtime.cancellation_intent" ? "s-canceled" : "say";
}

export class ListView {
  nav = "Runs";
  foot = html`<span><kbd>j</kbd><kbd>k</kbd> move</span><span><kbd>Enter</kbd> open</span><span><kbd>/</kbd> search</span><span><kbd>f</kbd> status</span><span><kbd>n</kbd> show newer</span>`;

  /** @param {typeof import("../app.js").page} page */
  constructor(page) {
    this.page = page;
    this.runs = new Runs(filtersOf(location.search), () => this.#soon());
    /** @type {Grid<Run> | undefined} */
    this.grid = undefined;
    this.frame = 0;
    this.typing = 0;
    useKeys({
      j: () => this.grid?.move(1),
      k: () => this.grid?.move(-1),
      g: () => this.grid?.select(0),
      G: () => this.grid?.select(this.runs.shown.length - 1),
      Enter: () => this.grid?.row && this.#open(this.grid.row),
      "/": () => /** @type {HTMLElement | null} */ (document.querySelector(".filters input"))?.focus(),
      f: () => /** @type {HTMLElement | null} */ (document.querySelector(".chips button"))?.focus(),
      n: () => this.#newer(),
      x: () => this.grid?.seek((run) => run.status === "failed"),
      a: () => this.grid?.seek((run) => run.status === "suspended"),
    });
    this.runs.start();
  }

  state() {
    return this.runs.state;
  }

  close() {
    lastOrder = this.runs.shown.map((run) => run.run_id);
    cancelAnimationFrame(this.frame);
    clearTimeout(this.typing);
    this.runs.close();
    this.grid?.close();
  }

  located() {
    this.runs.filters = filtersOf(location.search);
    void this.runs.search();
    this.draw();
  }

  #soon() {
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      this.page.chrome();
      this.draw();
    });
  }

  /** @param {Partial<import("../model/runs.js").Filters>} change */
  #filter(change) {
    this.runs.filters = { ...this.runs.filters, ...change };
    this.page.replace(location.pathname + searchOf(this.runs.filters));
    void this.runs.search();
    this.grid?.scroller.scrollTo(0, 0);
    this.draw();
  }

  /** @param {string} status */
  #toggle(status) {
    const { status: chosen } = this.runs.filters;
    this.#filter({ status: chosen.includes(status) ? chosen.filter((one) => one !== status) : [...chosen, status] });
  }

  /** @param {Run} run */
  #open(run) {
    this.page.go(`/runs/${segment(run.run_id)}`);
  }

  #newer() {
    if (!this.runs.newer) return;
    say(`${many(this.runs.newer, "newer run")} shown`, true);
    this.runs.arrange();
    this.grid?.scroller.scrollTo(0, 0);
    this.draw();
  }

  draw() {
    const { runs } = this;
    const { main } = this.page;
    main.className = "listpage runs";
    document.title = "Runs · Runlane";
    render(html`${this.#head()}${this.#filters()}<div class="list" role="grid" aria-label="Runs"></div>`, main);
    const scroller = /** @type {HTMLElement} */ (main.querySelector(".list"));
    this.grid ??= this.#grid(scroller);
    this.grid.update();
    scroller.classList.toggle("blank", !runs.shown.length);
    render(runs.shown.length ? nothing : this.#empty(), this.blank ?? (this.blank = scroller.appendChild(document.createElement("div"))));
    const { running = 0, failed = 0 } = runs.counts();
    if (runs.loaded) say(`${many(runs.shown.length, "run")} shown, ${running} running, ${failed} failed${runs.newer ? `, ${runs.newer} newer wait` : ""}`);
  }

  /** @type {HTMLElement | undefined} */
  blank = undefined;

  /** @param {HTMLElement} scroller */
  #grid(scroller) {
    const head = scroller.appendChild(document.createElement("div"));
    head.className = "colheads";
    head.setAttribute("role", "rowgroup");
    render(heads(COLUMNS), head);
    return new Grid(scroller, {
      rows: () => this.runs.shown,
      key: (run) => run.run_id,
      cells: (run) => this.#cells(run),
      cls: "runrow",
      height: "--h-run",
      open: (run) => this.#open(run),
      seen: (_first, last) => last >= this.runs.shown.length - 30 && this.runs.cursor && void this.runs.more(),
    });
  }

  #head() {
    const { runs } = this;
    const minutes = runs.perMinute();
    const peak = Math.max(1, ...minutes.map((minute) => minute.all));
    const y = (/** @type {number} */ n) => (n / peak) * 30;
    return html`<div class="listhead">
      <h1>Runs</h1>
      <p class="quiet wide">${count(runs.shown.length)}${runs.cursor ? " or more" : ""}, newest first</p>
      <button class="newer" type="button" ?hidden=${!runs.newer} @click=${() => this.#newer()}>Show ${count(runs.newer)} newer</button>
      <span class="push"></span>
      <div class="spark wide"><div>started per minute<br>last 60 minutes</div>
        <svg width="300" height="36" viewBox="0 0 300 36" role="img" aria-label=${`Runs started per minute over the last hour: ${minutes[59].all} in the last minute, ${Math.max(...minutes.map((m) => m.all))} at the peak`}>
          <path class="gl" d="M0 34.5h300"/>
          ${minutes.map(({ all, failed }, i) => (all ? svg`<rect class="b-turn" x=${i * 5} y=${34 - y(all)} width="4" height=${y(all - failed)}></rect><rect class="b-err" x=${i * 5} y=${34 - y(failed)} width="4" height=${y(failed)}></rect>` : nothing))}
        </svg>
        <div><b>${minutes[59].all}</b><br>now</div></div>
    </div>`;
  }

  #filters() {
    const { filters } = this.runs;
    const counts = this.runs.counts();
    const typed = (/** @type {Event} */ event) => {
      const q = /** @type {HTMLInputElement} */ (event.target).value;
      clearTimeout(this.typing);
      this.typing = setTimeout(() => this.#filter({ q }), 150);
    };
    const select = (/** @type {"agent" | "session"} */ name, /** @type {string} */ any, /** @type {string[]} */ values) => {
      const current = filters[name];
      const all = current && !values.includes(current) ? [current, ...values] : values;
      return html`<label class="sel ${name === "session" ? "wide" : ""}"><select aria-label=${any.replace("Any ", "")} .value=${current} @change=${(/** @type {any} */ e) => this.#filter({ [name]: e.target.value })}>
        <option value="" ?selected=${!current}>${any}</option>${all.map((value) => html`<option value=${value} ?selected=${value === current}>${value}</option>`)}</select>${icon("next", "s quiet")}</label>`;
    };
    return html`<form class="filters" role="search" @submit=${(/** @type {Event} */ e) => e.preventDefault()}>
      <label class="field">${icon("find", "s")}<input type="search" .value=${filters.q} placeholder="Run id, agent, session or label=value" aria-label="Search runs" @input=${typed}><kbd class="wide">/</kbd></label>
      ${select("agent", "Any agent", this.runs.values("agent_id"))}${select("session", "Any session", this.runs.values("session_id"))}
      <label class="sel"><select aria-label="Time range" @change=${(/** @type {any} */ e) => this.#filter({ since: e.target.value })}>${RANGE_NAMES.map(([value, name]) => html`<option value=${value} ?selected=${value === filters.since}>${name}</option>`)}</select>${icon("next", "s quiet")}</label>
      <span class="push"></span>
      <div class="chips" role="group" aria-label="Status">${ORDER.map(
        (status) => html`<button class="chip" type="button" aria-pressed=${String(filters.status.includes(status))} @click=${() => this.#toggle(status)}>${icon(`s-${status}`, `s ${status}`)}<span>${STATUS[status]}</span> <b>${count(counts[status] ?? 0)}${this.runs.cursor ? "+" : ""}</b></button>`,
      )}</div>
    </form>`;
  }

  #empty() {
    const { runs } = this;
    if (runs.fault) return failure(runs.fault, () => void runs.search());
    if (!runs.loaded) return ghosts("Looking for runs");
    if (!runs.known.size && !location.search) return html`<div class="empty"><p class="strong">No run yet</p><p class="soft">The first one shows up here as soon as it starts.</p><code>runlane demo</code></div>`;
    const { q, agent, session, since, status } = runs.filters;
    const asked = [status.join(" or "), agent && `agent ${agent}`, session && `session ${session}`, q && `“${q}”`, RANGE_NAMES.find(([key]) => key === since)?.[1].toLowerCase()].filter(Boolean);
    return html`<div class="empty"><p class="strong">Nothing matches</p><p class="soft">${asked.join(", ")}</p>
      <button class="btn" type="button" @click=${() => this.#filter({ q: "", agent: "", session: "", status: [], since: "all" })}>Clear filters</button></div>`;
  }

  /** @param {Run} run */
  #cells(run) {
    const time0 = Date.parse(run.started_at);
    const running = run.status === "running";
    const live = this.runs.state.kind === "live";
    const taken = (running ? (live ? now() : Math.max(Date.parse(run.updated_at), this.frozen ?? 0)) : Date.parse(run.updated_at)) - time0;
    if (live) this.frozen = now();
    const activity = run.last_activity;
    const tone = { failed: "failed", suspended: "suspended", running: "hot" }[/** @type {string} */ (run.status)] ?? "soft";
    const words = activity?.text || run.cancellation_reason;
    return html`<span role="gridcell" class="c-st">${statusMark(run.status)}</span>
      <span role="gridcell" class="c-agent cut">${run.parent_run_id ? html`${icon("child", "s")}<span class="sr">child run, </span>` : nothing}<a class="strong" tabindex="-1" href="/runs/${segment(run.run_id)}" title=${run.agent_id}>${run.agent_id}</a></span>
      <span role="gridcell" class="c-id cut wide">${idText(run.run_id)}</span>
      <span role="gridcell" class="c-session soft cut wide">${run.session_id ? html`<a tabindex="-1" href="/?session=${encodeURIComponent(run.session_id)}&since=all" title=${run.session_id}>${run.session_id}</a>` : html`<span class="quiet">no session</span>`}</span>
      <span role="gridcell" class="c-start soft num wide">${time(run.started_at, ago(time0, now()))}</span>
      <span role="gridcell" class="c-dur num ${running ? "running" : ""}">${duration(taken, running)}</span>
      <span role="gridcell" class="c-tok soft num wide">${run.tokens === undefined ? "" : count(run.tokens)}</span>
      <span role="gridcell" class="c-rec soft num wide">${run.records === undefined ? "" : count(run.records)}</span>
      <span role="gridcell" class="c-act"><span class="act ${tone}">${words ? icon(activity ? activityIcon(activity.type) : "s-canceled", "s") : nothing}<span class="cut" title=${words}>${words}</span></span></span>
      <span role="gridcell" class="c-ago quiet num" title=${activity ? moment(Date.parse(activity.at)) : ""}>${ago(Date.parse(activity?.at ?? run.updated_at), now())}</span>`;
  }

  /** @type {number | undefined} the last moment known to be true, while the stream is lost */
  frozen = undefined;
}
