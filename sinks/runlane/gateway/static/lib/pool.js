/** @file A list of any length on a few pooled elements; all rows have one fixed height. */

const OVERSCAN = 8;
const MOST = 110;

export class Pool {
  /**
   * @param {HTMLElement} scroller the element that scrolls; it may hold a sticky head
   * @param {object} options
   * @param {() => number} options.count how many rows there are
   * @param {() => number} options.height the height of one row
   * @param {(element: HTMLElement, index: number) => void} options.draw fill an element with a row
   * @param {string} options.row class of a row's element
   * @param {string} [options.role] role of the element that holds the rows
   * @param {(index: number, last: number) => void} [options.seen] told what is in view after a scroll
   */
  constructor(scroller, options) {
    this.scroller = scroller;
    this.options = options;
    this.space = document.createElement("div");
    this.space.className = "space";
    this.space.setAttribute("role", options.role ?? "rowgroup");
    scroller.append(this.space);
    /** @type {HTMLElement[]} */
    this.slots = [];
    this.frame = 0;
    this.total = -1;
    this.tall = 0;
    this.view = 0;
    this.watch = new ResizeObserver(() => {
      this.view = Math.max(0, scroller.clientHeight - this.space.offsetTop);
      this.update();
    });
    this.watch.observe(scroller);
    scroller.addEventListener("scroll", () => this.#soon(), { passive: true });
  }

  close() {
    this.watch.disconnect();
    cancelAnimationFrame(this.frame);
    this.space.remove();
  }

  #soon() {
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      this.update(true);
    });
  }

  /** @returns {[number, number]} first row in view, and the one after the last */
  range() {
    const first = Math.max(0, Math.floor(this.scroller.scrollTop / this.tall));
    return [first, Math.min(this.total, first + Math.ceil(this.view / this.tall) + 1)];
  }

  /** Draw what is in view again. @param {boolean} [scrolled] */
  update(scrolled = false) {
    const { count, height, draw, seen } = this.options;
    this.view ||= Math.max(0, this.scroller.clientHeight - this.space.offsetTop);
    const total = count();
    const tall = height();
    if (total !== this.total || tall !== this.tall) {
      this.total = total;
      this.tall = tall;
      this.space.style.height = `${total * tall}px`;
    }
    const [top, bottom] = this.range();
    const first = Math.max(0, top - OVERSCAN);
    const last = Math.min(total, bottom + OVERSCAN, first + MOST);
    const size = Math.max(this.slots.length, last - first);
    while (this.slots.length < size) this.slots.push(this.#slot());
    const used = new Set();
    for (let index = first; index < last; index += 1) {
      const slot = this.slots[index % size];
      used.add(slot);
      const place = String(index);
      const kept = scrolled && slot.dataset.at === place && !slot.hidden;
      if (kept) continue;
      slot.hidden = false;
      slot.dataset.at = place;
      slot.style.transform = `translateY(${index * tall}px)`;
      draw(slot, index);
    }
    for (const slot of this.slots) {
      if (used.has(slot)) continue;
      slot.hidden = true;
      slot.removeAttribute("id");
    }
    seen?.(top, bottom);
  }

  #slot() {
    const slot = document.createElement("div");
    slot.className = this.options.row;
    this.space.append(slot);
    return slot;
  }

  /** The element that shows a row now, if any does. @param {number} index */
  at(index) {
    return this.slots.find((slot) => !slot.hidden && slot.dataset.at === String(index));
  }

  /** Scroll no more than needed to show a row. @param {number} index */
  show(index) {
    const top = index * this.tall;
    const { scrollTop } = this.scroller;
    if (top < scrollTop) this.scroller.scrollTop = top;
    else if (top + this.tall > scrollTop + this.view) this.scroller.scrollTop = top + this.tall - this.view;
    this.update();
  }

  /** Scroll so that a row is in the middle. @param {number} index */
  center(index) {
    this.scroller.scrollTop = Math.max(0, (index + 0.5) * this.tall - this.view / 2);
    this.update();
  }

  /** Scroll to the last row. */
  end() {
    this.scroller.scrollTop = this.total * this.tall;
    this.update();
  }
}
