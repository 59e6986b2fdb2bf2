/** @file The runs that the search found and the stream changed, and which of them a reader sees. */

import { now, read, segment, Stream } from "./api.js";
import { soon } from "./feed.js";
import { MINUTE, query } from "./text.js";

const SEARCH_PAGE = 200;
/** The newest runs that a connection begins with. */
const SNAPSHOT = 200;
/** @type {Record<string, [string, number]>} */
export const RANGES = { "1h": ["Last hour", 60], "24h": ["Last 24 hours", 1440], "7d": ["Last 7 days", 10_080], all: ["Any time", Number.POSITIVE_INFINITY] };
const DEFAULT_RANGE = "24h";
/** The state of a session of which nothing is left. */
export const PURGED = "purged";
/** @param {string} iso */
const ms = (iso) => Date.parse(iso);

/** @typedef {{q: string, agent: string, session: string, since: string, status: string[]}} Filters */

/** @param {string} search the query part of an address @returns {Filters} */
export function filtersOf(search) {
  const q = new URLSearchParams(search);
  const [text, agent, session, since] = ["q", "agent", "session", "since"].map((name) => q.get(name) ?? "");
  return { q: text, agent, session, since: Object.hasOwn(RANGES, since) ? since : DEFAULT_RANGE, status: q.getAll("status") };
}

/** The query part that says these filters. @param {Filters} filters */
export const searchOf = ({ status, since, ...rest }) => query({ status, ...rest, since: since === DEFAULT_RANGE ? "" : since });

export class Runs {
  /** @param {Filters} filters @param {() => void} changed */
  constructor(filters, changed) {
    this.filters = filters;
    this.changed = changed;
    /** @type {Map<string, Run>} */
    this.known = new Map();
    /** @type {Set<string>} sessions that were purged; what is read or told of them late is not learnt */
    this.gone = new Set();
    /** @type {Run[]} newest first, of one session oldest first; the order changes only when the reader asks */
    this.shown = [];
    this.newer = this.query = this.arranged = 0;
    this.cursor = "";
    this.loading = this.loaded = this.synced = false;
    /** @type {unknown} */
    this.fault = null;
    /** @type {StreamState} */
    this.state = { kind: "connecting" };
    /** @type {Run[]} */
    this.inbox = [];
    /** @type {Set<string>} the runs that this connection told of */
    this.told = new Set();
    const status = (/** @type {StreamState} */ state) => {
      this.state = state;
      this.changed();
    };
    const head = () => this.told.clear();
    const run = (/** @type {Run} */ one) => {
      this.told.add(one.run_id);
      if (this.inbox.push(one) === 1) soon(() => this.#apply());
    };
    const sync = () => {
      this.#apply();
      // What the first snapshot brings belongs to the first picture.
      if (!this.synced) this.arrange();
      this.synced = true;
      void this.#missed();
      status({ kind: "live" });
    };
    this.stream = new Stream(() => "/v1/runs/stream", { head, run, sync, gone: ({ session_id }) => this.#forget(session_id) }, status, () => read("/v1/runs?limit=1"));
    /** @type {{id: string, status: string, stream: Stream | null}} the session that is chosen */
    this.lane = { id: "", status: "", stream: null };
    void this.search();
  }

  close() {
    this.query += 1;
    this.stream.stop();
    this.lane.stream?.stop();
  }

  /** Follow the state of the session that is chosen; its runs come by the stream of all. */
  #watch() {
    const id = this.filters.session;
    if (id === this.lane.id) return;
    this.lane.stream?.stop();
    const lane = { id, status: "", stream: /** @type {Stream | null} */ (null) };
    this.lane = lane;
    const set = (/** @type {string} */ status) => {
      lane.status = status;
      this.changed();
    };
    const head = (/** @type {{status: string}} */ { status }) => set(status);
    const kind = (/** @type {StreamState} */ state) => (state.kind === PURGED || state.kind === "ended") && set(state.kind);
    if (id) lane.stream = new Stream(() => `/v1/sessions/${segment(id)}/stream?from=latest`, { head, record: (record) => set(record.session_status) }, kind, () => read(`/v1/sessions/${segment(id)}`));
  }

  /** Keep of a purged session's runs no more than their rows, until the reader asks for another order. @param {string} session */
  #forget(session) {
    this.#take();
    this.gone.add(session);
    for (const [id, run] of this.known) {
      if (run.session_id === session) this.known.set(id, { ...run, agent_id: "", labels: {}, status: /** @type {any} */ (PURGED), tokens: undefined, records: undefined, cancellation_reason: "", last_activity: null });
    }
    this.#order(this.shown);
    this.changed();
  }

  /** Ask for the sessions of runs that this connection should have told of and did not: they may be purged. */
  async #missed() {
    const told = [...this.told].map((id) => this.known.get(id)).filter((run) => run !== undefined);
    const oldest = told.length < SNAPSHOT ? 0 : Math.min(...told.map((run) => ms(run.started_at)));
    const untold = [...this.known.values()].filter((run) => run.session_id && !this.told.has(run.run_id) && ms(run.started_at) >= oldest);
    for (const session of new Set(untold.map((run) => run.session_id))) {
      await read(`/v1/sessions/${segment(session)}`).catch((fault) => fault.status === 410 && this.#forget(session));
    }
  }

  /** Search afresh, after a change of the filters. */
  async search() {
    this.query += 1;
    this.cursor = "";
    this.loading = this.loaded = false;
    this.#watch();
    this.arrange();
    await this.more();
  }

  /** Read the next page of what matches. */
  async more() {
    if (this.loading || (this.loaded && !this.cursor)) return;
    this.loading = true;
    this.fault = null;
    const mine = this.query;
    try {
      const { status, agent, session, since } = this.filters;
      const from = since === "all" ? "" : new Date(now() - RANGES[since][1] * MINUTE).toISOString();
      const page = await read(`/v1/runs${query({ status, limit: SEARCH_PAGE, agent, session, from, cursor: this.cursor })}`);
      if (mine !== this.query) return;
      for (const run of page.runs) this.#learn(run);
      this.cursor = page.next_cursor;
      this.loaded = true;
      this.#order([...this.shown, ...page.runs.filter((/** @type {Run} */ run) => this.known.has(run.run_id))]);
    } catch (fault) {
      if (mine !== this.query) return;
      this.fault = fault;
    }
    this.loading = false;
    this.changed();
  }

  /** The search knows no counts and may lag: what the stream said later stays. @param {Run} run */
  #learn(run) {
    if (this.gone.has(run.session_id)) return;
    const before = this.known.get(run.run_id);
    const late = before && ms(before.updated_at) > ms(run.updated_at);
    this.known.set(run.run_id, late ? { ...run, ...before } : { ...before, ...run });
  }

