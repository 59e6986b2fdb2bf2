/** @file A pooled grid with one tab stop: rows, columns, arrow keys, the row in focus. */

import { Pool } from "../lib/pool.js";
import { html, render } from "../vendor/lit-html.js";

/** @param {string} name a custom property that holds a height in px */
const px = (name) => Number.parseFloat(getComputedStyle(document.documentElement).getPropertyValue(name));

/**
 * @template T
 */
export class Grid {
  /**
   * @param {HTMLElement} scroller
   * @param {object} options
   * @param {() => T[]} options.rows
   * @param {(row: T) => string} options.key
   * @param {(row: T, element: HTMLElement) => unknown} options.cells template of a row's cells
   * @param {string} options.cls class of a row's element
   * @param {string} options.height custom property with a row's height
   * @param {(row: T) => void} options.open what Enter and a click do
   * @param {(row: T) => void} [options.focused]
   * @param {(first: number, last: number) => void} [options.seen]
   */
  constructor(scroller, options) {
    this.options = options;
    this.scroller = scroller;
    this.focus = "";
    scroller.tabIndex = 0;
    let tall = px(options.height);
    this.pool = new Pool(scroller, {
      count: () => options.rows().length,
      height: () => tall,
      row: options.cls,
      draw: (element, index) => this.#draw(element, index),
      seen: (first, last) => {
        this.#describe();
        options.seen?.(first, last);
      },
    });
    this.resized = () => {
      tall = px(options.height);
      this.pool.update();
    };
    addEventListener("resize", this.resized);
    scroller.addEventListener("click", (event) => this.#click(event));
    scroller.addEventListener("focus", () => this.index() < 0 && options.rows().length && this.select(this.pool.range()[0]));
  }

  close() {
    removeEventListener("resize", this.resized);
    this.pool.close();
  }

  index() {
    return this.focus ? this.options.rows().findIndex((row) => this.options.key(row) === this.focus) : -1;
  }

  get row() {
    return this.options.rows()[this.index()];
  }

  /** @param {number} index */
  select(index) {
    const rows = this.options.rows();
    if (!rows.length) return;
    const at = Math.max(0, Math.min(rows.length - 1, index));
    this.focus = this.options.key(rows[at]);
    this.pool.show(at);
    this.options.focused?.(rows[at]);
  }

  /** @param {number} by */
  move(by) {
    this.scroller.focus({ preventScroll: true });
    const index = this.index();
    this.select(index < 0 ? this.pool.range()[0] : index + by);
  }

  /** The next row for which a test holds, around the end. @param {(row: T) => boolean} test */
  seek(test) {
    const rows = this.options.rows();
    const from = this.index();
    for (let i = 1; i <= rows.length; i += 1) {
      const at = (from + i + rows.length) % rows.length;
      if (test(rows[at])) return this.select(at);
    }
  }

  update() {
    this.scroller.setAttribute("aria-rowcount", String(this.options.rows().length));
    this.pool.update();
  }

  /** Name the row in focus to a screen reader while an element shows it. */
  #describe() {
    const element = this.pool?.at(this.index());
    if (element) this.scroller.setAttribute("aria-activedescendant", element.id);
    else this.scroller.removeAttribute("aria-activedescendant");
  }

  /** @param {HTMLElement} element @param {number} index */
  #draw(element, index) {
    const row = this.options.rows()[index];
    if (!row) return;
    const chosen = this.options.key(row) === this.focus;
    element.setAttribute("role", "row");
    element.setAttribute("aria-rowindex", String(index + 1));
    element.setAttribute("aria-selected", String(chosen));
    element.id = `row-${index}`;
    render(this.options.cells(row, element), element);
  }

  /** @param {MouseEvent} event */
  #click(event) {
    const target = /** @type {Element} */ (event.target);
    const element = /** @type {HTMLElement | null} */ (target.closest("[role=row]"));
    if (!element || target.closest("a, button")) return;
    this.select(Number(element.dataset.at));
    const row = this.row;
    if (row && !getSelection()?.toString()) this.options.open(row);
  }
}

/** Column heads. @param {[string, string][]} columns class and name */
export const heads = (columns) =>
  html`<div role="row">${columns.map(([cls, name]) => html`<span role="columnheader" class=${cls}>${name}</span>`)}</div>`;
