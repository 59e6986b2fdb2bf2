/** @file The records of a run and its children: history by pages, then the stream; every record once, in order. */

import { read, segment, Stream } from "./api.js";
import { RunTree } from "./tree.js";

const FIRST_PAGE = 200;
const PAGE = 1000;
/** Records turned into rows in one go, so that no step takes long. */
const STEP = 300;
const MOST_STREAMS = 4;

/** Call `act` with the next frame, or soon where no frames come because the tab is hidden. @param {() => void} act */
export const soon = (act) => (document.hidden ? setTimeout(act, 250) : requestAnimationFrame(act));

/** @param {string} status */
export const terminal = (status) => status !== "running" && status !== "";

/** The records of one run, `records[seq - 1]`, and the tree made of them. */
export class RunLog {
  /** @param {string} id */
  constructor(id) {
    this.id = id;
    this.path = `/v1/runs/${segment(id)}`;
    /** @type {Run | null} */
    this.meta = null;
    /** @type {Rec[]} */
    this.records = [];
    this.tree = new RunTree(id);
    this.complete = this.large = false;
    /** @type {Map<number, Rec>} records that came before those in front of them */
    this.early = new Map();
    /** @type {Promise<void> | null} */
    this.filling = null;
    /** @type {Map<string, string>} what is being written, by call and stream */
    this.drafts = new Map();
    /** @type {unknown} */
    this.fault = null;
  }

  /** @returns {Status | ""} */
  get status() {
    return this.tree.ended || this.meta?.status || "";
  }

  /** Take the next record; false when those in front of it are missing. @param {Rec} record @param {boolean} live */
  take(record, live) {
    const next = this.records.length + 1;
    if (record.seq !== next) return record.seq < next;
    this.records.push(record);
    this.tree.add(record, live);
    const spoken = ["assistant_message", "transcript_messages_appended", "thinking_block"].includes(record.type);
    for (const key of this.drafts.keys()) {
      const call = key.split("\n")[0];
      if (this.tree.ended || (call ? this.tree.calls.get(call)?.end !== null : spoken)) this.drafts.delete(key);
    }
    return true;
  }

  /** Take what came early; false when a hole is left in front of some of it. */
  takeEarly() {
    for (const seq of [...this.early.keys()].sort((a, b) => a - b)) {
      if (this.take(/** @type {Rec} */ (this.early.get(seq)), true)) this.early.delete(seq);
    }
    return !this.early.size;
  }
}

export class Feed {
  /** @param {string} runId @param {() => void} changed */
  constructor(runId, changed) {
    this.root = new RunLog(runId);
    /** @type {Map<string, RunLog>} */
    this.logs = new Map([[runId, this.root]]);
    this.changed = changed;
    /** @type {StreamState} */
    this.state = { kind: "connecting" };
    /** @type {Map<string, Stream>} */
    this.streams = new Map();
    /** @type {(() => void)[]} what the streams brought since the last frame */
    this.inbox = [];
    this.lane = this.head = this.version = 0;
    this.abort = new AbortController();
  }

  /** Read the run and its first page; throws `Problem` when there is none to show. */
  async open() {
    const { root } = this;
    const [meta, page] = await Promise.all([this.#read(root.path), this.#read(`${root.path}/records?limit=${FIRST_PAGE}`)]);
    root.meta = meta;
    root.large = page.next_cursor !== "";
    await this.#ingest(root, page);
    this.#touch();
    // The first rows are shown before the rest is read.
    soon(() => setTimeout(() => void this.#load(root, root.large)));
  }

  close() {
    this.abort.abort();
    for (const stream of this.streams.values()) stream.stop();
  }

  retry() {
    for (const stream of this.streams.values()) stream.retry();
  }

  /** A child run's records, read once. @param {string} id */
  child(id) {
    let log = this.logs.get(id);
    if (!log) {
      log = new RunLog(id);
      this.logs.set(id, log);
      void this.#load(log, true);
    }
    return log;
  }

  /** @param {string} path @returns {Promise<any>} */
  #read(path) {
    return read(path, { signal: this.abort.signal });
  }

  /** @param {RunLog} log @param {boolean} more whether pages are left to read */
  async #load(log, more) {
    try {
      log.meta ??= await this.#read(log.path);
      if (more) await this.#fill(log);
      log.complete = true;
      this.#listen(log);
    } catch (fault) {
      if (!this.abort.signal.aborted) log.fault = fault;
    }
    this.#touch();
  }

  /** Read pages until the run's end as of now, then take what the stream brought early. @param {RunLog} log */
  #fill(log) {
    log.filling ??= this.#pages(log).finally(() => (log.filling = null));
    return log.filling;
  }

  /** @param {RunLog} log */
  async #pages(log) {
    for (let more = true; more; ) {
      const page = await this.#read(`${log.path}/records?limit=${PAGE}&cursor=${log.records.length || ""}`);
      await this.#ingest(log, page);
      more = page.next_cursor !== "";
      log.large ||= more;
      this.#touch();
      // An early record was committed before a page that is read from now on: a hole takes one page more.
      if (!more) more = !log.takeEarly();
    }
  }

