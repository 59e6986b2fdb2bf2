/** @file Tree and time axis as one list of pooled rows, with the overview above. */

import { segment } from "./api.js";
import { bar, idle, Overview, roomy, Scale, strip } from "./axis.js";
import { Grid } from "./grid.js";
import { count, duration, line, short, shortId } from "./text.js";
import { icon, iconButton, statusSign } from "./ui.js";
import { html, nothing, render, svg } from "./vendor/lit-html.js";

const LEAST_WINDOW = 20;

/** Call back when a reader scrolls up and away from the end. @param {HTMLElement} scroller @param {() => void} left */
export function onLeave(scroller, left) {
  let top = 0;
  scroller.addEventListener("scroll", () => {
    const { scrollTop, scrollHeight, clientHeight } = scroller;
    if (scrollTop < top && scrollHeight - scrollTop - clientHeight > 40) left();
    top = scrollTop;
  });
}

export class Timeline {
  /** @param {import("./run.js").RunView} run */
  constructor(run) {
    this.run = run;
    /** @type {number[] | null} chosen part in ms from the start, null for the whole run */
    this.window = null;
    this.overview = new Overview((window) => this.choose(window));
    /** @type {number[][] | null} */
    this.gaps = null;
    /** @type {TreeNode[]} rows with a bar of their own */
    this.leaves = [];
    /** @type {string[]} */
    this.strip = [];
    this.stamp = "";
    this.total = 1;
    /** @type {Grid<Row> | undefined} */
    this.grid = undefined;
    /** @type {import("./axis.js").Axis} */
    this.axis = { scale: new Scale(0, 1, []), start: 0, now: 0 };
  }

  /** @param {number[] | null} window */
  choose(window) {
    this.window = window;
    this.run.draw();
  }

  /** Zoom around the selected row, or the middle. @param {number} factor */
  zoom(factor) {
    const [from, to] = this.window ?? [0, this.total];
    const at = this.run.selected ? this.run.selected.start - this.axis.start : (from + to) / 2;
    const focus = Math.max(from, Math.min(to, at));
    const span = Math.max(LEAST_WINDOW, (to - from) * factor);
    const low = Math.max(0, focus - (span * (focus - from)) / (to - from));
    this.choose(span >= this.total ? null : [low, Math.min(this.total, low + span)]);
  }

