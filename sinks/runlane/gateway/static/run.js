/** @file One run: its header, then timeline or conversation, and the inspector beside both. */

import { now, Problem, read, segment } from "./api.js";
import { Conversation } from "./conversation.js";
import { Feed, terminal } from "./feed.js";
import { Inspector } from "./inspector.js";
import { left, sessionHref } from "./list.js";
import { clock, count, duration, many, object, parse, query, shortId } from "./text.js";
import { Timeline } from "./timeline.js";
import { Rows } from "./tree.js";
import { copy, failure, focus, ghosts, icon, iconButton, idText, keys, saveRecords, say, STATUS, statusMark, time } from "./ui.js";
import { html, nothing, render } from "./vendor/lit-html.js";

/** What the rows can be narrowed to: its name and icon. @type {Record<string, [string, string]>} */
const CHIPS = { tools: ["Tools", "tool"], model: ["Model", "say"], children: ["Children", "child"], waiting: ["Waiting", "wait"], errors: ["Errors", "s-failed"] };
const FROZEN = ["waiting", "lost", "refused", "purged"];

export class RunView {
  /** @param {import("./app.js").Page} page @param {string} id */
  constructor(page, id) {
    this.page = page;
    this.id = id;
    this.addressTimer = this.pausedAt = this.wanted = 0;
    this.feed = new Feed(id, page.later);
    this.rows = new Rows(this.feed);
    this.timeline = new Timeline(this);
    this.conversation = new Conversation(this);
    this.inspector = new Inspector(this);
    /** @type {TreeNode | null} */
    this.selected = null;
    this.follow = this.opened = this.talk = false;
    /** @type {unknown} */
    this.fault = null;
    this.known = Number.NaN;
    this.successor = "";
    this.located();
    this.#keys();
    void this.open();
  }

  async open() {
    this.fault = null;
    try {
      await this.feed.open();
      this.opened = true;
      this.pausedAt = this.feed.root.records.length;
      this.follow = this.live && !this.wanted;
      this.#findSuccessor().catch(() => {});
    } catch (fault) {
      if (this.feed.abort.signal.aborted) return;
      this.fault = fault;
    }
    this.page.draw();
  }

