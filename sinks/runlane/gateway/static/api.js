/** @file The gateway: reads with typed failures, the access token, the server's clock, and streams that reopen themselves. */

const TOKEN = "runlane.token";
const FIRST_DELAY = 1000;
const LONGEST_DELAY = 8000;
const LOST_AFTER = 60_000;

/** A failure with the API's stable code, and whether trying again can help; `status` is 0 when no answer came. */
export class Problem extends Error {
  /** @param {number} status @param {string} code @param {boolean} retryable */
  constructor(status, code, retryable) {
    super(code);
    this.status = status;
    this.code = code;
    this.retryable = retryable;
  }
}

let skew = 0;
/** @type {Promise<string> | undefined} */
let mode;

/** What the page does when the API wants a (different) token. @type {{ask: () => void}} */
export const access = { ask: () => {} };

/** The server's clock, as far as a Date header tells; the reader's own may be off. */
export const now = () => Date.now() + skew;

/** @param {string} token */
export const setToken = (token) => sessionStorage.setItem(TOKEN, token);

/** An id as one path segment; `~` marks ids that URL software would drop. @param {string} id */
export const segment = (id) => encodeURIComponent(/^(~|(\.{0,2}|stream)$)/.test(id) ? `~${id}` : id);

/** The id in an encoded path segment. @param {string} part */
export const unsegment = (part) => decodeURIComponent(part).replace(/^~/, "");

/**
 * The JSON answer of the API; throws `Problem`, or the abort of `signal`.
 * @param {string} path
 * @param {{method?: string, signal?: AbortSignal}} [options]
 * @returns {Promise<any>}
 */
export async function read(path, options = {}) {
  const token = sessionStorage.getItem(TOKEN);
  let response;
  try {
    response = await fetch(path, { ...options, headers: token ? { authorization: `Bearer ${token}` } : {}, cache: "no-store" });
  } catch (fault) {
    if (options.signal?.aborted) throw fault;
    throw new Problem(0, "unreachable", true);
  }
  const off = Date.parse(response.headers.get("date") ?? "") + 500 - Date.now();
  skew = Math.abs(off) > 2500 ? off : 0;
  if (response.ok) return response.json();
  if (response.status === 401) access.ask();
  const body = await response.json().catch(() => ({}));
  throw new Problem(response.status, body.code ?? `http_${response.status}`, body.retryable ?? response.status >= 500);
}

/** What to add to a stream's address: a ticket for one connect, or nothing where access is open. */
async function ticket() {
  mode ??= read("/v1/access").then((body) => body.mode);
  mode.catch(() => (mode = undefined));
  return (await mode) === "open" ? "" : `ticket=${encodeURIComponent((await read("/v1/tickets", { method: "POST" })).ticket)}`;
}

/** One event stream that outlives its connections: each is opened with a fresh ticket after the last cursor. */
export class Stream {
  /**
   * @param {() => string} path address with the cursor to resume after
   * @param {Record<string, (data: any) => void>} on what to do with each event, `head` among them
   * @param {(state: StreamState) => void} status told of every change of the connection
   * @param {() => Promise<unknown>} [probe] a read that says why a connect was refused
   */
  constructor(path, on, status, probe = async () => {}) {
    this.path = path;
    this.on = on;
    this.status = status;
    this.probe = probe;
    /** @type {EventSource | undefined} */
    this.source = undefined;
    this.tries = 0;
    this.since = 0;
    this.timer = 0;
    this.online = () => this.timer && this.retry();
    addEventListener("online", this.online);
    this.retry();
  }

  /** Open now instead of when the back-off ends. */
  retry() {
    clearTimeout(this.timer);
    this.timer = 0;
    void this.#open();
  }

  stop() {
    clearTimeout(this.timer);
    removeEventListener("online", this.online);
    this.source?.close();
    this.status = () => {};
    this.on = {};
    this.timer = -1;
  }

  async #open() {
    try {
      const pass = await ticket();
      if (this.timer) return;
      const path = this.path();
      this.#listen(new EventSource(pass ? `${path}${path.includes("?") ? "&" : "?"}${pass}` : path));
    } catch (fault) {
      this.#broken(fault);
    }
  }

  /** @param {EventSource} source */
  #listen(source) {
    this.source = source;
    let opened = false;
    source.onopen = () => (opened = true);
    // The browser would reconnect with a used ticket and an old cursor, so every break is answered here.
    source.onerror = () => {
      source.close();
      if (opened) this.#broken();
      else this.probe().then(() => this.#broken(), (fault) => this.#broken(fault));
    };
    for (const name of Object.keys(this.on)) {
      source.addEventListener(name, ({ data }) => {
        this.tries = this.since = 0;
        this.on[name]?.(JSON.parse(data));
      });
    }
    const finish = (/** @type {"ended" | "purged"} */ kind) => {
      this.status({ kind });
      this.stop();
    };
    source.addEventListener("end", () => finish("ended"));
    source.addEventListener("purged", () => finish("purged"));
    source.addEventListener("lagged", () => {
      source.close();
      this.retry();
    });
  }

  /** @param {unknown} [fault] */
  #broken(fault) {
    if (fault instanceof Problem && !fault.retryable) {
      this.status({ kind: fault.status === 410 ? "purged" : "refused" });
      return this.stop();
    }
    if (this.timer) return;
    this.tries += 1;
    this.since ||= Date.now();
    const lost = Date.now() - this.since > LOST_AFTER;
    const delay = Math.min(FIRST_DELAY * 2 ** (this.tries - 1), LONGEST_DELAY) * (0.8 + Math.random() * 0.4);
    this.status({ kind: lost ? "lost" : "waiting", attempt: this.tries, until: Date.now() + delay });
    this.timer = setTimeout(() => this.retry(), delay);
  }
}
