/** @file The runs list: live, filtered by the address, one row a run. */

import { now, segment } from "./api.js";
import { soon } from "./feed.js";
import { Grid, heads } from "./grid.js";
import { filtersOf, RANGES, Runs, searchOf } from "./runs.js";
import { ago, count, duration, many } from "./text.js";
import { empty, failure, focus, ghosts, hints, icon, idText, keys, say, STATUS, statusMark, time } from "./ui.js";
import { html, nothing, render, svg } from "./vendor/lit-html.js";

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

/** Columns of how many there were, and below how many of them failed. @param {number[][]} pairs */
export function spark(pairs) {
  const peak = Math.max(1, ...pairs.map(([all]) => all));
  const column = (/** @type {number} */ n, /** @type {number} */ i, /** @type {string} */ cls) => svg`<rect class=${cls} x=${i * 5} y=${30 - (n / peak) * 28} width="4" height=${(n / peak) * 28}></rect>`;
  return html`<svg width=${pairs.length * 5} height="30" role="img" aria-label="Starts: ${pairs.at(-1)?.[0]} now, ${peak} at the peak">${pairs.map(([all, failed], i) => [column(all, i, "b-turn"), column(failed, i, "b-err")])}</svg>`;
}

export class ListView {
  nav = "Runs";
  foot = hints(["j k=move", "Enter=open", "/=search", "f=status", "n=show newer"]);

  /** @param {import("./app.js").Page} page */
  constructor(page) {
    this.page = page;
    this.frame = 0;
    this.typing = 0;
    this.known = now();
    /** @type {Grid<Run> | undefined} */
    this.grid = undefined;
    const draw = () => {
      this.frame = 0;
      this.page.draw();
    };
    this.runs = new Runs(filtersOf(location.search), () => (this.frame ||= Number(soon(draw))));
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
    this.page = { ...this.page, draw: () => {} };
    this.runs.close();
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
    document.title = "Runs · Runlane";
    render(html`${this.#head()}${this.#filters()}<div class="list" role="grid" aria-label="Runs" ?hidden=${!runs.shown.length}></div>${runs.shown.length ? nothing : html`<div class="list">${this.#empty()}</div>`}`, page.main);
    this.grid ??= this.#grid(/** @type {HTMLElement} */ (page.main.querySelector(".list")));
    // While the stream is lost, what runs is known up to then and no further.
    if (runs.state.kind === "live") this.known = now();
    this.grid.update();
    const { running, failed } = runs.counts();
    if (runs.loaded) say(`${many(runs.shown.length, "run")} shown, ${running} running, ${failed} failed${runs.newer ? `, ${runs.newer} newer wait` : ""}`);
  }

  /** @param {HTMLElement} scroller @returns {Grid<Run>} */
  #grid(scroller) {
    heads(scroller, COLUMNS);
    return new Grid(scroller, {
      rows: () => this.runs.shown,
      key: (run) => run.run_id,
      cells: (run, element) => this.#cells(run, element),
      height: "--h-run",
      open: (run) => this.#open(run),
      seen: (last) => last > this.runs.shown.length - 30 && this.runs.cursor && void this.runs.more(),
    });
  }

  #head() {
    const { newer, shown, cursor } = this.runs;
    const minutes = this.runs.perMinute();
    return html`<div class="listhead"><h1>Runs</h1><p class="quiet wide">${count(shown.length)}${cursor ? " or more" : ""}, newest first</p>
      <button class="newer" type="button" ?hidden=${!newer} @click=${() => this.#newer()}>Show ${count(newer)} newer</button><span class="push"></span>
      <div class="spark wide"><span>started per minute<br>last 60 minutes</span>
        ${spark(minutes)}
        <span><b>${minutes[59][0]}</b><br>now</span></div></div>`;
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
    if (runs.fault) return failure(runs.fault, () => void runs.search());
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
