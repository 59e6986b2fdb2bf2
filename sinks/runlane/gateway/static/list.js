/** @file The runs list: live, filtered by the address, one row a run. */

import { Agents } from "./agents.js";
import { now, Problem, segment } from "./api.js";
import { Grid } from "./grid.js";
import { filtersOf, PURGED, RANGES, Runs, searchOf } from "./runs.js";
import { ago, count, duration, many } from "./text.js";
import { empty, failure, focus, ghosts, heads, icon, idText, keys, say, STATUS, statusMark, time } from "./ui.js";
import { html, nothing, render } from "./vendor/lit-html.js";

const COLUMNS = [
  ["c-st", "Status"], ["c-agent", "Agent"], ["c-id wide", "Run"], ["c-session wide", "Session"], ["num wide", "Started"], ["num", "Duration"],
  ["num wide", "Tokens"], ["c-rec num wide", "Records"], ["c-act", "Last activity"], ["c-ago num", "When"],
];
/** Icons of what a run did last, by the start of the record type. */
const ACTIVITY = [["tool_", "tool"], ["await_", "wait"], ["run_suspended", "wait"], ["thinking", "think"], ["child", "child"], ["runtime", "s-canceled"], ["", "say"]];
const TONES = /** @type {Record<string, string>} */ ({ failed: "failed", suspended: "suspended", running: "" });

/** The order of the list that was left last, for "previous" and "next" on a run's page. @type {{ids: string[], search: string}} */
export const left = { ids: [], search: "" };

/** The list with one session's runs. @param {string} id */
export const sessionHref = (id) => `/?session=${encodeURIComponent(id)}&since=all`;

export class ListView {
  /** @param {import("./app.js").Page} page */
  constructor(page) {
    this.page = page;
    this.typing = 0;
    this.known = now();
    /** @type {Grid<Run> | undefined} */
    this.grid = undefined;
    this.runs = new Runs(filtersOf(location.search), page.later);
    this.agents = new Agents(page.later);
    keys.current = {
      j: () => this.grid?.move(1),
      k: () => this.grid?.move(-1),
      g: () => this.grid?.select(0),
      G: () => this.grid?.select(this.runs.shown.length - 1),
      Enter: () => this.grid?.row && this.#open(this.grid.row),
      "/": () => focus(".filters input"),
      f: () => focus(".chips button"),
      n: () => this.#newer(),
      x: () => this.grid?.seek((run) => run.status === "failed"),
      a: () => this.grid?.seek((run) => run.status === "suspended"),
    };
  }

  state() {
    return this.runs.state;
  }

  close() {
    left.ids = this.runs.shown.map((run) => run.run_id);
    left.search = searchOf(this.runs.filters);
    clearTimeout(this.typing);
    this.runs.close();
    this.agents.close();
    this.grid?.close();
  }

  located() {
    this.#filter(filtersOf(location.search));
  }