  #keys() {
    const { page, feed, timeline, conversation, inspector } = this;
    const step = (/** @type {number} */ by) => (this.talk ? conversation.move(by) : timeline.grid?.move(by));
    const seek = (/** @type {(row: Row) => boolean} */ test) => timeline.grid?.seek(test);
    const parent = () => feed.root.meta?.parent_run_id;
    keys.current = {
      j: () => step(1), k: () => step(-1), g: () => this.#edge(false), G: () => this.#edge(true),
      "←": () => this.#fold(false), "→": () => this.#fold(true), Enter: () => inspector.open(),
      Esc: () => (inspector.up ? inspector.close() : page.go(`/${left.search}`)),
      "/": () => focus(".find input"), f: () => focus(".tabs .chip"), e: () => this.toggleAll(true), w: () => this.toggleAll(false),
      o: () => inspector.show("Overview"), p: () => inspector.show("Payload"), r: () => inspector.show("Raw"),
      t: () => this.#show(false), c: () => this.#show(true), 0: () => timeline.choose(null), "+": () => timeline.zoom(0.5), "-": () => timeline.zoom(2),
      ".": () => this.setFollow(!this.follow), x: () => seek((row) => row.node.failed), a: () => seek((row) => row.node.kind === "wait" && row.node.end === null),
      u: () => parent() && page.go(`/runs/${segment(parent() ?? "")}`), y: () => this.copyLink(), d: () => this.#download(),
      "[": () => this.#sibling(-1), "]": () => this.#sibling(1),
    };
  }

  state() {
    return this.feed.state;
  }

  endedAt() {
    return clock(this.feed.root.tree.last);
  }

  close() {
    clearTimeout(this.addressTimer);
    this.feed.close();
    this.timeline.grid?.close();
    this.conversation.turns?.close();
  }

  /** Take the view from the address. */
  located() {
    const q = new URLSearchParams(location.search);
    this.talk = q.get("view") === "conversation";
    this.wanted = Number(q.get("record"));
    this.rows.find = q.get("find") ?? "";
    this.rows.only = new Set((q.get("only") ?? "").split(",").filter((kind) => Object.hasOwn(CHIPS, kind)));
    if (this.opened) this.page.draw();
  }

  /** Write the view to the address. */
  #address() {
    const node = this.selected?.run === this.id ? this.selected : null;
    const facts = { view: this.talk && "conversation", find: this.rows.find, only: [...this.rows.only].join(","), record: node?.recs[0]?.seq ?? node?.kids[0]?.recs[0]?.seq };
    this.page.replace(location.pathname + query(facts));
    this.draw();
  }

  /** The run's start in ms. */
  get start() {
    return this.feed.root.tree.start || Date.parse(this.feed.root.meta?.started_at ?? "");
  }

  /** Whether the run, or a child shown in it, goes on. */
  get live() {
    return [...this.feed.logs.values()].some((log) => log.status === "running");
  }

  /** The moment up to which what is shown is known to be true: timers stop there when the stream is lost. */
  get asOf() {
    if (!this.live) return Math.max(...[...this.feed.logs.values()].map((log) => log.tree.last || this.start));
    if (!FROZEN.includes(this.feed.state.kind) || !this.known) this.known = now();
    return this.known;
  }

  /** @param {TreeNode | null} node */
  select(node) {
    this.selected = node;
    if (this.follow && this.rows.current().at(-1)?.node.id !== node?.id) this.setFollow(false);
    clearTimeout(this.addressTimer);
    this.addressTimer = setTimeout(() => this.#address(), 300);
    this.inspector.draw();
  }

  /** Copy the address of this view, or that of a child's record. */
  copyLink() {
    const node = this.selected;
    this.#address();
    copy(node && node.run !== this.id && node.recs[0] ? `${location.origin}/runs/${segment(node.run)}?record=${node.recs[0].seq}` : location.href, "link");
  }

  #download() {
    saveRecords(this.id, this.feed.root.records);
  }

  /** @param {boolean} talk */
  #show(talk) {
    this.talk = talk;
    this.#address();
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
  }

  /** @param {TreeNode} node @param {boolean} open */
  toggle(node, open) {
    this.rows.toggle([node], open);
    this.draw();
  }

  /** @param {boolean} open */
  toggleAll(open) {
    if (this.talk) return this.conversation.toggleAll(open);
    this.rows.toggleAll(open);
    this.draw();
  }

  /** @param {boolean} last */
  #edge(last) {
    if (this.talk) this.conversation.goTo(last ? Number.POSITIVE_INFINITY : 0);
    else this.timeline.grid?.select(last ? Number.POSITIVE_INFINITY : 0);
    if (last) this.setFollow(true);
  }

  /** Open or close the selected row; where that is done, go in or out. @param {boolean} open */
  #fold(open) {
    const { grid } = this.timeline;
    const row = grid?.row;
    if (!grid || !row) return;
    if (row.open === !open) return this.toggle(row.node, open);
    const rows = this.rows.current();
    const out = rows.slice(0, rows.indexOf(row)).findLastIndex((one) => one.level < row.level);
    if (open) grid.move(1);
    else if (out >= 0) grid.select(out);
  }

  /** @param {number} by */
  #sibling(by) {
    const { ids } = left;
    const next = ids[ids.indexOf(this.id) + by];
    if (next) this.page.go(`/runs/${segment(next)}`);
    else say(`This is the ${by < 0 ? "first" : "last"} run of the list`, true);
  }

  /** The run that continues a suspended one: only its own start names the other, so later starts of the session are read. */
  async #findSuccessor() {
    const { meta } = this.feed.root;
    if (!meta?.session_id || meta.status !== "suspended") return;
    const { runs } = await read(`/v1/sessions/${segment(meta.session_id)}/runs`);
    const later = runs.filter((/** @type {Run} */ run) => run.agent_id === meta.agent_id && run.run_id !== this.id && run.started_at >= meta.started_at).slice(0, 20);
    for (const run of later) {
      const { records } = await read(`/v1/runs/${segment(run.run_id)}/records?limit=1`);
      if (object(parse(records[0]?.payload ?? "")).predecessor_run_id === this.id) this.successor = run.run_id;
    }
    this.page.draw();
  }

  /** Go to the record that the address names, once it is there. */
  #arrive() {
    const node = this.feed.root.tree.bySeq.get(this.wanted);
    if (!node || this.talk) return;
    this.wanted = 0;
    this.timeline.grid?.select(this.rows.reveal(node), true);
  }

  draw() {
    const { main } = this.page;
    const { root, state } = this.feed;
    main.className = "runpage";
    document.title = `${root.meta?.agent_id ?? "Run"} ${shortId(this.id)} · Runlane`;
    const fault = this.fault ?? (state.kind === "purged" ? new Problem(410, "session_purged", false) : null);
    if (fault || !this.opened) {
      render(html`<h1 class="sr">Run</h1>${fault ? failure(fault, () => void this.open()) : ghosts("Reading the run")}`, main);
      return;
    }
    render(html`${this.#head()}${this.#banner()}<div class="split"><div class="place" ?hidden=${this.talk}></div><div class="place" ?hidden=${!this.talk}></div><aside class="insp" aria-label="Selected record"></aside></div>`, main);
    const [rows, chat] = /** @type {NodeListOf<HTMLElement>} */ (main.querySelectorAll(".place"));
    if (this.talk) this.conversation.draw(chat);
    else this.timeline.draw(rows);
    this.#arrive();
    this.inspector.draw();
    const { errors } = root.tree;
    say(`${STATUS[root.status] ?? ""}, ${many(root.records.length, "record")}${this.waiting ? `, ${this.waiting} waiting for an answer` : ""}${errors ? `, ${many(errors, "failure")}` : ""}`);
  }

  /** How many items wait for an answer, here and in the children. */
  get waiting() {
    return [...this.feed.logs.values()].reduce((sum, log) => sum + log.tree.waiting.length, 0);
  }

  #banner() {
    const { root, state } = this.feed;
    const last = root.records.at(-1);
    const form = (/** @type {string} */ cls, /** @type {string} */ title, /** @type {string} */ words, more = nothing) => html`<div class="banner ${cls}" role="status">${icon(cls ? "lost" : "s-canceled", "s")}<span><b class="strong">${title}</b> ${words}</span><span class="push"></span>${more}</div>`;
    if (root.fault || state.kind === "lost" || state.kind === "refused") return form("bad", "No connection.", `Shown up to record ${count(root.records.length)}, stored ${clock(Date.parse(last?.committed_at ?? ""))}; nothing behind that is lost.`, /** @type {any} */ (html`<button class="btn" type="button" @click=${() => (root.fault ? location.reload() : this.feed.retry())}>Retry now</button>`));
    if (last?.session_status === "ended" && !terminal(root.status)) return form("", "The session has ended.", "This run may finish; no other can start.");
    return nothing;
  }

  #head() {
    const { tree, status, records, complete } = this.feed.root;
    const meta = /** @type {Run} */ (this.feed.root.meta);
    const phase = terminal(status) ? "" : tree.cancel ? "cancel requested" : tree.phase.replaceAll("_", " ");
    if (!complete) this.pausedAt = records.length;
    const fresh = records.length - this.pausedAt;
    const tab = (/** @type {string} */ name, /** @type {boolean} */ talk) => html`<button type="button" aria-current=${this.talk === talk ? "page" : nothing} @click=${() => this.#show(talk)}>${name}</button>`;
    return html`<section class="head" aria-label="Run">
      <div class="title">${statusMark(status, phase, "pill")}<h1 class="cut" title=${meta.agent_id}>${meta.agent_id}</h1><span class="idc mono soft" title=${this.id}>${shortId(this.id, 8)}${iconButton("Copy run id", "copy", () => copy(this.id, "run id"))}</span>
        <span class="push"></span><span class="timer" role="timer" aria-label="Elapsed">${duration((tree.ended ? tree.last : this.asOf) - this.start, !tree.ended)}</span>
        <button class="btn follow" type="button" ?hidden=${!this.live} aria-pressed=${this.follow} title="Keep the newest record in view" @click=${() => this.setFollow(!this.follow)}>${icon(this.follow ? "down" : "pause", "s")}${this.follow ? "Following" : `Paused${fresh > 0 ? `, ${count(fresh)} new` : ""}`}</button>
        ${iconButton("Copy link to this view", "link", () => this.copyLink(), "wide")}${iconButton("Download all records", "down", () => this.#download(), "wide")}</div>
      ${this.#facts(meta)}
      <div class="tabs">${tab("Timeline", false)}${tab("Conversation", true)}<span class="push wide">${this.talk ? nothing : this.#chips()}</span></div></section>`;
  }

  #chips() {
    const { tools, models, children, errors } = this.feed.root.tree;
    const counts = [tools, models, children.size, this.waiting, errors];
    const { only } = this.rows;
    const flip = (/** @type {string} */ kind) => {
      if (!only.delete(kind)) only.add(kind);
      this.#address();
    };
    return Object.entries(CHIPS).map(([kind, [name, symbol]], i) => html`<button class="chip" type="button" aria-pressed=${only.has(kind)} @click=${() => flip(kind)}>${icon(symbol, `s k-${symbol} ${symbol.slice(2)}`)}<span>${name}</span> <b>${count(counts[i])}</b></button>`);
  }

  /** @param {Run} meta */
  #facts(meta) {
    const { tree, records } = this.feed.root;
    const inner = [...this.feed.logs.values()].slice(1);
    const tokens = inner.reduce((sum, log) => sum + log.tree.tokens, 0);
    const held = inner.filter((log) => log.status === "suspended").length;
    const none = html`<span class="quiet">none</span>`;
    const run = (/** @type {string} */ id) => (id ? html`<a href="/runs/${segment(id)}">${idText(id)}</a>` : none);
    const labels = Object.entries(meta.labels).map((pair) => pair.join("=")).join("  ");
    const reason = meta.cancellation_reason || tree.cancel;
    /** @type {[string, unknown, string?][]} */
    const facts = [
      ["Session", meta.session_id ? html`<a href=${sessionHref(meta.session_id)} title=${meta.session_id}>${shortId(meta.session_id, 14)}</a>` : none],
      ["Started", time(meta.started_at)],
      ["Tokens", html`${count(tree.tokens)}${tokens ? html` <span class="quiet">+ ${count(tokens)} in children</span>` : nothing}`],
      ["Records", count(records.length)],
      ["Tools", html`${count(tree.tools)}${tree.badTools ? html`, <span class="failed">${count(tree.badTools)} failed</span>` : nothing}`, "wide"],
      ["Children", html`${count(tree.children.size)}${held ? html`, <span class="suspended">${held} waiting</span>` : nothing}`, "wide"],
      ["Continues", run(tree.predecessor), "rel wide"], ["Continued by", run(this.successor), "wide"], ["Parent", run(meta.parent_run_id), "wide"],
      ["Labels", labels ? html`<span title=${labels}>${labels}</span>` : none, "rel wide"],
    ];
    if (reason) facts.push(["Cancel reason", reason, "wide"]);
    return html`<dl class="facts">${facts.map(([name, value, cls]) => html`<div class=${cls ?? ""}><dt>${name}</dt><dd class="cut">${value}</dd></div>`)}</dl>`;
  }
}
