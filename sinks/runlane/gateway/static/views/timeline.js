/** @file Tree and time axis as one list of pooled rows, with the overview above. */

import { segment } from "../lib/api.js";
import { count, duration, line, short, shortId } from "../lib/format.js";
import { icon } from "../lib/parts.js";
import { idle, roomy, Scale } from "../model/scale.js";
import { html, nothing, render, svg } from "../vendor/lit-html.js";
import { bar } from "./bars.js";
import { Grid } from "./grid.js";
import { Overview, paths } from "./overview.js";

const LEAST_WINDOW = 20;
/** @type {Record<string, string>} */
const ICON_CLASS = { model: "k-model", draft: "k-model", tool: "k-tool", group: "k-tool", child: "k-child", wait: "k-wait", mark: "k-mark" };

export class Timeline {
  /** @param {import("./run.js").RunView} run */
  constructor(run) {
    this.run = run;
    this.rows = run.rows;
    /** @type {[number, number] | null} chosen part in ms from the start, null for the whole run */
    this.window = null;
    this.overview = new Overview((window) => this.choose(window));
    /** @type {[number, number][] | null} */
    this.gaps = null;
    /** @type {string[]} */
    this.strip = [];
    this.stripAt = -1;
    this.drawn = "";
    /** @type {Node[]} */
    this.leaves = [];
    this.top = 0;
    /** @type {Grid<Row> | undefined} */
    this.grid = undefined;
  }

  close() {
    this.grid?.close();
  }

  /** @param {[number, number] | null} window */
  choose(window) {
    this.window = window;
    this.run.draw();
  }

  /** Zoom around the selected row, or the middle. @param {number} factor */
  zoom(factor) {
    const { total } = this.axis();
    const [from, to] = this.window ?? [0, total];
    const selected = this.run.selected;
    const focus = selected ? Math.max(from, Math.min(to, selected.start - this.run.start)) : (from + to) / 2;
    const span = Math.max(LEAST_WINDOW, (to - from) * factor);
    const share = (focus - from) / (to - from || 1);
    const a = Math.max(0, focus - span * share);
    this.choose(span >= total ? null : [a, Math.min(total, a + span)]);
  }

  /** The axis of the rows and that of the whole run. */
  axis() {
    const { start, live, asOf, feed } = this.run;
    const lasts = [...feed.logs.values()].map((log) => log.tree.last).filter(Number.isFinite);
    const last = Math.max(start, ...lasts) - start;
    const now = Math.max(asOf - start, 0);
    const total = live ? roomy(Math.max(last, now, 1000)) : Math.max(last * 1.01, 1);
    this.#collect();
    if (feed.root.complete && !(live && this.gaps)) this.gaps = idle(this.#busy(start), total);
    const gaps = this.gaps ?? [];
    const whole = new Scale(0, total, gaps);
    return { whole, view: this.window ? new Scale(this.window[0], this.window[1], gaps) : whole, total, now };
  }

  /** The rows with a bar of their own, in order; walked again only after a change. */
  #collect() {
    if (this.leavesAt === this.run.feed.version) return;
    this.leavesAt = this.run.feed.version;
    const { logs, root } = this.run.feed;
    this.leaves = [];
    const walk = (/** @type {Node[]} */ nodes) => {
      for (const node of nodes) {
        if (node.kind !== "turn" && node.kind !== "mark") this.leaves.push(node);
        walk(node.kids);
        const child = node.child ? logs.get(node.child) : undefined;
        if (child && child !== root) walk(child.tree.nodes);
      }
    };
    walk(root.tree.nodes);
  }

