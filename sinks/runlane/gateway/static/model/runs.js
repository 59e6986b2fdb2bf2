/** @file The runs list: what the search found, what the stream changed, which of it a reader sees. */

import { now, read } from "../lib/api.js";
import { Stream } from "../lib/stream.js";

const PAGE = 200;
const MINUTE = 60_000;
/** @type {Record<string, number>} */
export const RANGES = { "15m": 15 * MINUTE, "1h": 60 * MINUTE, "24h": 1440 * MINUTE, "7d": 10_080 * MINUTE, all: Number.POSITIVE_INFINITY };
export const DEFAULT_RANGE = "24h";

/** @typedef {{q: string, agent: string, session: string, since: string, status: string[]}} Filters */

/** @param {string} search the query part of an address @returns {Filters} */
export function filtersOf(search) {
  const q = new URLSearchParams(search);
  const since = q.get("since") ?? "";
  return {
    q: q.get("q") ?? "", agent: q.get("agent") ?? "", session: q.get("session") ?? "",
    since: Object.hasOwn(RANGES, since) ? since : DEFAULT_RANGE, status: q.getAll("status"),
  };
}

/** @param {Filters} filters */
export function searchOf(filters) {
  const q = new URLSearchParams();
  for (const status of filters.status) q.append("status", status);
  if (filters.agent) q.set("agent", filters.agent);
  if (filters.session) q.set("session", filters.session);
  if (filters.since !== DEFAULT_RANGE) q.set("since", filters.since);
  if (filters.q) q.set("q", filters.q);
  const text = q.toString();
  return text ? `?${text}` : "";
}

export class Runs {
  /** @param {Filters} filters @param {() => void} changed */
  constructor(filters, changed) {
    this.filters = filters;
    this.changed = changed;
    /** @type {Map<string, Run>} */
    this.known = new Map();
    /** @type {Run[]} what is shown, newest first; order changes only when the reader asks */
    this.shown = [];
    /** @type {Set<string>} */
    this.ids = new Set();
    this.newer = 0;
    this.cursor = "";
    this.loading = false;
    this.loaded = false;
    this.synced = false;
    /** @type {unknown} */
    this.fault = null;
    /** @type {StreamState} */
    this.state = { kind: "connecting" };
    /** @type {Map<string, Run>} */
    this.inbox = new Map();
    this.query = 0;
    this.stream = new Stream({
      path: () => "/v1/runs/stream",
      on: { head: () => {}, run: (run) => this.#soon(run), sync: () => this.#sync() },
      status: (state) => {
        this.state = state;
        this.changed();
      },
      probe: () => read("/v1/runs?limit=1"),
    });
  }

  start() {
    this.stream.start();
    void this.search();
  }

  close() {
    this.query += 1;
    this.stream.stop();
  }

  /** Search afresh, after a change of the filters. */
  async search() {
    this.query += 1;
    this.cursor = "";
    this.loading = this.loaded = false;
    this.fault = null;
    this.arrange();
    await this.more();
  }

  /** Read the next page of what matches. */
  async more() {
    if (this.loading || (this.loaded && !this.cursor)) return;
    this.loading = true;
    const mine = this.query;
    try {
      const page = await read(`/v1/runs?${this.#params()}`);
      if (mine !== this.query) return;
      for (const run of page.runs) this.#learn(run);
      this.cursor = page.next_cursor;
      this.loaded = true;
      for (const run of page.runs) if (this.matches(run)) this.ids.add(run.run_id);
      this.#order();
    } catch (fault) {
      if (mine === this.query) this.fault = fault;
    }
    if (mine === this.query) this.loading = false;
    this.changed();
  }

  #params() {
    const { agent, session, since, status } = this.filters;
    const q = new URLSearchParams({ limit: String(PAGE) });
    for (const one of status) q.append("status", one);
    if (agent) q.set("agent", agent);
    if (session) q.set("session", session);
    if (since !== "all") q.set("from", new Date(now() - RANGES[since]).toISOString());
    if (this.cursor) q.set("cursor", this.cursor);
    return q;
  }

  /** The search knows no counts and may lag: what the stream said later stays. @param {Run} run */
  #learn(run) {
    const before = this.known.get(run.run_id);
    const older = before && Date.parse(before.updated_at) > Date.parse(run.updated_at);
    this.known.set(run.run_id, older ? { ...run, ...before } : { ...before, ...run });
  }

  /** @param {Run} run */
  #soon(run) {
    this.inbox.set(run.run_id, run);
    if (this.inbox.size > 1) return;
    const apply = () => this.#apply();
    if (document.hidden) setTimeout(apply, 250);
    else requestAnimationFrame(apply);
  }

  #apply() {
    for (const run of this.inbox.values()) this.#learn(run);
    this.inbox.clear();
    if (this.shown.length) this.#refresh();
    else this.arrange();
    this.changed();
  }

  #sync() {
    if (this.inbox.size) this.#apply();
    // What ran between the search and the first snapshot belongs to the first picture.
    if (!this.synced) this.arrange();
    this.synced = true;
    this.state = { kind: "live" };
    this.changed();
  }

  /** Show all that matches as of now, newest first. */
  arrange() {
    this.ids = new Set([...this.known.values()].filter((run) => this.matches(run)).map((run) => run.run_id));
    this.#order();
  }

  #order() {
    const started = (/** @type {Run} */ run) => Date.parse(run.started_at);
    this.shown = [...this.ids].map((id) => /** @type {Run} */ (this.known.get(id))).sort((a, b) => started(b) - started(a) || (a.run_id < b.run_id ? 1 : -1));
    this.#refresh();
  }

  /** New facts in the rows as they stand, and how many runs wait above. */
  #refresh() {
    this.shown = this.shown.map((run) => this.known.get(run.run_id) ?? run);
    this.newer = 0;
    for (const run of this.known.values()) if (!this.ids.has(run.run_id) && this.matches(run)) this.newer += 1;
  }

  /** @param {Run} run @param {boolean} [anyStatus] */
  matches(run, anyStatus = false) {
    const { q, agent, session, since, status } = this.filters;
    if (!anyStatus && status.length && !status.includes(run.status)) return false;
    if ((agent && run.agent_id !== agent) || (session && run.session_id !== session)) return false;
    if (since !== "all" && Date.parse(run.started_at) < now() - RANGES[since]) return false;
    if (!q) return true;
    const labels = Object.entries(run.labels ?? {}).map(([k, v]) => `${k}=${v}`);
    const text = [run.run_id, run.agent_id, run.session_id, run.last_activity?.text ?? "", ...labels].join("\n");
    return text.toLowerCase().includes(q.toLowerCase());
  }

  /** How many known runs have each status, whatever status is asked for. */
  counts() {
    /** @type {Record<string, number>} */
    const counts = {};
    for (const run of this.known.values()) if (this.matches(run, true)) counts[run.status] = (counts[run.status] ?? 0) + 1;
    return counts;
  }

  /** Values that a filter may take. @param {"agent_id" | "session_id"} field */
  values(field) {
    return [...new Set([...this.known.values()].map((run) => run[field]).filter(Boolean))].sort().slice(0, 200);
  }

  /** Runs started in each of the last 60 minutes, and how many of them failed. */
  perMinute() {
    const columns = Array.from({ length: 60 }, () => ({ all: 0, failed: 0 }));
    const end = now();
    for (const run of this.known.values()) {
      const column = columns[59 - Math.floor((end - Date.parse(run.started_at)) / MINUTE)];
      if (!column) continue;
      column.all += 1;
      if (run.status === "failed") column.failed += 1;
    }
    return columns;
  }
}
