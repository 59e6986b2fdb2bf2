/** @file One run: its header, then timeline or conversation, and the inspector beside both. */

import { now, Problem, read, segment } from "../lib/api.js";
import { clock, count, duration, many, shortId } from "../lib/format.js";
import { useKeys } from "../lib/keys.js";
import { copy, failure, ghosts, icon, idText, save, say, STATUS, statusMark, time } from "../lib/parts.js";
import { Feed, terminal } from "../model/feed.js";
import { Rows } from "../model/rows.js";
import { html, nothing, render } from "../vendor/lit-html.js";
import { Conversation } from "./conversation.js";
import { Inspector } from "./inspector.js";
import { lastOrder } from "./list.js";
import { Timeline } from "./timeline.js";

/** @type {[string, string, string][]} */
const CHIPS = [["tools", "Tools", "tool"], ["model", "Model", "say"], ["children", "Children", "child"], ["waiting", "Waiting", "wait"], ["errors", "Errors", "s-failed"]];
/** @type {Record<string, string>} */
const CHIP_CLASS = { tools: "k-tool", model: "k-model", children: "k-child", waiting: "k-wait", errors: "failed" };

export class RunView {
  nav = "Runs";
  foot = html`<span><kbd>j</kbd><kbd>k</kbd> move</span><span><kbd>←</kbd><kbd>→</kbd> close, open</span><span><kbd>e</kbd><kbd>w</kbd> all</span><span><kbd>o</kbd><kbd>p</kbd><kbd>r</kbd> inspector</span><span><kbd>x</kbd> next failure</span><span><kbd>t</kbd><kbd>c</kbd> timeline, conversation</span><span><kbd>.</kbd> follow</span>`;

