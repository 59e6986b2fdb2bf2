/** @file The whole run in one strip, and the window into it that a reader drags. */

import { axis as label, duration } from "../lib/format.js";
import { html, nothing, svg } from "../vendor/lit-html.js";

const WIDE = 1000;
const SLOTS = 24;
const TALL = 38;
const NEAR = 8;
const CLASSES = ["b-turn", "b-model", "b-tool", "b-hold", "b-err"];

/** @typedef {import("../model/scale.js").Scale} Scale */

/** @param {Node} node */
const layer = (node) => (node.failed ? 4 : node.kind === "wait" ? 3 : node.kind === "tool" ? 2 : node.kind === "child" ? 0 : 1);

/**
 * One path a colour: spans that share a slot and touch become one, so its size depends on the strip, not on the run.
 * @param {Node[]} leaves in the order of the rows
 * @param {Scale} scale @param {number} start @param {number} now
 */
export function paths(leaves, scale, start, now) {
  /** @type {Map<number, [number, number][]>} */
  const cells = new Map();
  leaves.forEach((node, i) => {
    const key = layer(node) * SLOTS + Math.floor((i / leaves.length) * SLOTS);
    const from = Math.floor(scale.at(node.start - start) * 10);
    const to = Math.max(from + 2, Math.ceil(scale.at((node.end ?? now) - start) * 10));
    const spans = cells.get(key) ?? [];
    const last = spans.at(-1);
    if (last && from <= last[1] + 1) last[1] = Math.max(last[1], to);
    else spans.push([from, to]);
    cells.set(key, spans);
  });
  const out = CLASSES.map(() => "");
  for (const [key, spans] of cells) {
    const kind = Math.floor(key / SLOTS);
    const y = 2 + ((key % SLOTS) / SLOTS) * (TALL - 4);
    const h = kind > 2 ? 3 : 1.6;
    for (const [from, to] of spans) out[kind] += `M${from} ${y.toFixed(1)}h${to - from}v${h}h${from - to}z`;
  }
  return out;
}

export class Overview {
  /** @param {(window: [number, number] | null) => void} choose told the window in ms from the start, null for all */
  constructor(choose) {
    this.choose = choose;
    /** @type {{mode: string, at: number, from: number, to: number} | null} */
    this.drag = null;
    /** @type {Scale | null} */
    this.scale = null;
    /** @type {[number, number] | null} */
    this.window = null;
  }

  /**
   * @param {string[]} drawn
   * @param {Scale} whole
   * @param {[number, number] | null} window
   * @param {{now: number, live: boolean, view: Scale}} rest
   */
  template(drawn, whole, window, { now, live, view }) {
    this.scale = whole;
    this.window = window;
    const [a, b] = window ? [whole.at(window[0]), whole.at(window[1])] : [0, whole.at(live ? now : whole.to)];
    const at = view.at(now);
    return html`<div class="map" @pointerdown=${(/** @type {PointerEvent} */ e) => this.#down(e)} @pointermove=${(/** @type {PointerEvent} */ e) => this.#move(e)} @pointerup=${() => (this.drag = null)} @pointercancel=${() => (this.drag = null)} @dblclick=${() => this.choose(null)}>
      <svg class="strip" height="40" viewBox=${`0 0 ${WIDE} ${TALL}`} preserveAspectRatio="none" role="img" aria-label=${`The run from 0:00 to ${label(whole.to)}. Drag to choose the part shown below; plus and minus zoom, 0 shows all.`}>
        ${CLASSES.map((cls, i) => (drawn[i] ? svg`<path class=${cls} d=${drawn[i]}></path>` : nothing))}
      </svg>
      <svg class="brushes" height="40" aria-hidden="true">
        ${window ? svg`<rect class="veil" x="0" y="0" width=${`${Math.max(0, a)}%`} height="40"></rect><rect class="veil" x=${`${b}%`} y="0" width=${`${Math.max(0, 100 - b)}%`} height="40"></rect>` : nothing}
        <rect class="brush" x=${`${a}%`} y=".5" width=${`${Math.max(0.2, b - a)}%`} height="39"></rect>
        <svg x=${`${a}%`} overflow="visible"><rect class="grip" x="-3" y="12" width="6" height="16" rx="1.5"></rect></svg><svg x=${`${b}%`} overflow="visible"><rect class="grip" x="-3" y="12" width="6" height="16" rx="1.5"></rect></svg>
      </svg>
      <svg class="axis" height="20" aria-hidden="true">
        ${view.ticks().map((t, i) => {
          const x = view.at(t);
          const hidden = live && Math.abs(x - at) < 6;
          return hidden ? nothing : svg`<text class=${i % 2 ? "odd" : ""} x=${`${x}%`} y="13" text-anchor=${x < 2 ? "start" : x > 98 ? "end" : "middle"}>${label(t)}</text>`;
        })}
        ${view.gaps.map(([from, to]) => svg`<text class="gap" x=${`${view.at((from + to) / 2)}%`} y="13" text-anchor="middle">${duration(to - from)}</text>`)}
        ${live && at >= 0 && at <= 100 ? svg`<text class="n" x=${`${at}%`} y="13" text-anchor="middle">now</text>` : nothing}
      </svg>
    </div>`;
  }

  /** @param {PointerEvent} event @returns {{share: number, width: number}} */
  #where(event) {
    const box = /** @type {Element} */ (event.currentTarget).querySelector(".strip")?.getBoundingClientRect();
    if (!box?.width) return { share: 0, width: 1 };
    return { share: Math.max(0, Math.min(1, (event.clientX - box.left) / box.width)), width: box.width };
  }

  /** @param {PointerEvent} event */
  #down(event) {
    if (event.button || !this.scale) return;
    /** @type {Element} */ (event.currentTarget).setPointerCapture(event.pointerId);
    const { share, width } = this.#where(event);
    const near = (/** @type {number} */ ms) => Math.abs((this.scale?.at(ms) ?? 0) / 100 - share) * width < NEAR;
    const at = this.scale.invert(share);
    const [from, to] = this.window ?? [this.scale.from, this.scale.to];
    let mode = "new";
    if (this.window && near(from)) mode = "from";
    else if (this.window && near(to)) mode = "to";
    else if (this.window && at > from && at < to) mode = "pan";
    this.drag = { mode, at, from, to };
  }

  /** @param {PointerEvent} event */
  #move(event) {
    if (!this.drag || !this.scale) return;
    const { mode, at, from, to } = this.drag;
    const { share, width } = this.#where(event);
    const here = this.scale.invert(share);
    const least = (this.scale.to - this.scale.from) * (4 / width);
    const { from: low, to: high } = this.scale;
    if (mode === "pan") {
      const by = Math.max(low - from, Math.min(high - to, here - at));
      this.choose([from + by, to + by]);
      return;
    }
    const [a, b] = mode === "new" ? [Math.min(at, here), Math.max(at, here)] : mode === "from" ? [Math.min(here, to), Math.max(here, to)] : [Math.min(here, from), Math.max(here, from)];
    if (b - a > least) this.choose([a, b]);
  }
}
