/** @file Reading payloads that may hold anything: every helper gives text, a number or an empty value, never throws. */

import { line } from "../lib/format.js";

/** @param {unknown} value @returns {string} */
export const str = (value) => (typeof value === "string" ? value : typeof value === "number" || typeof value === "boolean" ? String(value) : "");

/** @param {unknown} value @returns {Record<string, any>} */
export const object = (value) => (value !== null && typeof value === "object" && !Array.isArray(value) ? /** @type {Record<string, any>} */ (value) : {});

/** @param {unknown} value @returns {any[]} */
export const itemsOf = (value) => (Array.isArray(value) ? value : []);

/** @param {unknown} value */
export const count = (value) => (typeof value === "number" && Number.isFinite(value) && value > 0 ? value : 0);

/** Any JSON value in one line. @param {unknown} value */
export function brief(value) {
  if (value === undefined || value === null) return "";
  if (typeof value === "string") return line(value);
  const words = Object.entries(object(value)).filter(([, v]) => typeof v !== "object");
  return words.length ? line(words.slice(0, 6).map(([k, v]) => `${k}=${str(v)}`).join(" ")) : line(JSON.stringify(value).slice(0, 500));
}

/** @param {Record<string, any>} p payload of a usage record */
export const tokensOf = (p) => count(p.TotalTokens) || count(p.InputTokens) + count(p.OutputTokens);

/** @param {unknown} failure @returns {{kind: string, message: string, action: string} | null} */
export function failureOf(failure) {
  if (failure === undefined || failure === null) return null;
  const f = object(failure);
  return { kind: str(f.kind) || "failed", message: str(object(f.error).message), action: str(object(f.recovery).action) };
}

/** What the assistant said in a list of transcript messages. @param {unknown} messages */
export function said(messages) {
  const words = [];
  for (const message of itemsOf(messages).map(object)) {
    if (message.role !== "assistant") continue;
    for (const part of itemsOf(message.parts).map(object)) {
      if ((part.kind === "text" || part.kind === "citations") && str(part.text)) words.push(str(part.text));
    }
  }
  return words.join("\n\n");
}