  /** @param {typeof import("../app.js").page} page @param {string} id */
  constructor(page, id) {
    this.page = page;
    this.id = id;
    const q = new URLSearchParams(location.search);
    this.mode = q.get("view") === "conversation" ? "conversation" : "timeline";
    this.wanted = Number(q.get("record")) || 0;
    this.feed = new Feed(id, () => this.#soon());
    this.rows = new Rows(this.feed);
    this.rows.find = q.get("find") ?? "";
    this.rows.only = new Set((q.get("only") ?? "").split(",").filter((kind) => kind in CHIP_CLASS));
    this.timeline = new Timeline(this);
    this.conversation = new Conversation(this);
    this.inspector = new Inspector(this);
    /** @type {Node | null} */
    this.selected = null;
    this.follow = false;
    this.pausedAt = 0;
    /** @type {unknown} */
    this.fault = null;
    this.opened = false;
    this.frozen = Number.NaN;
    this.frame = 0;
    this.addressTimer = 0;
    this.successor = "";
    this.keys();
    void this.open();
  }

  async open() {
    this.fault = null;
    try {
      await this.feed.open();
      this.opened = true;
      this.follow = this.live && !this.wanted;
      void this.#findSuccessor();
    } catch (fault) {
      if (this.feed.abort.signal.aborted) return;
      this.fault = fault;
    }
    this.page.chrome();
    this.draw();
  }

  keys() {
    const grid = () => (this.mode === "timeline" ? this.timeline.grid : undefined);
    const step = (/** @type {number} */ by) => (this.mode === "timeline" ? this.#move(by) : this.conversation.move(by));
    const seek = (/** @type {(row: Row) => boolean} */ test) => {
      this.setFollow(false);
      grid()?.seek(test);
    };
    useKeys({
      j: () => step(1), k: () => step(-1),
      g: () => this.#edge(false), G: () => this.#edge(true),
      "←": () => this.#fold(false), "→": () => this.#fold(true),
      Enter: () => this.showInspector(),
      Esc: () => (this.inspector.sheet ? this.inspector.hide() : this.page.go(`/${sessionStorage.getItem("runlane.list") ?? ""}`)),
      "/": () => /** @type {HTMLElement | null} */ (document.querySelector(".find input"))?.focus(),
      f: () => /** @type {HTMLElement | null} */ (document.querySelector(".tabs .chip"))?.focus(),
      e: () => this.toggleAll(true), w: () => this.toggleAll(false),
      o: () => this.inspector.show("o"), p: () => this.inspector.show("p"), r: () => this.inspector.show("r"),
      t: () => this.setMode("timeline"), c: () => this.setMode("conversation"),
      0: () => this.timeline.choose(null), "+": () => this.timeline.zoom(0.5), "-": () => this.timeline.zoom(2),
      ".": () => this.setFollow(!this.follow),
      x: () => seek((row) => row.node.failed), a: () => seek((row) => row.node.kind === "wait" && row.node.end === null),
      u: () => this.feed.root.meta?.parent_run_id && this.page.go(`/runs/${segment(this.feed.root.meta.parent_run_id)}`),
      y: () => this.copyLink(), d: () => this.download(),
      "[": () => void this.#sibling(-1), "]": () => void this.#sibling(1),
    });
  }

  state() {
    return this.feed.state;
  }

  endedAt() {
    return Number.isNaN(this.feed.root.tree.endedAt) ? "" : clock(this.feed.root.tree.endedAt);
  }

  close() {
    cancelAnimationFrame(this.frame);
    clearTimeout(this.addressTimer);
    this.feed.close();
    this.timeline.close();
  }

  located() {
    const q = new URLSearchParams(location.search);
    this.mode = q.get("view") === "conversation" ? "conversation" : "timeline";
    this.wanted = Number(q.get("record")) || 0;
    this.draw();
  }

  /** The run's start in ms. */
  get start() {
    const { tree, meta } = this.feed.root;
    return Number.isNaN(tree.start) ? Date.parse(meta?.started_at ?? "") : tree.start;
  }

  /** Whether the run, or a child shown in it, goes on. */
  get live() {
    return [...this.feed.logs.values()].some((log) => log.status === "running");
  }

  /** The moment up to which what is shown is known to be true: timers stop there when the stream is lost. */
  get asOf() {
    const { kind } = this.feed.state;
    if (!this.live) return Math.max(...[...this.feed.logs.values()].map((log) => log.tree.last).filter(Number.isFinite), this.start);
    if (kind === "waiting" || kind === "lost" || kind === "refused" || kind === "purged") return Number.isNaN(this.frozen) ? now() : this.frozen;
    this.frozen = now();
    return this.frozen;
  }

  #soon() {
    if (this.frame) return;
    const act = () => {
      this.frame = 0;
      this.page.chrome();
      this.draw();
    };
    // No frames come while the tab is hidden.
    this.frame = document.hidden ? setTimeout(act, 250) : requestAnimationFrame(act);
  }

  /** @param {Node | null} node */
  select(node) {
    this.selected = node;
    const rows = this.rows.current();
    if (this.follow && node && rows.at(-1)?.node.id !== node.id) this.setFollow(false);
    clearTimeout(this.addressTimer);
    this.addressTimer = setTimeout(() => this.#address(), 300);
    this.inspector.draw();
    this.timeline.grid?.update();
  }

  #address() {
    const q = new URLSearchParams();
    if (this.mode === "conversation") q.set("view", "conversation");
    if (this.rows.find) q.set("find", this.rows.find);
    if (this.rows.only.size) q.set("only", [...this.rows.only].join(","));
    const record = this.selected?.run === this.id ? (this.selected.recs[0] ?? this.selected.kids[0]?.recs[0]) : undefined;
    if (record) q.set("record", String(record.seq));
    const text = q.toString();
    this.page.replace(location.pathname + (text ? `?${text}` : ""));
  }

  /** The address of this view, or of a child's record. */
  link() {
    const node = this.selected;
    if (node && node.run !== this.id && node.recs[0]) return `${location.origin}/runs/${segment(node.run)}?record=${node.recs[0].seq}`;
    this.#address();
    return location.href;
  }

  copyLink() {
    void copy(this.link(), "Link");
  }

  /** All records as JSON lines, in the order in which they replay. */
  download() {
    save(`${this.id}.jsonl`, this.feed.root.records.map((record) => `${JSON.stringify(record)}\n`));
    say(`${many(this.feed.root.records.length, "record")} downloaded`, true);
  }

  /** @param {string} mode */
  setMode(mode) {
    this.mode = mode;
    this.#address();
    this.draw();
  }

  /** @param {boolean} on */
  setFollow(on) {
    if (this.follow === on) return;
    this.follow = on && this.live;
    this.pausedAt = this.feed.root.records.length;
    this.draw();
  }

  /** @param {string} text */
  find(text) {
    this.rows.find = text;
    this.#address();
    this.draw();
  }

  /** @param {string} kind */
  only(kind) {
    if (!this.rows.only.delete(kind)) this.rows.only.add(kind);
    this.#address();
    this.draw();
  }

  /** @param {Node} node @param {boolean} open */
  toggle(node, open) {
    this.rows.toggle(node, open);
    this.draw();
  }

  /** @param {boolean} open */
  toggleAll(open) {
    if (this.mode === "conversation") return this.conversation.toggleAll(open);
    this.rows.toggleAll(open);
    this.draw();
  }

  /** What a running call has printed so far. @param {Node} node */
  output(node) {
    const drafts = this.feed.logs.get(node.run)?.drafts ?? new Map();
    return [...drafts].filter(([key]) => key.startsWith(`${node.call}\n`)).map(([, text]) => text).join("");
  }

  showInspector() {
    this.inspector.open();
  }

  /** @param {number} by */
  #move(by) {
    this.timeline.grid?.move(by);
  }

