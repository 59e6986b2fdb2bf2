/** @file JSON as text: pretty print and colour without parsing, so every number and escape stays as written. */

import { html } from "../vendor/lit-html.js";

const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

/** A payload's JSON, or undefined; numbers lose precision here, so it serves labels and never the raw view. @param {string} text @returns {any} */
export function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** @param {string} text @returns {{text: string, kind: "" | "k" | "v"}[]} pieces, whitespace included */
export function pretty(text) {
  const tokens = text.match(TOKEN) ?? [];
  /** @type {{text: string, kind: "" | "k" | "v"}[]} */
  const out = [];
  let plain = "";
  let depth = 0;
  const put = (/** @type {string} */ token, /** @type {"k" | "v"} */ kind) => {
    if (plain) out.push({ text: plain, kind: "" });
    plain = "";
    out.push({ text: token, kind });
  };
  const newline = () => (plain += `\n${"  ".repeat(depth)}`);
  for (let i = 0; i < tokens.length; i += 1) {
    const token = tokens[i];
    const closes = tokens[i + 1] === "}" || tokens[i + 1] === "]";
    if (token === "{" || token === "[") {
      plain += token;
      if (!closes) {
        depth += 1;
        newline();
      }
    } else if (token === "}" || token === "]") {
      if (tokens[i - 1] !== "{" && tokens[i - 1] !== "[") {
        depth -= 1;
        newline();
      }
      plain += token;
    } else if (token === ",") {
      plain += token;
      newline();
    } else if (token === ":") plain += ": ";
    else put(token, tokens[i + 1] === ":" ? "k" : "v");
  }
  if (plain) out.push({ text: plain, kind: "" });
  return out;
}

/** @param {string} text */
export const prettyText = (text) => pretty(text).map((piece) => piece.text).join("");

/** Pretty JSON for a `pre`, coloured up to `most` characters and plain beyond. @param {string} text */
export function block(text, most = 20_000) {
  if (text.length > most) return html`${prettyText(text)}`;
  return pretty(text).map((piece) => (piece.kind ? html`<span class=${piece.kind}>${piece.text}</span>` : piece.text));
}
