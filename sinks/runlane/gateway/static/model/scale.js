/** @file The time axis: from an instant to a place in percent, with long idle stretches folded into a marked break. */

const STEPS = [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 21_600, 43_200, 86_400, 172_800, 604_800].map((s) => s * 1000);
const TICKS = 9;
/** A gap is folded when nothing ran for this share of the run and this long. */
const IDLE_SHARE = 0.3;
const IDLE_LEAST = 60_000;
const FOLDED = 0.05;

/** @param {number} span */
export const step = (span) => STEPS.find((s) => span / s <= TICKS) ?? STEPS[STEPS.length - 1];

/** The end of an axis that holds `span` and some room, so that it moves seldom while time goes on. @param {number} span */
export function roomy(span) {
  const s = step(span * 1.04);
  return Math.max(s, Math.ceil((span * 1.04) / s) * s);
}

/** Idle stretches worth folding, out of the spans in which something ran. @param {[number, number][]} spans sorted by start @param {number} total @returns {[number, number][]} */
export function idle(spans, total) {
  /** @type {[number, number][]} */
  const gaps = [];
  let busy = 0;
  for (const [from, to] of [...spans, /** @type {[number, number]} */ ([total, total])]) {
    if (from - busy > Math.max(IDLE_LEAST, total * IDLE_SHARE)) gaps.push([busy, from]);
    busy = Math.max(busy, to);
  }
  return gaps;
}

export class Scale {
  /**
   * @param {number} from first millisecond shown, from the run's start
   * @param {number} to last millisecond shown
   * @param {[number, number][]} [gaps] stretches to fold
   */
  constructor(from, to, gaps = []) {
    this.from = from;
    this.to = to;
    this.gaps = gaps.map(([a, b]) => /** @type {[number, number]} */ ([Math.max(a, from), Math.min(b, to)])).filter(([a, b]) => b > a);
    const folded = this.gaps.reduce((sum, [a, b]) => sum + b - a, 0);
    this.real = to - from - folded;
    this.fold = this.real > 0 ? (this.real * FOLDED) / (1 - FOLDED * this.gaps.length) : to - from;
    this.width = this.real + this.fold * this.gaps.length;
  }

  /** Percent of the axis, beyond 0 and 100 for what is out of view. @param {number} ms */
  at(ms) {
    let x = Math.min(ms, this.to) - this.from;
    for (const [a, b] of this.gaps) {
      if (ms >= b) x -= b - a - this.fold;
      else if (ms > a) x -= (ms - a) * (1 - this.fold / (b - a));
    }
    return ((x + Math.max(0, ms - this.to)) / this.width) * 100;
  }

  /** The instant at a share of the axis. @param {number} share 0 to 1 */
  invert(share) {
    let left = share * this.width;
    let ms = this.from;
    for (const [a, b] of this.gaps) {
      if (left <= a - ms) return ms + left;
      left -= a - ms;
      if (left <= this.fold) return a + (left / this.fold) * (b - a);
      left -= this.fold;
      ms = b;
    }
    return ms + left;
  }

  /** Whole steps inside the view, none inside a folded stretch. */
  ticks() {
    const s = step(this.width);
    const out = [];
    for (let t = Math.ceil(this.from / s) * s; t <= this.to && out.length < 400; t += s) {
      const gap = this.gaps.find(([a, b]) => t > a && t < b);
      if (gap) t = Math.floor(gap[1] / s) * s;
      else out.push(t);
    }
    const places = out.filter((t, i) => i === 0 || this.at(t) - this.at(out[i - 1]) > 4);
    return places;
  }
}
