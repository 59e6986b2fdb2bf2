/** @file One server-sent event stream that outlives its connections: it reopens itself after its cursor. */

import { Problem, ticket } from "./api.js";

const FIRST_DELAY = 1000;
const LONGEST_DELAY = 8000;
const LOST_AFTER = 60_000;
const LOST_DELAY = 20_000;

/**
 * @typedef {object} Handlers
 * @property {() => string} path address with the cursor to resume after
 * @property {Record<string, (data: any) => void>} on what to do with each event; `head` among them
 * @property {(state: StreamState) => void} status told of every change of the connection
 * @property {() => Promise<unknown>} [probe] a read that says why a connect was refused
 */

export class Stream {
  /** @param {Handlers} handlers */
  constructor(handlers) {
    this.handlers = handlers;
    /** @type {EventSource | undefined} */
    this.source = undefined;
    this.attempt = 0;
    this.since = 0;
    this.timer = 0;
    this.done = false;
    this.generation = 0;
    this.back = () => this.#hurry();
    addEventListener("online", this.back);
    this.away = () => this.source && this.#broken(this.generation);
    addEventListener("offline", this.away);
  }

  start() {
    this.handlers.status({ kind: "connecting" });
    void this.#open();
  }

  /** Reopen at once instead of when the back-off ends. */
  retry() {
    this.attempt = 0;
    this.#hurry();
  }

  stop() {
    this.done = true;
    this.#drop();
    clearTimeout(this.timer);
    removeEventListener("online", this.back);
    removeEventListener("offline", this.away);
  }

  #hurry() {
    if (this.done || this.source || !this.timer) return;
    clearTimeout(this.timer);
    void this.#open();
  }

  #drop() {
    this.generation += 1;
    this.source?.close();
    this.source = undefined;
  }

  async #open() {
    this.timer = 0;
    this.#drop();
    const mine = this.generation;
    try {
      const pass = await ticket();
      if (this.done || mine !== this.generation) return;
      const path = this.handlers.path();
      this.#listen(new EventSource(pass ? `${path}${path.includes("?") ? "&" : "?"}${pass}` : path), mine);
    } catch (fault) {
      if (fault instanceof Problem && !fault.retryable) this.#finish({ kind: "refused", problem: fault });
      else this.#broken(mine);
    }
  }

  /** @param {EventSource} source @param {number} mine */
  #listen(source, mine) {
    this.source = source;
    let opened = false;
    source.onopen = () => (opened = true);
    // The browser would reconnect with a used ticket and an old cursor, so every break is answered here.
    source.onerror = () => (opened ? this.#broken(mine) : void this.#refused(mine));
    for (const [name, handle] of Object.entries(this.handlers.on)) {
      source.addEventListener(name, (event) => {
        if (mine !== this.generation) return;
        if (name === "head") this.attempt = this.since = 0;
        handle(JSON.parse(event.data));
      });
    }
    source.addEventListener("lagged", () => {
      if (mine !== this.generation) return;
      this.handlers.status({ kind: "connecting" });
      void this.#open();
    });
    source.addEventListener("end", () => mine === this.generation && this.#finish({ kind: "ended" }));
    source.addEventListener("purged", () => mine === this.generation && this.#finish({ kind: "purged" }));
  }

  /** @param {number} mine */
  async #refused(mine) {
    if (mine !== this.generation) return;
    this.source?.close();
    try {
      await this.handlers.probe?.();
    } catch (fault) {
      if (fault instanceof Problem && !fault.retryable && mine === this.generation) {
        this.#finish({ kind: fault.status === 410 ? "purged" : "refused", problem: fault });
        return;
      }
    }
    this.#broken(mine);
  }

  /** @param {number} mine */
  #broken(mine) {
    if (this.done || mine !== this.generation) return;
    this.#drop();
    this.attempt += 1;
    this.since ||= Date.now();
    const lost = Date.now() - this.since > LOST_AFTER;
    const delay = lost ? LOST_DELAY : Math.min(FIRST_DELAY * 2 ** (this.attempt - 1), LONGEST_DELAY);
    const jittered = delay * (0.8 + Math.random() * 0.4);
    this.handlers.status({ kind: lost ? "lost" : "waiting", attempt: this.attempt, until: Date.now() + jittered });
    this.timer = setTimeout(() => void this.#open(), jittered);
  }

  /** @param {StreamState} state */
  #finish(state) {
    this.stop();
    this.handlers.status(state);
  }
}
