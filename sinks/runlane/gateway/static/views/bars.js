/** @file A row's bar on the time axis; places are percent in attributes, as the policy allows no inline style. */

import { duration } from "../lib/format.js";
import { nothing, svg } from "../vendor/lit-html.js";

const MOST_INSIDE = 80;
const THIN = 0.15;

/**
 * @typedef {object} Axis
 * @property {import("../model/scale.js").Scale} scale
 * @property {number} start the run's start
 * @property {number} now the moment up to which the page knows
 */

/** @param {Axis} axis @param {number} ms */
const place = (axis, ms) => Math.max(-2, Math.min(102, axis.scale.at(ms - axis.start)));

/** @param {number} n */
const percent = (n) => `${n.toFixed(3)}%`;

/** @param {Axis} axis @param {number} from @param {number} to @param {string} cls @param {number} y @param {number} height @param {string} [fill] */
function rect(axis, from, to, cls, y, height, fill = "") {
  const a = place(axis, from);
  const b = place(axis, to);
  if (b < -1 || a > 101) return nothing;
  return svg`<rect class=${cls} x=${percent(a)} y=${y} width=${percent(Math.max(b - a, THIN))} height=${height} fill=${fill || nothing}></rect>`;
}

/** A thin upright mark. @param {Axis} axis @param {number} at @param {string} cls @param {number} y @param {number} height @param {number} [width] */
function tick(axis, at, cls, y, height, width = 2) {
  const a = place(axis, at);
  return a < -1 || a > 101 ? nothing : svg`<svg x=${percent(a)} overflow="visible"><rect class=${cls} x=${-width / 2} y=${y} width=${width} height=${height}></rect></svg>`;
}

/** Words beside the end of a bar, before it where there is no room behind. @param {Axis} axis @param {number} from @param {number} to @param {string} cls @param {string} text */
function beside(axis, from, to, cls, text) {
  const [a, b] = [place(axis, from), place(axis, to)];
  if (b < 0 || a > 100 || !text) return nothing;
  const behind = b < 70;
  const inFront = !behind && a > 30;
  if (!behind && !inFront) return nothing;
  return svg`<svg x=${percent(behind ? b : a)} overflow="visible"><text class="on ${cls}" x=${behind ? 7 : -7} y="16" text-anchor=${behind ? "start" : "end"}>${text}</text></svg>`;
}

/** @param {Node} node */
const kindClass = (node) => (node.failed ? "b-err" : node.kind === "tool" ? "b-tool" : node.kind === "wait" ? "b-hold" : "b-model");

/** The calls of a closed row, small on its line. @param {Axis} axis @param {Node} node */
function inside(axis, node) {
  const kids = node.kids.filter((kid) => kid.kind !== "mark");
  const every = Math.max(1, Math.ceil(kids.length / MOST_INSIDE));
  return kids.filter((kid, i) => i % every === 0 || kid.failed).slice(0, MOST_INSIDE * 2).map((kid) => rect(axis, kid.start, kid.end ?? axis.now, kid.kind === "child" ? "b-child" : kindClass(kid), 9, 6));
}

/**
 * @param {Node} node
 * @param {Axis} axis
 * @param {{open: boolean | null, end: number | null, child: string}} state whether the row is open, when it ended if it did, the child run's status
 */
export function bar(node, axis, { open, end, child }) {
  const stop = end ?? axis.now;
  const edge = end === null ? tick(axis, axis.now, "b-now", 5, 14, 3) : nothing;
  switch (node.kind) {
    case "mark":
      return tick(axis, node.start, node.failed ? "b-err" : "b-mark", 7, 10);
    case "turn":
    case "group":
      return svg`${rect(axis, node.start, stop, "b-turn", 11, 2)}${open ? nothing : inside(axis, node)}${node.kind === "turn" ? svg`${tick(axis, node.start, "b-turn", 8, 8)}${end === null ? edge : tick(axis, stop, "b-turn", 8, 8)}` : edge}`;
    case "child":
      return svg`${child === "suspended" ? svg`<line class="b-wait" stroke-dasharray="2 3" x1=${percent(place(axis, stop))} x2=${percent(place(axis, axis.now))} y1="12" y2="12"></line>` : nothing}${rect(axis, node.start, stop, node.failed ? "b-child b-bad" : "b-child", 7.5, 9)}${edge}`;
    case "wait":
      return svg`${rect(axis, node.start, stop, "b-wait", 6.5, 11, "url(#hatch)")}${end === null ? beside(axis, node.start, stop, "suspended", node.note) : nothing}`;
    case "draft":
      return svg`${rect(axis, node.start, axis.now, "b-draft", 7.5, 9)}${edge}`;
    default:
      return svg`${rect(axis, node.start, stop, kindClass(node), 7, 10)}${node.failed ? beside(axis, node.start, stop, "failed", `${node.note} ${duration(stop - node.start)}`) : nothing}${edge}`;
  }
}