  /** @param {Partial<import("./runs.js").Filters>} change */
  #filter(change) {
    this.runs.filters = { ...this.runs.filters, ...change };
    this.page.replace(location.pathname + searchOf(this.runs.filters));
    this.grid?.scroller.scrollTo(0, 0);
    void this.runs.search();
    this.draw();
  }

  /** @param {Run} run */
  #open(run) {
    this.page.go(`/runs/${segment(run.run_id)}`);
  }

  #newer() {
    say(`${many(this.runs.newer, "newer run")} shown`, true);
    this.runs.arrange();
    this.grid?.scroller.scrollTo(0, 0);
    this.draw();
  }

  draw() {
    const { runs, page } = this;
    page.main.className = "listpage runs";
    const { session } = runs.filters;
    document.title = `${session || "Runs"} · Runlane`;
    render(html`${this.#head(session)}${session ? nothing : this.agents.panel()}${this.#filters()}<div class="list" role="grid" aria-label="Runs" ?hidden=${!runs.shown.length}>${heads(COLUMNS)}</div>${runs.shown.length ? nothing : html`<div class="list">${this.#empty()}</div>`}`, page.main);
    this.grid ??= this.#grid(/** @type {HTMLElement} */ (page.main.querySelector(".list")));
    // While the stream is lost, what runs is known up to then and no further.
    if (runs.state.kind === "live") this.known = now();
    this.grid.update();
    const { running, failed } = runs.counts();
    if (runs.loaded) say(`${many(runs.shown.length, "run")} shown, ${running} running, ${failed} failed${runs.newer ? `, ${runs.newer} newer wait` : ""}`);
  }

  /** @param {HTMLElement} scroller @returns {Grid<Run>} */
  #grid(scroller) {
    return new Grid(scroller, {
      rows: () => this.runs.shown,
      key: (run) => run.run_id,
      cells: (run, element) => this.#cells(run, element),
      height: "--h-run",
      open: (run) => this.#open(run),
      seen: (last) => last > this.runs.shown.length - 30 && this.runs.cursor && void this.runs.more(),
    });
  }

  /** @param {string} session the one whose runs are listed, if any */
  #head(session) {
    const { newer, shown, cursor, lane } = this.runs;
    return html`<div class="listhead"><h1 class="cut" title=${session}>${session ? `Session ${session}` : "Runs"}</h1><p class="quiet wide">${session && lane.status ? `${lane.status}, ` : ""}${count(shown.length)}${cursor ? " or more" : ""}, ${session ? "in lane order" : "newest first"}</p>
      <button class="newer" type="button" ?hidden=${!newer} @click=${() => this.#newer()}>Show ${count(newer)} newer</button></div>`;
  }

  #filters() {
    const { filters, cursor, known } = this.runs;
    const counts = this.runs.counts();
    const typed = (/** @type {any} */ event) => {
      clearTimeout(this.typing);
      this.typing = setTimeout(() => this.#filter({ q: event.target.value }), 150);
    };
    const select = (/** @type {"agent" | "session" | "since"} */ name, /** @type {string} */ title, /** @type {string[][]} */ options) =>
      html`<label class="sel ${name === "session" ? "wide" : ""}"><select aria-label=${title} @change=${(/** @type {any} */ e) => this.#filter({ [name]: e.target.value })}>${options.map(([value, text]) => html`<option value=${value} ?selected=${value === filters[name]}>${text}</option>`)}</select>${icon("next", "s quiet")}</label>`;
    const values = (/** @type {"agent_id" | "session_id"} */ field, /** @type {string} */ chosen) => [...new Set([chosen, ...[...known.values()].map((run) => run[field])])].filter(Boolean).sort().slice(0, 200).map((value) => [value, value]);
    const chip = (/** @type {string} */ status) => {
      const on = filters.status.includes(status);
      const flip = () => this.#filter({ status: on ? filters.status.filter((one) => one !== status) : [...filters.status, status] });
      return html`<button class="chip" type="button" aria-pressed=${on} @click=${flip}>${icon(`s-${status}`, `s ${status}`)}<span>${STATUS[status]}</span> <b>${count(counts[status])}${cursor ? "+" : ""}</b></button>`;
    };
    return html`<form class="filters" role="search" @submit=${(/** @type {Event} */ e) => e.preventDefault()}>
      <label class="field">${icon("find", "s")}<input type="search" .value=${filters.q} placeholder="Run id, agent, session or label=value" aria-label="Search runs" @input=${typed}><kbd class="wide">/</kbd></label>
      ${select("agent", "Agent", [["", "Any agent"], ...values("agent_id", filters.agent)])}${select("session", "Session", [["", "Any session"], ...values("session_id", filters.session)])}${select("since", "Time range", Object.entries(RANGES).map(([value, [text]]) => [value, text]))}
      <span class="push"></span><div class="chips" role="group" aria-label="Status">${Object.keys(STATUS).map(chip)}</div></form>`;
  }

  #empty() {
    const { runs } = this;
    const fault = runs.fault ?? (runs.lane.status === PURGED ? new Problem(410, "session_purged", false) : null);
    if (fault) return failure(fault, () => void runs.search());
    if (!runs.loaded) return ghosts("Looking for runs");
    if (!runs.known.size && !location.search) return empty("No run yet", "The first one shows up here as soon as it starts.", html`<code>runlane demo</code>`);
    const { q, agent, session, since, status } = runs.filters;
    const asked = [status.join(" or "), agent, session, q, RANGES[since][0].toLowerCase()].filter(Boolean).join(", ");
    return empty("Nothing matches", asked, html`<button class="btn" type="button" @click=${() => this.#filter(filtersOf("?since=all"))}>Clear filters</button>`);
  }

  /** @param {Run} run @param {HTMLElement} element */
  #cells(run, element) {
    element.className = "runrow";
    const started = Date.parse(run.started_at);
    const running = run.status === "running";
    const taken = (running ? this.known : Date.parse(run.updated_at)) - started;
    const activity = run.last_activity;
    const words = activity?.text || run.cancellation_reason;
    const symbol = ACTIVITY.find(([start]) => (activity?.type ?? "runtime").startsWith(start))?.[1] ?? "say";
    const cells = [
      statusMark(run.status),
      html`${run.parent_run_id ? html`${icon("child", "s")}<span class="sr">child run </span>` : nothing}<a class="strong" tabindex="-1" href="/runs/${segment(run.run_id)}" title=${run.agent_id}>${run.agent_id}</a>`,
      idText(run.run_id),
      run.session_id ? html`<a class="soft" tabindex="-1" href=${sessionHref(run.session_id)} title=${run.session_id}>${run.session_id}</a>` : html`<span class="quiet">no session</span>`,
      time(run.started_at, ago(started, now())),
      html`<span class=${running ? "running" : ""}>${duration(taken, running)}</span>`,
      run.tokens === undefined ? "" : count(run.tokens),
      run.records === undefined ? "" : count(run.records),
      words ? html`<span class="act ${TONES[run.status] ?? "soft"}">${icon(symbol, "s")}<span class="cut" title=${words}>${words}</span></span>` : "",
      html`<span class="quiet">${ago(Date.parse(activity?.at ?? run.updated_at), now())}</span>`,
    ];
    return cells.map((cell, i) => html`<span role="gridcell" class="cut ${COLUMNS[i][0]}">${cell}</span>`);
  }
}
