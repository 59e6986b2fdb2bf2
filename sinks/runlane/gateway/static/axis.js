/** @file The time axis: from an instant to a place in percent, the bars of rows, the strip of the whole run and its brush. */

import { axisLabel, duration } from "./text.js";
import { html, nothing, svg } from "./vendor/lit-html.js";

const STEPS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21_600, 86_400, 604_800].map((s) => s * 1000);
/** A gap is folded when nothing ran for this share of the run and this long. */
const IDLE_SHARE = 0.3;
const IDLE_LEAST = 60_000;
const FOLDED = 0.05;

/** @param {number} span */
const step = (span) => STEPS.find((s) => span / s <= 9) ?? 604_800_000;

/** The end of an axis that holds `span` and some room, so that it moves seldom while time goes on. @param {number} span */
export const roomy = (span) => Math.ceil((span * 1.04) / step(span)) * step(span);

/** Idle stretches worth folding. @param {number[][]} spans when something ran, sorted by start @param {number} total */
export function idle(spans, total) {
  const gaps = [];
  let busy = 0;
  for (const [from, to] of [...spans, [total, total]]) {
    if (from - busy > Math.max(IDLE_LEAST, total * IDLE_SHARE)) gaps.push([busy, from]);
    busy = Math.max(busy, to);
  }
  return gaps;
}

export class Scale {
  /** @param {number} from first millisecond shown @param {number} to the last one @param {number[][]} gaps stretches to fold */
  constructor(from, to, gaps) {
    this.from = from;
    this.to = to;
    this.gaps = gaps.map(([a, b]) => [Math.max(a, from), Math.min(b, to)]).filter(([a, b]) => b > a);
    const real = this.gaps.reduce((rest, [a, b]) => rest - b + a, to - from);
    this.fold = (Math.max(real, 1) * FOLDED) / (1 - FOLDED * this.gaps.length);
    this.width = real + this.fold * this.gaps.length || 1;
  }

  /** Percent of the axis, beyond 0 and 100 for what is out of view. @param {number} ms */
  at(ms) {
    const before = this.gaps.reduce((cut, [a, b]) => cut + Math.max(0, Math.min(1, (ms - a) / (b - a))) * (b - a - this.fold), 0);
    return ((ms - this.from - before) / this.width) * 100;
  }

  /** The instant at a share of the axis. @param {number} share 0 to 1 */
  invert(share) {
    let [low, high] = [this.from, this.to];
    for (let i = 0; i < 40; i += 1) {
      const middle = (low + high) / 2;
      if (this.at(middle) < share * 100) low = middle;
      else high = middle;
    }
    return low;
  }

  /** Whole steps inside the view, none inside a folded stretch. */
  ticks() {
    const s = step(this.width);
    const out = [];
    for (let t = Math.ceil(this.from / s) * s; t <= this.to; t += s) {
      const gap = this.gaps.find(([a, b]) => t > a && t < b);
      if (gap) t = Math.floor(gap[1] / s) * s;
      else out.push(t);
    }
    return out;
  }
}

/** @typedef {{scale: Scale, start: number, now: number}} Axis `start` is the run's, `now` the moment up to which the page knows */

/** @param {Axis} axis @param {number} ms */
const place = ({ scale, start }, ms) => Math.max(-2, Math.min(102, scale.at(ms - start)));

/** @param {Axis} axis @param {number} from @param {number} to @param {string} cls @param {number} y @param {number} height @param {string} [fill] */
function rect(axis, from, to, cls, y, height, fill) {
  const [a, b] = [place(axis, from), place(axis, to)];
  return b < -1 || a > 101 ? nothing : svg`<rect class=${cls} x="${a}%" y=${y} width="${Math.max(b - a, 0.15)}%" height=${height} fill=${fill ?? nothing}></rect>`;
}

/** Marks that keep their size at a place in percent. @param {number} x @param {unknown} marks */
const pin = (x, marks) => svg`<svg x="${x}%" overflow="visible">${marks}</svg>`;

/** A thin upright mark. @param {Axis} axis @param {number} at @param {string} cls @param {number} y @param {number} height */
const tick = (axis, at, cls, y, height) => pin(place(axis, at), svg`<rect class=${cls} x="-1" y=${y} width="2" height=${height}></rect>`);