  #take() {
    for (const run of this.inbox.splice(0)) this.#learn(run);
  }

  #apply() {
    this.#take();
    if (this.shown.length) this.#order(this.shown);
    else this.arrange();
    this.changed();
  }

  /** Show all that matches as of now. */
  arrange() {
    for (const [id, run] of this.known) if (run.status === /** @type {string} */ (PURGED)) this.known.delete(id);
    this.#order([...this.known.values()]);
  }

  /** Show these runs with what is known of them, and count those that wait above. @param {Run[]} runs what is shown already stays where it is */
  #order(runs) {
    const before = new Set(this.query === this.arranged ? this.shown.map((run) => run.run_id) : []);
    const ids = new Set(runs.filter((run) => before.has(run.run_id) || this.matches(run)).map((run) => run.run_id));
    const rows = [...ids].map((id) => /** @type {Run} */ (this.known.get(id)));
    this.shown = runs === this.shown ? rows : rows.sort((a, b) => (ms(b.started_at) - ms(a.started_at) || (a.run_id < b.run_id ? 1 : -1)) * (this.filters.session ? -1 : 1));
    this.arranged = this.query;
    this.newer = [...this.known.values()].filter((run) => !ids.has(run.run_id) && this.matches(run)).length;
  }

  /** @param {Run} run @param {boolean} [anyStatus] */
  matches(run, anyStatus = false) {
    const { q, agent, session, since, status } = this.filters;
    const texts = [run.run_id, run.agent_id, run.session_id, run.last_activity?.text ?? "", ...Object.entries(run.labels ?? {}).map((pair) => pair.join("="))];
    return (
      (anyStatus || !status.length || status.includes(run.status)) &&
      (!agent || run.agent_id === agent) &&
      (!session || run.session_id === session) &&
      now() - ms(run.started_at) < RANGES[since][1] * MINUTE &&
      texts.some((text) => text.toLowerCase().includes(q.toLowerCase()))
    );
  }

  /** How many known runs have each status, whatever status is asked for. */
  counts() {
    /** @type {Record<string, number>} */
    const counts = { running: 0, suspended: 0, failed: 0, canceled: 0, completed: 0 };
    for (const run of this.known.values()) if (this.matches(run, true)) counts[run.status] += 1;
    return counts;
  }
}
