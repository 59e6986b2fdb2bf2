/** @file A grid of any length on a few pooled elements of one height, with one tab stop and a row in focus. */

import { render } from "./vendor/lit-html.js";

const OVERSCAN = 8;
const MOST = 110;

/** @template T */
export class Grid {
  /**
   * @param {HTMLElement} scroller the element that scrolls; it may hold a sticky head
   * @param {object} options
   * @param {() => T[]} options.rows
   * @param {(row: T) => string} options.key
   * @param {(row: T, element: HTMLElement) => unknown} options.cells template of a row
   * @param {string} options.height custom property with a row's height
   * @param {(row: T) => void} options.open what a click does
   * @param {(row: T) => void} [options.focused]
   * @param {(last: number) => void} [options.seen] told the last row in view
   * @param {string} [options.role] role of a row
   */
  constructor(scroller, options) {
    this.scroller = scroller;
    this.options = options;
    this.focus = "";
    this.space = scroller.appendChild(document.createElement("div"));
    this.space.className = "space";
    this.space.setAttribute("role", options.role ? "list" : "rowgroup");
    /** @type {HTMLElement[]} */
    this.slots = [];
    this.frame = 0;
    this.total = 0;
    scroller.tabIndex = 0;
    scroller.addEventListener("click", (event) => this.#click(event));
    scroller.addEventListener("scroll", () => (this.frame ||= requestAnimationFrame(() => this.update(true))), { passive: true });
    this.watch = new ResizeObserver(() => this.measure());
    this.watch.observe(scroller);
    this.tall = this.view = 0;
    this.measure();
  }

  close() {
    this.watch.disconnect();
    cancelAnimationFrame(this.frame);
  }

  measure() {
    this.tall = Number.parseFloat(getComputedStyle(this.scroller).getPropertyValue(this.options.height));
    this.view = Math.max(0, this.scroller.clientHeight - this.space.offsetTop);
    this.update();
  }

  index() {
    return this.focus ? this.options.rows().findIndex((row) => this.options.key(row) === this.focus) : -1;
  }

  get row() {
    return this.options.rows()[this.index()];
  }

  /** The first row in view. */
  get first() {
    return Math.max(0, Math.floor(this.scroller.scrollTop / this.tall));
  }

  /** Draw what is in view; after a mere scroll only the rows that came into it. @param {boolean} [scrolled] */
  update(scrolled = false) {
    this.frame = 0;
    const { rows, seen } = this.options;
    this.#makeRoom();
    if (!this.options.role) this.scroller.setAttribute("aria-rowcount", String(this.total));
    const bottom = this.first + Math.ceil(this.view / this.tall) + 1;
    const first = Math.max(0, this.first - OVERSCAN);
    const last = Math.min(this.total, bottom + OVERSCAN, first + MOST);
    while (this.slots.length < last - first) this.slots.push(this.space.appendChild(document.createElement("div")));
    const free = new Set(this.slots);
    for (let index = first; index < last; index += 1) {
      const slot = this.slots[index % this.slots.length];
      free.delete(slot);
      if (scrolled && slot.dataset.at === String(index)) continue;
      slot.dataset.at = String(index);
      slot.hidden = false;
      slot.style.transform = `translateY(${index * this.tall}px)`;
      this.#draw(slot, index, rows()[index]);
    }
    for (const slot of free) {
      slot.hidden = true;
      slot.id = slot.dataset.at = "";
    }
    const focused = this.index();
    if (focused >= first && focused < last) this.scroller.setAttribute("aria-activedescendant", `row-${focused}`);
    else this.scroller.removeAttribute("aria-activedescendant");
    seen?.(Math.min(this.total, bottom));
  }

  #makeRoom() {
    this.total = this.options.rows().length;
    this.space.style.height = `${this.total * this.tall}px`;
  }

  /** @param {HTMLElement} slot @param {number} index @param {T} row */
  #draw(slot, index, row) {
    slot.setAttribute("role", this.options.role ?? "row");
    if (!this.options.role) {
      slot.id = `row-${index}`;
      slot.setAttribute("aria-rowindex", String(index + 1));
      slot.setAttribute("aria-selected", String(this.options.key(row) === this.focus));
    }
    render(this.options.cells(row, slot), slot);
  }

  /** Scroll no more than needed to show a row, or to its middle. @param {number} index @param {boolean} [center] */
  show(index, center = false) {
    // A scroll ends where the room does, and rows that were opened just now have none yet.
    this.#makeRoom();
    const top = index * this.tall;
    const { scroller, view, tall } = this;
    if (center) scroller.scrollTop = top - view / 2;
    else if (top < scroller.scrollTop) scroller.scrollTop = top;
    else if (top + tall > scroller.scrollTop + view) scroller.scrollTop = top + tall - view;
    this.update();
  }

  /** @param {number} index @param {boolean} [center] */
  select(index, center) {
    const rows = this.options.rows();
    if (!rows.length) return;
    const at = Math.max(0, Math.min(rows.length - 1, index));
    this.focus = this.options.key(rows[at]);
    this.show(at, center);
    this.options.focused?.(rows[at]);
  }

  /** @param {number} by */
  move(by) {
    this.scroller.focus({ preventScroll: true });
    const index = this.index();
    this.select(index < 0 ? this.first : index + by);
  }

  /** The next row for which a test holds, around the end. @param {(row: T) => boolean} test */
  seek(test) {
    const rows = this.options.rows();
    const from = this.index() + 1;
    const at = rows.findIndex((_, i) => test(rows[(from + i) % rows.length]));
    if (at >= 0) this.select((from + at) % rows.length);
  }

  /** @param {MouseEvent} event */
  #click(event) {
    const target = /** @type {Element} */ (event.target);
    const slot = /** @type {HTMLElement | null} */ (target.closest("[role=row]"));
    if (!slot?.dataset.at || target.closest("a, button")) return;
    this.select(Number(slot.dataset.at));
    if (this.row && !getSelection()?.toString()) this.options.open(this.row);
  }
}