/** Words behind the end of a bar, or before it where there is no room. @param {Axis} axis @param {number} from @param {number} to @param {string} cls @param {string} text */
function beside(axis, from, to, cls, text) {
  const [a, b] = [place(axis, from), place(axis, to)];
  const behind = b < 70;
  return b < 0 || a > 100 || (!behind && a < 30) ? nothing : pin(behind ? b : a, svg`<text class="on ${cls}" x=${behind ? 7 : -7} y="16" text-anchor=${behind ? "start" : "end"}>${text}</text>`);
}

/** @param {TreeNode} node */
const colour = ({ failed, kind }) => (failed ? "b-err" : kind === "wait" ? "b-hold" : kind === "tool" ? "b-tool" : kind === "child" ? "b-child" : "b-model");

/** @param {TreeNode} node @param {Axis} axis @param {boolean | null} open @param {number | null} end when it ended, null while it goes on @param {boolean} held whether a child run waits */
export function bar(node, axis, open, end, held) {
  const { kind, start } = node;
  const stop = end ?? axis.now;
  const edge = end === null ? tick(axis, axis.now, "b-now", 5, 14) : nothing;
  if (kind === "mark") return tick(axis, start, node.failed ? "b-err" : "b-mark", 7, 10);
  if (kind === "turn" || kind === "group") {
    // A closed row keeps the bars of its calls, a sample of them where there are very many.
    const every = Math.ceil(node.kids.length / 80);
    const kids = open ? [] : node.kids.filter((kid, i) => kid.kind !== "mark" && i % every === 0);
    return svg`${rect(axis, start, stop, "b-turn", 11, 2)}${kids.map((kid) => rect(axis, kid.start, kid.end ?? axis.now, colour(kid), 9, 6))}${tick(axis, start, "b-turn", 8, 8)}${end === null ? edge : tick(axis, stop, "b-turn", 8, 8)}`;
  }
  if (kind === "child") return svg`${held ? rect(axis, stop, axis.now, "b-held", 11.5, 1) : nothing}${rect(axis, start, stop, node.failed ? "b-child b-bad" : "b-child", 7.5, 9)}${edge}`;
  if (kind === "wait") return svg`${rect(axis, start, stop, "b-wait", 6.5, 11, "url(#hatch)")}${end === null ? beside(axis, start, stop, "suspended", node.note) : nothing}`;
  if (kind === "draft") return svg`${rect(axis, start, axis.now, "b-draft", 7.5, 9)}${edge}`;
  return svg`${rect(axis, start, stop, colour(node), 7, 10)}${node.failed ? beside(axis, start, stop, "failed", `${node.note} ${duration(stop - start)}`) : nothing}${edge}`;
}

const SLOTS = 24;
const LAYERS = ["b-child", "b-model", "b-tool", "b-hold", "b-err"];

/**
 * The whole run as one path a colour. Spans that share a slot and touch become one, so the size depends on the strip and not on the run.
 * @param {TreeNode[]} leaves in the order of the rows @param {Axis} axis
 */
export function strip(leaves, axis) {
  /** @type {Map<number, number[][]>} */
  const cells = new Map();
  leaves.forEach((node, i) => {
    const key = LAYERS.indexOf(colour(node)) * SLOTS + Math.floor((i / leaves.length) * SLOTS);
    const from = Math.floor(place(axis, node.start) * 10);
    const to = Math.max(from + 2, Math.ceil(place(axis, node.end ?? axis.now) * 10));
    const spans = cells.get(key) ?? [];
    const last = spans.at(-1);
    if (last && from <= last[1] + 1) last[1] = Math.max(last[1], to);
    else spans.push([from, to]);
    cells.set(key, spans);
  });
  const out = LAYERS.map(() => "");
  for (const [key, spans] of cells) {
    const layer = Math.floor(key / SLOTS);
    const tall = layer > 2 ? 3 : 1.6;
    for (const [from, to] of spans) out[layer] += `M${from} ${(3 + (key % SLOTS) * 1.4).toFixed(1)}h${to - from}v${tall}h${from - to}z`;
  }
  return out;
}