  /** @param {RunLog} log @param {{records: Rec[]}} page */
  async #ingest(log, page) {
    for (let from = 0; from < page.records.length; from += STEP) {
      if (from) await new Promise((resolve) => setTimeout(resolve));
      for (const record of page.records.slice(from, from + STEP)) log.take(record, log.complete);
    }
  }

  /** The place after which the stream goes on: of the lane where there is a session, as it carries the children too. @param {RunLog} log */
  #cursor(log) {
    return this.root.meta?.session_id ? this.lane : log.records.length;
  }

  /** @param {RunLog} log */
  #listen(log) {
    const session = this.root.meta?.session_id;
    const key = session || log.id;
    this.lane ||= log.records.at(-1)?.lane_seq ?? 0;
    if (!terminal(log.status) && !this.streams.has(key) && this.streams.size < MOST_STREAMS) {
      const path = session ? `/v1/sessions/${segment(session)}` : log.path;
      const on = {
        head: (/** @type {{head: number}} */ { head }) => {
          this.head = head;
          this.#arrived();
        },
        record: (/** @type {Rec} */ record) => this.#soon(() => this.#record(record)),
        delta: (/** @type {Delta} */ delta) => this.#soon(() => this.#delta(delta)),
      };
      const status = (/** @type {StreamState} */ state) => {
        if (session || log === this.root) this.state = state;
        this.#touch();
      };
      this.streams.set(key, new Stream(() => `${path}/stream?after=${this.#cursor(log)}`, on, status, () => this.#read(log.path)));
    }
    this.#settle();
  }

  /** At the head, or how far from it. */
  #arrived() {
    const left = this.head - this.#cursor(this.root);
    this.state = left > 0 ? { kind: "catching", left } : { kind: "live" };
    this.#touch();
  }

  /** @param {() => void} act */
  #soon(act) {
    if (this.inbox.push(act) === 1) soon(() => this.#apply());
  }

  #apply() {
    const acts = this.inbox.splice(0, STEP);
    for (const act of acts) act();
    if (this.inbox.length) soon(() => this.#apply());
    if (this.state.kind === "catching") this.#arrived();
    this.#settle();
    this.#touch();
  }

  /** @param {Delta} delta */
  #delta(delta) {
    const drafts = this.logs.get(delta.run_id)?.drafts;
    const key = `${delta.tool_call_id}\n${delta.stream}`;
    drafts?.set(key, ((drafts.get(key) ?? "") + delta.text).slice(-20_000));
  }

  /** @param {Rec} record */
  #record(record) {
    this.lane = Math.max(this.lane, record.lane_seq);
    const log = this.logs.get(record.run_id);
    if (!log || !record.seq || (!log.filling && log.take(record, true))) return;
    log.early.set(record.seq, record);
    this.#fill(log).catch((fault) => (log.fault = fault));
  }

  /** Nothing more can come once the run and all children shown have ended. */
  #settle() {
    if (!this.root.complete || ![...this.logs.values()].every((log) => terminal(log.status) || log.fault)) return;
    for (const stream of this.streams.values()) stream.stop();
    this.streams.clear();
    this.state = { kind: "ended" };
  }

  #touch() {
    this.version += 1;
    this.changed();
  }
}