  /** @param {boolean} last */
  #edge(last) {
    if (this.mode === "conversation") return this.conversation.edge(last);
    const { grid } = this.timeline;
    grid?.scroller.focus({ preventScroll: true });
    grid?.select(last ? this.rows.current().length - 1 : 0);
    if (last) this.setFollow(true);
  }

  /** @param {boolean} open */
  #fold(open) {
    const row = this.timeline.grid?.row;
    if (!row || this.mode !== "timeline") return;
    if (row.open === null || row.open === open) {
      if (open) return this.#move(1);
      const rows = this.rows.current();
      for (let i = rows.indexOf(row) - 1; i >= 0; i -= 1) if (rows[i].level < row.level) return this.timeline.grid?.select(i);
      return;
    }
    this.toggle(row.node, open);
  }

  /** @param {number} by */
  async #sibling(by) {
    const ids = lastOrder.length ? lastOrder : (await read("/v1/runs?limit=200")).runs.map((/** @type {Run} */ run) => run.run_id);
    const next = ids[ids.indexOf(this.id) + by];
    if (next) this.page.go(`/runs/${segment(next)}`);
    else say(by < 0 ? "This is the first run of the list" : "This is the last run of the list", true);
  }

  /** The run that continues a suspended one: only its start names the other, so the session's later starts are read. */
  async #findSuccessor() {
    const { meta } = this.feed.root;
    if (!meta?.session_id || meta.status !== "suspended") return;
    const { runs } = await read(`/v1/sessions/${segment(meta.session_id)}/runs`);
    const later = runs
      .filter((/** @type {Run} */ run) => run.agent_id === meta.agent_id && run.parent_run_id === meta.parent_run_id && Date.parse(run.started_at) >= Date.parse(meta.started_at) && run.run_id !== this.id)
      .sort((/** @type {Run} */ a, /** @type {Run} */ b) => Date.parse(a.started_at) - Date.parse(b.started_at));
    for (const run of later.slice(0, 20)) {
      const { records } = await read(`/v1/runs/${segment(run.run_id)}/records?limit=1`);
      if (records[0]?.payload && JSON.parse(records[0].payload).predecessor_run_id === this.id) {
        this.successor = run.run_id;
        this.draw();
        return;
      }
    }
  }

  /** Go to the record that the address names, once it is there. */
  #arrive() {
    if (!this.wanted || this.mode !== "timeline") return;
    const node = this.feed.root.tree.bySeq.get(this.wanted);
    if (!node) return;
    this.wanted = 0;
    this.rows.reveal(node);
    const { grid } = this.timeline;
    const at = this.rows.indexOf(node.id);
    if (!grid || at < 0) return;
    grid.update();
    grid.pool.center(at);
    grid.select(at);
  }

  draw() {
    const { main } = this.page;
    main.className = "runpage";
    const { root } = this.feed;
    document.title = `${root.meta?.agent_id ?? "Run"} ${shortId(this.id, 0)} · Runlane`;
    const gone = this.fault ?? (this.feed.state.kind === "purged" ? this.feed.state : null);
    if (gone || !this.opened) {
      render(html`<section class="head"></section><div class="page-state">${this.fault ? failure(this.fault, () => void this.open()) : gone ? failure(new Problem(410, "session_purged", false, ""), () => {}) : ghosts("Reading the run")}</div>`, main);
      return;
    }
    const talk = this.mode === "conversation";
    render(html`${this.#head()}${this.#banner()}<div class="split"><div class="place" ?hidden=${talk}></div><div class="place talkplace" ?hidden=${!talk}></div><aside class="insp" aria-label="Selected record"></aside></div>`, main);
    const [rows, chat] = /** @type {NodeListOf<HTMLElement>} */ (main.querySelectorAll(".place"));
    if (talk) this.conversation.draw(chat);
    else this.timeline.draw(rows);
    this.#arrive();
    this.inspector.draw();
    const { tree, status, records } = root;
    say(`${STATUS[status] ?? status}, ${many(records.length, "record")}${tree.waiting ? `, ${tree.waiting} waiting for an answer` : ""}${tree.errors ? `, ${many(tree.errors, "failure")}` : ""}`);
  }

  #banner() {
    const { root, state, lastCommit } = this.feed;
    if (root.fault) return html`<div class="banner bad">${icon("lost", "s failed")}<span><b class="strong">Reading stopped</b> after record ${count(root.records.length)}.</span><span class="push"></span><button class="btn" type="button" @click=${() => location.reload()}>Try again</button></div>`;
    if (state.kind === "lost" || state.kind === "refused") {
      return html`<div class="banner bad" role="alert">${icon("lost", "s failed")}<span><b class="strong">No connection.</b> You see the run up to record ${count(root.records.length)}${lastCommit ? `, stored ${clock(Date.parse(lastCommit))}` : ""}; the rest follows once the gateway answers.</span><span class="push"></span>${state.kind === "lost" ? html`<button class="btn" type="button" @click=${() => this.feed.retry()}>Retry now</button>` : nothing}</div>`;
    }
    const ended = root.records.at(-1)?.session_status === "ended" && !terminal(root.status);
    if (ended) return html`<div class="banner">${icon("s-canceled", "s suspended")}<span><b class="strong">The session has ended.</b> This run may still finish; no other can start in it.</span></div>`;
    return nothing;
  }

  #head() {
    const { root } = this.feed;
    const { tree, status } = root;
    const meta = /** @type {Run} */ (root.meta);
    const cancel = tree.cancel && !terminal(status) ? "cancel requested" : "";
    const took = (tree.ended ? tree.endedAt : this.asOf) - this.start;
    const fresh = this.feed.root.records.length - this.pausedAt;
    const talk = this.mode === "conversation";
    return html`<section class="head" aria-label="Run">
      <div class="title">${statusMark(status, cancel || (terminal(status) ? "" : tree.phase.replaceAll("_", " ")), true)}<h1 class="cut" title=${meta.agent_id}>${meta.agent_id}</h1>
        <span class="idc mono soft" title=${this.id}>${shortId(this.id)}<button class="icon t" type="button" aria-label="Copy run id" @click=${() => void copy(this.id, "Run id")}>${icon("copy", "s")}</button></span>
        <span class="push"></span><span class="timer" role="timer" aria-label="Elapsed">${duration(took, !tree.ended)}</span>
        <button class="btn follow" type="button" ?hidden=${!this.live} aria-pressed=${String(this.follow)} title="Keep the newest record in view" @click=${() => this.setFollow(!this.follow)}>${this.follow ? html`${icon("down", "s")}Following` : html`${icon("pause", "s")}Paused${fresh > 0 && this.opened ? `, ${count(fresh)} new` : ""}`}</button>
        <button class="icon wide" type="button" aria-label="Copy link to this view" @click=${() => this.copyLink()}>${icon("link")}</button><button class="icon wide" type="button" aria-label="Download all records" @click=${() => this.download()}>${icon("down")}</button></div>
      ${this.#facts(meta)}
      <div class="tabs"><a href="?" aria-current=${talk ? nothing : "page"} @click=${(/** @type {Event} */ e) => this.#tab(e, "timeline")}>Timeline</a><a href="?view=conversation" aria-current=${talk ? "page" : nothing} @click=${(/** @type {Event} */ e) => this.#tab(e, "conversation")}>Conversation</a>
        <span class="push wide">${talk ? this.conversation.chips() : this.#chips()}</span></div>
    </section>`;
  }

  /** @param {Event} event @param {string} mode */
  #tab(event, mode) {
    event.preventDefault();
    this.setMode(mode);
  }

  #chips() {
    const { tree } = this.feed.root;
    /** @type {Record<string, number>} */
    const counts = { tools: tree.tools, model: tree.models, children: tree.links.size, waiting: tree.waiting, errors: tree.errors };
    return CHIPS.map(([kind, name, symbol]) => html`<button class="chip" type="button" aria-pressed=${String(this.rows.only.has(kind))} @click=${() => this.only(kind)}>${icon(symbol, `s ${CHIP_CLASS[kind]}`)} ${name} <b>${count(counts[kind])}</b></button>`);
  }

  /** @param {Run} meta */
  #facts(meta) {
    const { tree, records } = this.feed.root;
    const inner = [...this.feed.logs.values()].filter((log) => log !== this.feed.root);
    const inChildren = inner.reduce((sum, log) => sum + log.tree.tokens, 0);
    const waiting = inner.filter((log) => log.status === "suspended").length;
    const bad = [...tree.calls.values()].filter((node) => node.kind === "tool" && node.failed).length;
    const run = (/** @type {string} */ id, /** @type {string} */ none) => (id ? html`<a href="/runs/${segment(id)}">${idText(id)}</a>` : html`<span class="quiet">${none}</span>`);
    const labels = Object.entries(meta.labels).map(([k, v]) => `${k}=${v}`).join("  ");
    return html`<dl class="facts">
      <div><dt>Session</dt><dd class="cut">${meta.session_id ? html`<a href="/?session=${encodeURIComponent(meta.session_id)}&since=all" title=${meta.session_id}>${shortId(meta.session_id, 14)}</a>` : html`<span class="quiet">none</span>`}</dd></div>
      <div><dt>Started</dt><dd>${time(meta.started_at, undefined, true)}</dd></div>
      <div><dt>Tokens</dt><dd>${count(tree.tokens)}${inChildren ? html` <span class="quiet">+ ${count(inChildren)} in children</span>` : nothing}</dd></div>
      <div><dt>Records</dt><dd class="nrecords">${count(records.length)}</dd></div>
      <div class="wide"><dt>Tools</dt><dd>${count(tree.tools)}${bad ? html`, <span class="failed">${count(bad)} failed</span>` : nothing}</dd></div>
      <div class="wide"><dt>Children</dt><dd>${count(tree.links.size)}${waiting ? html`, <span class="suspended">${waiting} waiting</span>` : nothing}</dd></div>
      <div class="rel wide"><dt>Continues</dt><dd>${run(tree.predecessor, "none")}</dd></div>
      <div class="wide"><dt>Continued by</dt><dd>${run(this.successor, "none")}</dd></div>
      <div class="wide"><dt>Parent</dt><dd>${run(meta.parent_run_id, "none, root run")}</dd></div>
      <div class="rel wide"><dt>Labels</dt><dd class="soft cut" title=${labels}>${labels || html`<span class="quiet">none</span>`}</dd></div>
      ${meta.cancellation_reason || tree.cancel ? html`<div class="wide"><dt>Cancel reason</dt><dd class="cut">${meta.cancellation_reason || tree.cancel}</dd></div>` : nothing}
    </dl>`;
  }
}