/** The strip and the window into it that a reader drags. */
export class Overview {
  /** @param {(window: number[] | null) => void} choose told the window in ms from the start, null for all */
  constructor(choose) {
    this.choose = choose;
    /** @type {{pan: boolean, at: number, window: number[]} | null} */
    this.drag = null;
  }

  /**
   * @param {string[]} drawn @param {Scale} whole @param {Scale} view
   * @param {number[] | null} window @param {number} now in ms from the start, NaN when the run has ended
   */
  template(drawn, whole, view, window, now) {
    const [a, b] = (window ?? [0, Math.min(whole.to, now || whole.to)]).map((ms) => whole.at(ms));
    const grip = (/** @type {number} */ x) => pin(x, svg`<rect class="grip" x="-3" y="12" width="6" height="16" rx="1.5"></rect>`);
    const veil = (/** @type {number} */ x, /** @type {number} */ width) => svg`<rect class="veil" x="${x}%" width="${Math.max(0, width)}%" height="40"></rect>`;
    return html`<div class="map" @pointerdown=${(/** @type {PointerEvent} */ e) => this.#down(e, whole, window)} @pointermove=${(/** @type {PointerEvent} */ e) => this.#move(e, whole)} @pointerup=${() => (this.drag = null)} @dblclick=${() => this.choose(null)}>
      <svg class="strip" height="40" viewBox="0 0 1000 40" preserveAspectRatio="none" role="img" aria-label="The run from 0:00 to ${axisLabel(whole.to)}: drag, plus and minus zoom, 0 shows all">${LAYERS.map((cls, i) => svg`<path class=${cls} d=${drawn[i]}></path>`)}</svg>
      <svg class="brushes" height="40" aria-hidden="true">${veil(0, a)}${veil(b, 100 - b)}<rect class="brush" x="${a}%" y=".5" width="${Math.max(0.2, b - a)}%" height="39"></rect>${grip(a)}${grip(b)}</svg>
      <svg height="20" aria-hidden="true">${view.ticks().map((t, i) => {
        const x = view.at(t);
        return Math.abs(x - view.at(now)) < 9 ? nothing : svg`<text class=${i % 2 ? "odd" : ""} x="${x}%" y="13" text-anchor=${x < 3 ? "start" : x > 97 ? "end" : "middle"}>${axisLabel(t)}</text>`;
      })}${view.gaps.map(([from, to]) => svg`<text x="${view.at((from + to) / 2)}%" y="13" text-anchor="middle">${duration(to - from)}</text>`)}${view.at(now) <= 100 ? svg`<text class="n" x="${view.at(now)}%" y="13" text-anchor="middle">now</text>` : nothing}</svg>
    </div>`;
  }

  /** The instant under the pointer. @param {PointerEvent} event @param {Scale} whole */
  #under(event, whole) {
    const { left, width } = /** @type {Element} */ (event.currentTarget).children[0].getBoundingClientRect();
    return { at: whole.invert(Math.max(0, Math.min(1, (event.clientX - left) / width))), pixel: (whole.to - whole.from) / width };
  }

  /** @param {PointerEvent} event @param {Scale} whole @param {number[] | null} window */
  #down(event, whole, window) {
    /** @type {Element} */ (event.currentTarget).setPointerCapture(event.pointerId);
    const { at, pixel } = this.#under(event, whole);
    const [from, to] = window ?? [0, 0];
    // A grip drags its edge against the other one; inside the window the whole of it moves.
    if (window && Math.abs(at - from) < 8 * pixel) this.drag = { pan: false, at: to, window };
    else if (window && Math.abs(at - to) < 8 * pixel) this.drag = { pan: false, at: from, window };
    else this.drag = { pan: at > from && at < to, at, window: window ?? [] };
  }

  /** @param {PointerEvent} event @param {Scale} whole */
  #move(event, whole) {
    if (!this.drag) return;
    const { at, pixel } = this.#under(event, whole);
    const { pan, at: anchor, window } = this.drag;
    const by = Math.max(-window[0], Math.min(whole.to - window[1], at - anchor));
    if (pan) this.choose(window.map((ms) => ms + by));
    else if (Math.abs(at - anchor) > 4 * pixel) this.choose([Math.min(at, anchor), Math.max(at, anchor)]);
  }
}
