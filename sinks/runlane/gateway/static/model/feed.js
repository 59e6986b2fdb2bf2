/** @file The records of a run and its children: history by pages, then the stream; every record once, in order. */

import { read, segment } from "../lib/api.js";
import { Stream } from "../lib/stream.js";
import { RunTree } from "./runtree.js";

const FIRST_PAGE = 200;
const PAGE = 1000;
/** Records turned into rows in one go, so that no step takes long. */
const STEP = 400;
const MOST_CHILD_STREAMS = 3;
/** @param {string} status */
export const terminal = (status) => status !== "running" && status !== "";

/** The records of one run, `records[seq - 1]`, and the tree made of them. */
export class RunLog {
  /** @param {string} id */
  constructor(id) {
    this.id = id;
    /** @type {Run | null} */
    this.meta = null;
    /** @type {Rec[]} */
    this.records = [];
    this.tree = new RunTree(id);
    this.complete = false;
    this.large = false;
    /** @type {Map<number, Rec>} */
    this.early = new Map();
    /** @type {Promise<void> | null} */
    this.filling = null;
    /** @type {Map<string, string>} */
    this.drafts = new Map();
    /** @type {unknown} */
    this.fault = null;
  }

  /** @returns {Status | ""} */
  get status() {
    return this.tree.ended || this.meta?.status || "";
  }

  get path() {
    return `/v1/runs/${segment(this.id)}`;
  }

  /** Take the next record; false when it is not the next. @param {Rec} record @param {boolean} live */
  take(record, live) {
    if (record.seq !== this.records.length + 1) return record.seq <= this.records.length;
    this.records.push(record);
    this.tree.add(record, live);
    this.#clearDraft(record);
    return true;
  }

  /** Take what came early; false when a hole is left in front of some of it. */
  takeEarly() {
    for (const seq of [...this.early.keys()].sort((a, b) => a - b)) {
      const record = this.early.get(seq);
      if (record && this.take(record, true)) this.early.delete(seq);
    }
    return this.early.size === 0;
  }

  /** @param {Delta} delta */
  draft(delta) {
    const key = `${delta.tool_call_id}\n${delta.stream}`;
    this.drafts.set(key, ((this.drafts.get(key) ?? "") + delta.text).slice(-20_000));
  }

  /** What was being written is stored now. @param {Rec} record */
  #clearDraft(record) {
    if (!this.drafts.size) return;
    const spoken = ["assistant_message", "transcript_messages_appended", "thinking_block"].includes(record.type);
    for (const key of this.drafts.keys()) {
      const call = key.slice(0, key.indexOf("\n"));
      const done = call ? this.tree.calls.get(call)?.end !== null : spoken;
      if (done || this.tree.ended) this.drafts.delete(key);
    }
  }
}

export class Feed {
  /** @param {string} runId @param {() => void} changed called after a change, at most once a frame */
  constructor(runId, changed) {
    this.root = new RunLog(runId);
    /** @type {Map<string, RunLog>} */
    this.logs = new Map([[runId, this.root]]);
    this.changed = changed;
    /** @type {StreamState} */
    this.state = { kind: "connecting" };
    /** @type {Map<string, Stream>} */
    this.streams = new Map();
    /** @type {{record?: Rec, delta?: Delta}[]} */
    this.inbox = [];
    this.lane = 0;
    this.head = 0;
    this.version = 0;
    this.scheduled = false;
    this.abort = new AbortController();
    /** When the last record came to be known, for the banner of a lost stream. */
    this.lastCommit = "";
  }

  /** Read the run and its first page; throws `Problem` when there is none to show. */
  async open() {
    const { root } = this;
    const [meta, page] = await Promise.all([this.#read(root.path), this.#read(`${root.path}/records?limit=${FIRST_PAGE}`)]);
    root.meta = meta;
    root.large = page.next_cursor !== "";
    await this.#ingest(root, page);
    this.#touch();
    void this.#follow(page.next_cursor);
  }

  close() {
    this.abort.abort();
    for (const stream of this.streams.values()) stream.stop();
  }

  retry() {
    for (const stream of this.streams.values()) stream.retry();
  }

  /** Read a child run's records, once. @param {string} id */
  child(id) {
    let log = this.logs.get(id);
    if (!log) {
      log = new RunLog(id);
      this.logs.set(id, log);
      void this.#load(log);
    }
    return log;
  }

  /** @param {string} path @returns {Promise<any>} */
  #read(path) {
    return read(path, { signal: this.abort.signal });
  }

  /** @param {string} cursor where the first page ended, empty when it was all */
  async #follow(cursor) {
    const { root } = this;
    try {
      if (cursor) await this.#fill(root);
      root.complete = true;
      this.lane = root.records.at(-1)?.lane_seq ?? 0;
      this.#touch();
      this.#listen(root);
    } catch (fault) {
      if (this.abort.signal.aborted) return;
      root.fault = fault;
      this.#touch();
    }
  }