  /** Walk the tree again after a change, and draw the strip anew when it would differ. @param {boolean} live */
  #prepare(live) {
    const { feed, asOf, start } = this.run;
    const logs = [...feed.logs.values()];
    const last = Math.max(...logs.map((log) => log.tree.last || start)) - start;
    this.total = live ? roomy(Math.max(last, asOf - start, 1000)) : Math.max(last, 1);
    const stamp = [feed.version, this.total, live && Math.floor(asOf / 1000)].join();
    if (stamp === this.stamp) return;
    this.stamp = stamp;
    const walk = (/** @type {TreeNode[]} */ nodes) => {
      for (const node of nodes) {
        if (!["turn", "mark"].includes(node.kind)) this.leaves.push(node);
        walk(node.child ? (feed.logs.get(node.child)?.tree.nodes ?? []) : node.kids);
      }
    };
    this.leaves = [];
    walk(feed.root.tree.nodes);
    if (!live || !this.gaps) {
      const busy = this.leaves.filter((node) => node.kind !== "wait" && node.kind !== "child").map((node) => [node.start - start, (node.end ?? asOf) - start]);
      this.gaps = idle(busy.sort((a, b) => a[0] - b[0]), this.total);
    }
    this.strip = strip(this.leaves, { scale: new Scale(0, this.total, this.gaps), start, now: asOf });
  }

  /** @param {HTMLElement} place */
  draw(place) {
    const { run } = this;
    const { live, start, asOf } = run;
    this.#prepare(live);
    const whole = new Scale(0, this.total, this.gaps ?? []);
    const view = this.window ? new Scale(this.window[0], this.window[1], this.gaps ?? []) : whole;
    const now = live ? asOf - start : Number.NaN;
    const x = (/** @type {number} */ ms, /** @type {string} */ cls) => svg`<line class=${cls} x1="${view.at(ms)}%" x2="${view.at(ms)}%" y1="0" y2="100%"></line>`;
    render(
      html`<section class="records" aria-label="Timeline">
        <div class="over">
          <div class="find"><div><label class="field">${icon("find", "s")}<input type="search" .value=${run.rows.find} placeholder="Find in ${count(run.feed.root.records.length)} records" aria-label="Find in this run" @input=${(/** @type {any} */ e) => run.find(e.target.value)}><kbd class="wide">/</kbd></label>
            ${iconButton("Open all rows", "next", () => run.toggleAll(true), "t wide")}${iconButton("Close all rows", "prev", () => run.toggleAll(false), "t wide")}${iconButton("Show the whole run", "fit", () => this.choose(null), "t wide")}</div>
            <div class="colhead wide"><span>Record</span><span class="num">Tokens</span><span class="num">Duration</span></div></div>
          ${this.overview.template(this.strip, whole, view, this.window, now)}
        </div>
        <div class="lines" aria-hidden="true"><svg>${view.ticks().map((t) => x(t, "gl"))}${view.gaps.map(([a, b]) => svg`<rect class="folded" x="${view.at(a)}%" width="${view.at(b) - view.at(a)}%" height="100%"></rect>`)}${view.at(now) <= 100 ? x(now, "nl") : nothing}</svg></div>
        <div class="rows" role="treegrid" aria-label="Records"></div>
      </section>`,
      place,
    );
    this.axis = { scale: view, start, now: asOf };
    this.grid ??= this.#grid(/** @type {HTMLElement} */ (place.querySelector(".rows")));
    this.grid.update();
    if (run.follow) this.grid.show(run.rows.current().length - 1);
  }

  /** @param {HTMLElement} scroller @returns {Grid<Row>} */
  #grid(scroller) {
    onLeave(scroller, () => this.run.setFollow(false));
    return new Grid(scroller, {
      rows: () => this.run.rows.current(),
      key: (row) => row.node.id,
      cells: (row, element) => this.#cells(row, element),
      height: "--h-record",
      open: () => this.run.inspector.open(),
      focused: (row) => this.run.select(row.node),
    });
  }

  /** When a row ended, null while it goes on. @param {TreeNode} node @returns {number | null} */
  end(node) {
    const { feed, live, asOf } = this.run;
    const tree = feed.logs.get(node.child || node.run)?.tree;
    const over = live ? null : asOf;
    if (node.kind === "child") return node.end ?? (tree?.ended ? tree.last : over);
    if (node.kind === "turn" && tree && !tree.ended && [...tree.turns.values()].at(-1) === node) return over ?? node.end;
    return node.end ?? over;
  }

  /** @param {Row} row @param {HTMLElement} element */
  #cells({ node, level, open }, element) {
    const { feed, asOf } = this.run;
    const end = this.end(node);
    const going = end === null;
    const child = node.child ? feed.logs.get(node.child) : undefined;
    const held = child?.status === "suspended";
    const tone = node.failed ? "err" : held || (node.kind === "wait" && going) ? "hold" : going ? "now" : "";
    element.className = `row ${node.kind} ${tone}`;
    element.setAttribute("aria-level", String(level));
    if (open === null) element.removeAttribute("aria-expanded");
    else element.setAttribute("aria-expanded", String(open));
    const took = node.took ?? (end ?? asOf) - node.start;
    const tokens = node.tokens || (child?.tree.tokens ?? 0);
    const toggle = () => this.run.toggle(node, !open);
    return html`<div class="name" role="gridcell">${Array.from({ length: level - 1 }, () => html`<i class="g"></i>`)}${open === null ? html`<span class="tw"></span>` : html`<button class="tw" type="button" tabindex="-1" aria-label=${open ? "Close" : "Open"} @click=${toggle}>${icon("twist")}</button>`}${node.icon ? icon(node.icon, `s k-${node.kind} ${node.icon.slice(2)}`) : nothing}<span class="lbl cut ${node.mono ? "mono" : ""}">${line(node.label, 120)}</span>${node.child ? html`<a class="mono" tabindex="-1" href="/runs/${segment(node.child)}" title=${node.child}>${shortId(node.child)}</a>` : nothing}<span class="sum cut">${this.#sum(node)}</span>${statusSign(child?.status ?? "")}<span class="tok">${tokens ? short(tokens) : ""}</span><span class="dur">${node.kind === "mark" ? "" : duration(took, going && took > 1e4)}</span></div>
      <div class="track" role="gridcell"><svg aria-hidden="true">${bar(node, this.axis, open, end, held)}</svg></div>`;
  }

  /** The words beside a row's name: of a turn what it used, of a running call what it printed last. @param {TreeNode} node */
  #sum(node) {
    if (node.kind === "turn" && !node.sum) return line([...new Set(node.kids.map((kid) => (kid.kind === "model" ? "" : kid.label)).filter(Boolean))].join(", "));
    const printed = node.end === null && node.call ? [...(this.run.feed.logs.get(node.run)?.drafts ?? [])].find(([key]) => key.startsWith(`${node.call}\n`)) : undefined;
    return line(printed ? printed[1].slice(-160) : node.sum);
  }
}
