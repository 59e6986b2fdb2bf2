/** @file Numbers, times and ids as the page writes them: two units at most, cut in the middle, never HTML. */

import { zone } from "./prefs.js";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** @param {number} n */
const two = (n) => String(n).padStart(2, "0");

/**
 * A length of time; `coarse` drops the tenth of a second, for a number that ticks.
 * @param {number} ms
 * @param {boolean} [coarse]
 */
export function duration(ms, coarse = false) {
  const t = Math.max(0, ms);
  if (t < SECOND && !coarse) return `${Math.round(t)} ms`;
  if (t < MINUTE) return coarse ? `${Math.floor(t / SECOND)} s` : `${(Math.floor(t / 100) / 10).toFixed(1)} s`;
  if (t < HOUR) return `${Math.floor(t / MINUTE)}m ${two(Math.floor((t % MINUTE) / SECOND))}s`;
  if (t < DAY) return `${Math.floor(t / HOUR)}h ${two(Math.floor((t % HOUR) / MINUTE))}m`;
  return `${Math.floor(t / DAY)}d ${two(Math.floor((t % DAY) / HOUR))}h`;
}

/** A place on the time axis: 0:30, 12:05, 1:04:00. @param {number} ms */
export function axis(ms) {
  const s = Math.round(ms / SECOND);
  const minutes = Math.floor(s / 60);
  if (ms > 0 && ms < 10 * SECOND && ms % SECOND) return `${(ms / SECOND).toFixed(ms % 100 ? 2 : 1)} s`;
  if (minutes < 60) return `${minutes}:${two(s % 60)}`;
  return `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${two(s % 60)}`;
}

/** The distance from the run's start: +0:04.304. @param {number} ms */
export function offset(ms) {
  const t = Math.abs(Math.round(ms));
  const rest = `${two(Math.floor((t % MINUTE) / SECOND))}.${String(t % SECOND).padStart(3, "0")}`;
  const hours = t >= HOUR ? `${Math.floor(t / HOUR)}:${two(Math.floor((t % HOUR) / MINUTE))}` : Math.floor(t / MINUTE);
  return `${ms < 0 ? "-" : "+"}${hours}:${rest}`;
}

/** @param {number} ms @param {number} now */
export function ago(ms, now) {
  const t = now - ms;
  if (t < 1500) return "now";
  if (t < MINUTE) return `${Math.floor(t / SECOND)}s ago`;
  if (t < HOUR) return `${Math.floor(t / MINUTE)}m ago`;
  return t < DAY ? `${Math.floor(t / HOUR)}h ago` : `${Math.floor(t / DAY)}d ago`;
}

/** @param {Date} d */
function parts(d) {
  return zone() === "utc"
    ? [d.getUTCFullYear(), d.getUTCMonth() + 1, d.getUTCDate(), d.getUTCHours(), d.getUTCMinutes(), d.getUTCSeconds()]
    : [d.getFullYear(), d.getMonth() + 1, d.getDate(), d.getHours(), d.getMinutes(), d.getSeconds()];
}

/** The time of day in the chosen zone. @param {number} ms @param {boolean} [fine] */
export function clock(ms, fine = false) {
  if (!Number.isFinite(ms)) return "";
  const d = new Date(ms);
  const [, , , h, m, s] = parts(d);
  const tail = fine ? `.${String(d.getUTCMilliseconds()).padStart(3, "0")}` : "";
  return `${two(h)}:${two(m)}:${two(s)}${tail}`;
}

/** Date and time with the zone's name, for a title. @param {number} ms */
export function moment(ms) {
  if (!Number.isFinite(ms)) return "";
  const [y, mo, day] = parts(new Date(ms));
  return `${y}-${two(mo)}-${two(day)} ${clock(ms, true)} ${zone() === "utc" ? "UTC" : "local time"}`;
}

/** @param {number} n */
export const count = (n) => n.toLocaleString("en-US");

/** A count in at most four signs: 940, 6.9k, 1.2M. @param {number} n */
export function short(n) {
  if (n < 1000) return String(n);
  if (n < 999_500) return n < 99_950 ? `${(n / 1000).toFixed(1)}k` : `${Math.round(n / 1000)}k`;
  return n < 99_950_000 ? `${(n / 1e6).toFixed(1)}M` : `${Math.round(n / 1e6)}M`;
}

/** @param {number} n */
export function bytes(n) {
  if (n < 1024) return `${n} B`;
  return n < 1024 * 1024 ? `${Math.round(n / 1024)} kB` : `${(n / 1024 / 1024).toFixed(1)} MB`;
}

/** An id that keeps its head and its tail. @param {string} id @param {number} [head] */
export function shortId(id, head = 8) {
  const signs = [...id];
  return signs.length <= head + 11 ? id : `${signs.slice(0, head).join("")}…${signs.slice(-10).join("")}`;
}

/** Any text as one line of bounded length. @param {string} text @param {number} [most] */
export function line(text, most = 240) {
  const flat = text.slice(0, most * 2).replace(/\s+/g, " ").trim();
  return flat.length > most ? `${flat.slice(0, most)}…` : flat;
}

/** `1 tool`, `3 tools`. @param {number} n @param {string} word @param {string} [plural] */
export const many = (n, word, plural = `${word}s`) => `${count(n)} ${n === 1 ? word : plural}`;