  /** @param {RunLog} log */
  async #load(log) {
    try {
      log.meta = await this.#read(log.path);
      await this.#fill(log);
      log.complete = true;
      this.#touch();
      this.#listen(log);
    } catch (fault) {
      log.fault = fault;
      this.#touch();
    }
  }

  /** Read pages until the run's end as of now, then what the stream brought early. @param {RunLog} log */
  #fill(log) {
    log.filling ??= this.#pages(log).finally(() => (log.filling = null));
    return log.filling;
  }

  /** @param {RunLog} log */
  async #pages(log) {
    for (let more = true; more; ) {
      const cursor = log.records.length ? `&cursor=${log.records.length}` : "";
      const page = await this.#read(`${log.path}/records?limit=${PAGE}${cursor}`);
      await this.#ingest(log, page);
      more = page.next_cursor !== "";
      if (more) log.large = true;
      this.#touch();
      // A record that came early was committed before a page read from now on: a hole takes one more page.
      if (!more && !log.takeEarly()) more = true;
    }
    this.#settle();
  }

  /** @param {RunLog} log @param {{records: Rec[]}} page */
  async #ingest(log, page) {
    for (let from = 0; from < page.records.length; from += STEP) {
      if (from) await new Promise((resolve) => setTimeout(resolve));
      for (const record of page.records.slice(from, from + STEP)) log.take(record, log.complete);
    }
    this.lastCommit = page.records.at(-1)?.committed_at ?? this.lastCommit;
  }

  /** One stream a page where there is a session: it carries the children too. @param {RunLog} log */
  #listen(log) {
    const session = this.root.meta?.session_id;
    const key = session ? "" : log.id;
    if (this.streams.has(key) || terminal(log.status)) return this.#settle();
    if (this.streams.size > MOST_CHILD_STREAMS) return;
    const cursor = () => (session ? this.lane : log.records.length);
    const stream = new Stream({
      path: () => `${session ? `/v1/sessions/${segment(session)}` : log.path}/stream?after=${cursor()}`,
      on: {
        head: ({ head }) => this.#atHead(head, cursor()),
        record: (record) => this.#soon({ record }),
        delta: (delta) => this.#soon({ delta }),
      },
      status: (state) => this.#status(log, state),
      probe: () => this.#read(log.path),
    });
    this.streams.set(key, stream);
    stream.start();
  }

  /** @param {number} head @param {number} cursor */
  #atHead(head, cursor) {
    this.head = head;
    this.#set(head > cursor ? { kind: "catching", left: head - cursor } : { kind: "live" });
  }

  /** @param {RunLog} log @param {StreamState} state */
  #status(log, state) {
    if (log === this.root || this.root.meta?.session_id) this.#set(state);
  }

  /** @param {StreamState} state */
  #set(state) {
    this.state = state;
    this.#touch();
  }

  /** @param {{record?: Rec, delta?: Delta}} item */
  #soon(item) {
    this.inbox.push(item);
    this.#schedule();
  }

  #schedule() {
    if (this.scheduled) return;
    this.scheduled = true;
    const apply = () => this.#apply();
    // No frames come while the tab is hidden.
    if (document.hidden) setTimeout(apply, 250);
    else requestAnimationFrame(apply);
  }

  #apply() {
    this.scheduled = false;
    const items = this.inbox.splice(0, STEP);
    for (const { record, delta } of items) {
      if (record) this.#record(record);
      if (delta) this.logs.get(delta.run_id)?.draft(delta);
    }
    if (this.inbox.length) this.#schedule();
    const left = this.head - (this.root.meta?.session_id ? this.lane : this.root.records.length);
    if (this.state.kind === "catching") this.state = left > 0 ? { kind: "catching", left } : { kind: "live" };
    this.#settle();
    this.#touch();
  }

  /** @param {Rec} record */
  #record(record) {
    if (this.root.meta?.session_id) this.lane = Math.max(this.lane, record.lane_seq);
    this.lastCommit = record.committed_at;
    const log = this.logs.get(record.run_id);
    if (!log || record.seq === 0) return;
    if (!log.filling && log.take(record, true)) return;
    log.early.set(record.seq, record);
    if (!log.filling) this.#fill(log).catch((fault) => (log.fault = fault));
  }

  /** Nothing more can come once the run and all children shown have ended. */
  #settle() {
    const logs = [...this.logs.values()];
    if (!this.root.complete || !logs.every((log) => terminal(log.status) || log.fault)) return;
    for (const stream of this.streams.values()) stream.stop();
    this.streams.clear();
    if (this.state.kind !== "purged" && this.state.kind !== "refused") this.state = { kind: "ended" };
  }

  #touch() {
    this.version += 1;
    this.changed();
  }
}