  /** @param {number} start @returns {[number, number][]} */
  #busy(start) {
    return this.leaves
      .filter((node) => node.kind === "tool" || node.kind === "model")
      .map((node) => /** @type {[number, number]} */ ([node.start - start, (node.end ?? this.run.asOf) - start]))
      .sort((a, b) => a[0] - b[0]);
  }

  /** @param {HTMLElement} place */
  draw(place) {
    const { whole, view, now } = this.axis();
    const { live, start, asOf } = this.run;
    const stamp = `${this.run.feed.version} ${whole.to} ${live ? Math.floor(asOf / 1000) : 0}`;
    if (stamp !== this.drawn) this.strip = paths(this.leaves, whole, start, asOf);
    this.drawn = stamp;
    const many = this.run.feed.root.records.length;
    render(
      html`<section class="records" aria-label="Timeline">
        <div class="over">
          <div class="find"><div><label class="field">${icon("find", "s")}<input type="search" .value=${this.rows.find} placeholder="Find in ${count(many)} records" aria-label="Find in this run" @input=${(/** @type {any} */ e) => this.run.find(e.target.value)}><kbd class="wide">/</kbd></label>
            <button class="icon t wide" type="button" aria-label="Open all rows" title="Open all, e" @click=${() => this.run.toggleAll(true)}>${icon("next")}</button><button class="icon t wide" type="button" aria-label="Close all rows" title="Close all, w" @click=${() => this.run.toggleAll(false)}>${icon("prev")}</button><button class="icon t wide" type="button" aria-label="Show the whole run" title="Whole run, 0" @click=${() => this.choose(null)}>${icon("fit")}</button></div>
            <div class="colhead wide"><span>Record</span><span class="num">Tokens</span><span class="num">Duration</span></div></div>
          ${this.overview.template(this.strip, whole, this.window, { now, live, view })}
        </div>
        <div class="lines" aria-hidden="true"><svg>${view.ticks().map((t) => svg`<line class="gl" x1=${`${view.at(t)}%`} x2=${`${view.at(t)}%`} y1="0" y2="100%"></line>`)}
          ${view.gaps.map(([a, b]) => svg`<rect class="fold-band" x=${`${view.at(a)}%`} width=${`${view.at(b) - view.at(a)}%`} y="0" height="100%"></rect>`)}
          ${live && view.at(now) <= 100 ? svg`<line class="nl" x1=${`${view.at(now)}%`} x2=${`${view.at(now)}%`} y1="0" y2="100%"></line>` : nothing}</svg></div>
        <div class="rows" role="treegrid" aria-label="Records"></div>
      </section>`,
      place,
    );
    this.bars = { scale: view, start, now: asOf };
    this.grid ??= this.#grid(/** @type {HTMLElement} */ (place.querySelector(".rows")));
    this.grid.update();
    if (this.run.follow) this.grid.pool.end();
  }

  /** @type {import("./bars.js").Axis | undefined} */
  bars = undefined;
  leavesAt = -1;

  /** @param {HTMLElement} scroller */
  #grid(scroller) {
    scroller.addEventListener("scroll", () => {
      const up = scroller.scrollTop < this.top;
      this.top = scroller.scrollTop;
      const below = scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight;
      if (up && below > 40 && this.run.follow) this.run.setFollow(false);
    });
    return new Grid(scroller, {
      rows: () => this.rows.current(),
      key: (row) => row.node.id,
      cells: (row, element) => this.#cells(row, element),
      cls: "row",
      height: "--h-record",
      open: () => this.run.showInspector(),
      focused: (row) => this.run.select(row.node),
    });
  }

  /** When a row ended, null while it goes on. @param {Node} node */
  end(node) {
    const { feed, live, asOf } = this.run;
    if (node.kind === "child") {
      const log = feed.logs.get(node.child);
      const ended = log?.tree.ended ? log.tree.endedAt : null;
      return node.end ?? ended ?? (live ? null : asOf);
    }
    if (node.kind === "turn") {
      const tree = feed.logs.get(node.run)?.tree;
      const last = tree && [...tree.turns.values()].at(-1) === node && !tree.ended;
      return live && last ? null : node.end;
    }
    return node.end ?? (live || node.kind === "draft" ? null : asOf);
  }

  /** @param {Row} row @param {HTMLElement} element */
  #cells(row, element) {
    const { node, level, open } = row;
    const end = this.end(node);
    const going = end === null;
    const child = node.child ? (this.run.feed.logs.get(node.child)?.status ?? "") : "";
    const tone = node.failed ? "err" : (node.kind === "wait" && going) || child === "suspended" ? "hold" : going ? "now" : "";
    element.className = `row ${node.kind} ${tone}`;
    element.setAttribute("aria-level", String(level));
    if (open === null) element.removeAttribute("aria-expanded");
    else element.setAttribute("aria-expanded", String(open));
    const took = node.took ?? (end ?? this.run.asOf) - node.start;
    const shown = node.kind === "mark" ? "" : duration(took, going && took > 10_000);
    const tokens = node.tokens || (node.child ? (this.run.feed.logs.get(node.child)?.tree.tokens ?? 0) : 0);
    const toggle = (/** @type {Event} */ event) => {
      event.stopPropagation();
      this.run.toggle(node, !open);
    };
    const axis = this.bars;
    return html`<div class="name" role="gridcell">${Array.from({ length: level - 1 }, () => html`<i class="g"></i>`)}${open === null ? html`<span class="tw"></span>` : html`<button class="tw" type="button" tabindex="-1" aria-label=${open ? "Close" : "Open"} @click=${toggle}>${icon("twist")}</button>`}${node.icon ? icon(node.icon, `s ${node.failed ? "" : (ICON_CLASS[node.kind] ?? "")} ${node.icon.startsWith("s-") ? node.icon.slice(2) : ""}`) : nothing}<span class="lbl cut ${node.mono ? "mono" : ""}">${line(node.label, 120)}</span><span class="sum cut">${this.#sum(node)}</span>${child ? html`${icon(`s-${child}`, `s ${child}`)}<span class="sr">${child}</span>` : nothing}<span class="tok">${tokens ? short(tokens) : ""}</span><span class="dur">${shown}</span></div>
      <div class="track" role="gridcell"><svg aria-hidden="true">${axis ? bar(node, axis, { open, end, child }) : nothing}</svg></div>`;
  }

  /** @param {Node} node */
  #sum(node) {
    if (node.kind === "child" && node.child) return html`<a class="mono" tabindex="-1" href="/runs/${segment(node.child)}" title=${node.child}>${shortId(node.child, 0)}</a> ${line(node.sum, 80)}`;
    if (node.kind === "turn" && !node.sum) return this.#turnSum(node);
    const output = node.end === null && node.call ? this.run.output(node) : "";
    return output ? line(output.slice(-160)) : line(node.sum);
  }

  /** @param {Node} node */
  #turnSum(node) {
    const tools = [...new Set(node.kids.filter((kid) => kid.kind === "tool" || kid.kind === "child").map((kid) => kid.label))];
    if (tools.length) return line(tools.slice(0, 4).join(", "));
    return line(node.kids.find((kid) => kid.kind === "model")?.sum ?? "", 100);
  }
}
