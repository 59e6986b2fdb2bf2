/** @file Text as the page writes it: numbers and times with two units at most, ids cut in the middle, JSON as it was spelled. */

const SECOND = 1000;
export const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** What the reader chose for this browser; `local` or `utc`, `light`, `dark` or nothing. */
export const prefs = { zone: localStorage.getItem("runlane.zone") ?? "utc", theme: localStorage.getItem("runlane.theme") ?? "" };

/** @param {"zone" | "theme"} key @param {string} value */
export function prefer(key, value) {
  prefs[key] = value;
  localStorage.setItem(`runlane.${key}`, value);
}

/** @param {number} n */
const two = (n) => String(Math.floor(n)).padStart(2, "0");

/**
 * A length of time; `coarse` drops the tenth of a second, for a number that ticks.
 * @param {number} ms
 * @param {boolean} [coarse]
 */
export function duration(ms, coarse = false) {
  const t = Math.max(0, ms);
  if (t < SECOND && !coarse) return `${Math.round(t)} ms`;
  if (t < MINUTE) return `${coarse ? Math.floor(t / SECOND) : (Math.floor(t / 100) / 10).toFixed(1)} s`;
  if (t < HOUR) return `${Math.floor(t / MINUTE)}m ${two((t % MINUTE) / SECOND)}s`;
  if (t < DAY) return `${Math.floor(t / HOUR)}h ${two((t % HOUR) / MINUTE)}m`;
  return `${Math.floor(t / DAY)}d ${two((t % DAY) / HOUR)}h`;
}

/** A place on the time axis: 0:30, 1:04:00, with `fine` 0:04.304. @param {number} ms @param {boolean} [fine] */
export function axisLabel(ms, fine = false) {
  const t = Math.max(0, Math.round(ms));
  const tail = fine || t % SECOND ? `.${String(t % SECOND).padStart(3, "0")}` : "";
  const minutes = Math.floor((t % HOUR) / MINUTE);
  return `${t < HOUR ? minutes : `${Math.floor(t / HOUR)}:${two(minutes)}`}:${two((t % MINUTE) / SECOND)}${tail}`;
}

/** @param {number} ms @param {number} now */
export function ago(ms, now) {
  const t = now - ms;
  if (t < 1500) return "now";
  if (t < MINUTE) return `${Math.floor(t / SECOND)}s ago`;
  if (t < HOUR) return `${Math.floor(t / MINUTE)}m ago`;
  return t < DAY ? `${Math.floor(t / HOUR)}h ago` : `${Math.floor(t / DAY)}d ago`;
}

/** Date and time in the chosen zone: 2026-04-14 14:02:15.784. @param {number} ms */
export function moment(ms) {
  if (!Number.isFinite(ms)) return "";
  const off = prefs.zone === "utc" ? 0 : new Date(ms).getTimezoneOffset() * MINUTE;
  return new Date(ms - off).toISOString().slice(0, -1).replace("T", " ");
}

/** The time of day in the chosen zone. @param {number} ms @param {boolean} [fine] */
export const clock = (ms, fine = false) => moment(ms).slice(11, fine ? 23 : 19);

const grouped = new Intl.NumberFormat("en-US");
/** @param {number} n */
export const count = (n) => grouped.format(n);

/** A count in at most four signs: 940, 6.9k, 1.2M. @param {number} n */
export const short = (n) => (n < 1000 ? String(n) : n < 1e6 ? `${(n / 1000).toFixed(n < 1e5 ? 1 : 0)}k` : `${(n / 1e6).toFixed(1)}M`);

/** @param {number} n */
export const bytes = (n) => (n < 1024 ? `${n} B` : `${count(Math.round(n / 1024))} kB`);

/** An id that keeps its head and its tail. @param {string} id @param {number} [head] */
export function shortId(id, head = 0) {
  const signs = [...id];
  return signs.length <= head + 11 ? id : `${signs.slice(0, head).join("")}…${signs.slice(-10).join("")}`;
}

/** Any text as one line of bounded length. @param {string} text @param {number} [most] */
export function line(text, most = 240) {
  const flat = text.slice(0, most * 2).replace(/\s+/g, " ").trim();
  return flat.length > most ? `${flat.slice(0, most)}…` : flat;
}

/** The query part of an address: every value that says something; a list says its name again and again. @param {Record<string, any>} facts */
export function query(facts) {
  const pairs = Object.entries(facts).flatMap(([name, value]) => [value].flat().filter(Boolean).map((one) => [name, String(one)]));
  return pairs.length ? `?${new URLSearchParams(pairs)}` : "";
}

/** `1 tool`, `3 tools`. @param {number} n @param {string} word @param {string} [plural] */
export const many = (n, word, plural = `${word}s`) => `${count(n)} ${n === 1 ? word : plural}`;

/** A payload's JSON, or undefined; numbers lose precision, so it serves labels and never the raw view. @param {string} text @returns {any} */
export function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The text of a JSON value that may be anything. @param {unknown} value @returns {string} */
export const str = (value) => (value === null || value === undefined || typeof value === "object" ? "" : String(value));

/** @param {unknown} value @returns {Record<string, any>} */
export const object = (value) => (value !== null && typeof value === "object" && !Array.isArray(value) ? /** @type {Record<string, any>} */ (value) : {});

/** @param {unknown} value @returns {any[]} */
export const list = (value) => (Array.isArray(value) ? value : []);

/** @param {unknown} value */
export const positive = (value) => (typeof value === "number" && value > 0 && value < Number.POSITIVE_INFINITY ? value : 0);

/** Any JSON value in one line. @param {unknown} value */
export function brief(value) {
  if (value === undefined || value === null) return "";
  if (typeof value === "string") return line(value);
  const words = Object.entries(object(value)).filter(([, v]) => typeof v !== "object");
  return line(words.length ? words.map(([k, v]) => `${k}=${str(v)}`).join(" ") : JSON.stringify(value));
}

const TOKENS = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

/** JSON laid out without being parsed, so numbers and escapes stay. @param {string} text */
export function pretty(text) {
  const tokens = text.match(TOKENS) ?? [];
  let out = "";
  let depth = 0;
  tokens.forEach((token, i) => {
    const close = /^[}\]]/.test(token);
    if (close) depth -= 1;
    if (i && (/^[{[]/.test(tokens[i - 1]) ? !close : close || tokens[i - 1] === ",")) out += `\n${"  ".repeat(depth)}`;
    if (/^[{[]/.test(token)) depth += 1;
    out += token === ":" ? ": " : token;
  });
  return out;
}

/** The exact JSON text of one key of an object, numbers as spelled; empty when it has none. @param {string} text @param {string} key */
export function textAt(text, key) {
  let depth = 0;
  let from = -1;
  let before = "";
  for (const match of text.matchAll(TOKENS)) {
    const [token] = match;
    if (from >= 0 && depth === 1 && (token === "," || token === "}")) return text.slice(from, match.index).trim();
    if (token === "{" || token === "[") depth += 1;
    if (token === "}" || token === "]") depth -= 1;
    if (from < 0 && depth === 1 && token === ":" && before === JSON.stringify(key)) from = match.index + 1;
    before = token;
  }
  return "";
}
