/** @file The read API: one fetch, typed failures, the access token, and the server's clock. */

const TOKEN = "runlane.token";

/** A failure with the API's stable code, and whether trying again can help. */
export class Problem extends Error {
  /**
   * @param {number} status 0 when no answer came
   * @param {string} code
   * @param {boolean} retryable
   * @param {string} detail
   */
  constructor(status, code, retryable, detail) {
    super(detail);
    this.status = status;
    this.code = code;
    this.retryable = retryable;
  }
}

let token = sessionStorage.getItem(TOKEN) ?? "";
let skew = 0;
/** @type {(() => void)[]} */
const refusals = [];
/** @type {Promise<string> | undefined} */
let mode;

/** The server's clock, as far as a Date header tells; the reader's own may be off. */
export const now = () => Date.now() + skew;

/** @param {() => void} listener called when the API wants a (different) token */
export const onUnauthorized = (listener) => refusals.push(listener);

/** @param {string} given */
export function setToken(given) {
  token = given;
  sessionStorage.setItem(TOKEN, given);
}

/** An id as one path segment; `~` marks ids that URL software would drop. @param {string} id */
export const segment = (id) => encodeURIComponent(/^(~|\.{0,2}$)/.test(id) ? `~${id}` : id);

/** The id in an encoded path segment. @param {string} part */
export const unsegment = (part) => decodeURIComponent(part).replace(/^~/, "");

/** @param {Response} response */
function noteDate(response) {
  const server = Date.parse(response.headers.get("date") ?? "");
  const off = server + 500 - Date.now();
  if (Number.isFinite(off)) skew = Math.abs(off) > 2500 ? off : 0;
}

/** @param {Response} response */
async function problemOf(response) {
  /** @type {{code?: string, retryable?: boolean, detail?: string}} */
  const body = await response.json().catch(() => ({}));
  return new Problem(response.status, body.code ?? `http_${response.status}`, body.retryable ?? response.status >= 500, body.detail ?? "");
}

/**
 * The JSON answer of the API; throws `Problem`, or the abort of `signal`.
 * @param {string} path
 * @param {{method?: string, signal?: AbortSignal}} [options]
 * @returns {Promise<any>}
 */
export async function read(path, options = {}) {
  const headers = token ? { authorization: `Bearer ${token}` } : undefined;
  let response;
  try {
    response = await fetch(path, { ...options, headers, cache: "no-store" });
  } catch (fault) {
    if (options.signal?.aborted) throw fault;
    throw new Problem(0, "unreachable", true, "The gateway does not answer");
  }
  noteDate(response);
  if (response.ok) return response.json();
  if (response.status === 401) for (const listener of refusals) listener();
  throw await problemOf(response);
}

/** What to add to a stream's address: a ticket for one connect, or nothing where access is open. */
export async function ticket() {
  mode ??= read("/v1/access").then((body) => body.mode);
  mode.catch(() => (mode = undefined));
  if ((await mode) === "open") return "";
  return `ticket=${encodeURIComponent((await read("/v1/tickets", { method: "POST" })).ticket)}`;
}
