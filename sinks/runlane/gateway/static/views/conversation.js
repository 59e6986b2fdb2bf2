/** @file The conversation: turns on the left, messages in a window of bounded size, drafts at the end. */

import { segment } from "../lib/api.js";
import { bytes, clock, count, duration, line, many, short, shortId } from "../lib/format.js";
import { icon } from "../lib/parts.js";
import { Pool } from "../lib/pool.js";
import { Chat } from "../model/chat.js";
import { brief, itemsOf, object, str } from "../model/payload.js";
import { html, nothing, render } from "../vendor/lit-html.js";

/** Messages in the document at most, and how many the window moves by. */
const WINDOW = 60;
const SHIFT = 30;
const LONGEST = 16_000;
const IMAGES = new Set(["png", "jpeg", "gif", "webp"]);
const IMAGE_MOST = 2_000_000;

export class Conversation {
  /** @param {import("./run.js").RunView} run */
  constructor(run) {
    this.run = run;
    this.chat = new Chat();
    this.from = -1;
    this.current = -1;
    this.top = 0;
    this.hidden = new Set(["system"]);
    /** @type {boolean | null} what "open all" and "close all" asked for */
    this.all = null;
    /** @type {Pool | undefined} */
    this.toc = undefined;
  }

  /** Switches for what a reader may not want to see. */
  chips() {
    return [["thinking", "Thinking"], ["tools", "Tools"], ["system", "System"]].map(
      ([kind, name]) => html`<button class="chip" type="button" aria-pressed=${String(!this.hidden.has(kind))} @click=${() => this.#flip(kind)}>${name}</button>`,
    );
  }

  /** @param {string} kind */
  #flip(kind) {
    if (!this.hidden.delete(kind)) this.hidden.add(kind);
    this.run.draw();
  }

  /** @param {boolean} open */
  toggleAll(open) {
    this.all = open;
    for (const fold of this.run.page.main.querySelectorAll("details")) fold.open = open;
  }

  get entries() {
    return this.hidden.has("system") ? this.chat.entries.filter((entry) => entry.role !== "system") : this.chat.entries;
  }

  /** @param {HTMLElement} place */
  draw(place) {
    const { root } = this.run.feed;
    this.chat.update(root);
    const { entries } = this;
    const most = Math.max(0, entries.length - WINDOW);
    if (this.from < 0 || this.run.follow) this.from = most;
    this.from = Math.min(this.from, most);
    const shown = entries.slice(this.from, this.from + WINDOW);
    const atEnd = this.from + WINDOW >= entries.length;
    render(
      html`<section class="talk" aria-label="Conversation"><nav class="toc" aria-label="Turns" tabindex="0"></nav>
        <div class="turns" tabindex="0" role="log" aria-live="off" aria-label="Messages">
          ${this.from > 0 ? html`<button class="btn more" type="button" @click=${() => this.#shift(-SHIFT)}>${count(this.from)} earlier</button>` : nothing}
          ${shown.map((entry, i) => this.#entry(entry, this.from + i))}
          ${atEnd ? this.#drafts() : html`<button class="btn more" type="button" @click=${() => this.#shift(SHIFT)}>${count(entries.length - this.from - WINDOW)} later</button>`}
          ${entries.length || root.drafts.size ? nothing : this.#empty()}
        </div></section>`,
      place,
    );
    const scroller = /** @type {HTMLElement} */ (place.querySelector(".turns"));
    if (this.scroller !== scroller) this.#watch(scroller);
    this.#contents(/** @type {HTMLElement} */ (place.querySelector(".toc")));
    if (this.run.follow) scroller.scrollTop = scroller.scrollHeight;
  }

  /** @type {HTMLElement | undefined} */
  scroller = undefined;

  /** @param {HTMLElement} scroller */
  #watch(scroller) {
    this.scroller = scroller;
    scroller.addEventListener("scroll", () => {
      const up = scroller.scrollTop < this.top;
      this.top = scroller.scrollTop;
      const below = scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight;
      if (up && below > 40 && this.run.follow) this.run.setFollow(false);
      if (scroller.scrollTop < 200 && up && this.from > 0) this.#shift(-SHIFT);
      else if (below < 200 && !up && this.from + WINDOW < this.entries.length) this.#shift(SHIFT);
    });
  }

  /** Move the window and keep what is in view where it is. @param {number} by */
  #shift(by) {
    const anchor = [...(this.scroller?.querySelectorAll(".msg") ?? [])].find((element) => element.getBoundingClientRect().bottom > 120);
    const id = anchor?.id;
    const before = anchor?.getBoundingClientRect().top ?? 0;
    this.from = Math.max(0, Math.min(this.from + by, this.entries.length - WINDOW));
    this.run.draw();
    const after = id ? document.getElementById(id)?.getBoundingClientRect().top : undefined;
    if (after !== undefined && this.scroller) this.scroller.scrollTop += after - before;
  }

  /** @param {number} by */
  move(by) {
    this.#goTo(this.current < 0 ? this.from : this.current + by);
  }

  /** @param {boolean} last */
  edge(last) {
    this.#goTo(last ? this.entries.length - 1 : 0);
    if (last) this.run.setFollow(true);
  }

  /** @param {number} index */
  #goTo(index) {
    const { entries } = this;
    if (!entries.length) return;
    this.current = Math.max(0, Math.min(entries.length - 1, index));
    this.run.setFollow(false);
    if (this.current < this.from || this.current >= this.from + WINDOW) this.from = Math.max(0, this.current - SHIFT);
    const entry = entries[this.current];
    this.run.select(this.run.feed.root.tree.bySeq.get(entry.record.seq) ?? null);
    this.run.draw();
    document.getElementById(`m${this.current}`)?.scrollIntoView({ block: "start" });
  }

  /** The turns, pooled. @param {HTMLElement} place */
  #contents(place) {
    const turns = [...this.run.feed.root.tree.turns.entries()];
    this.turnList = turns;
    this.toc ??= new Pool(place, { count: () => this.turnList.length, height: () => 44, row: "turnlink", role: "list", draw: (element, i) => this.#turnLink(element, i) });
    this.toc.update();
  }

  /** @type {[string, Node][]} */
  turnList = [];

  /** @param {HTMLElement} element @param {number} index */
  #turnLink(element, index) {
    const [id, node] = this.turnList[index];
    const end = this.run.timeline.end(node);
    const took = duration((end ?? this.run.asOf) - node.start, end === null);
    const tools = node.kids.filter((kid) => kid.kind === "tool").length;
    const children = node.kids.filter((kid) => kid.kind === "child").length;
    const facts = [tools && many(tools, "tool"), children && many(children, "child", "children"), node.tokens && `${short(node.tokens)} tokens`].filter(Boolean).join(", ");
    const waits = node.kids.some((kid) => kid.kind === "wait" && kid.end === null);
    const entry = this.entries[this.current];
    const go = () => this.#goTo(this.entries.findIndex((one) => one.turn === id));
    element.setAttribute("role", "listitem");
    render(
      html`<button type="button" aria-current=${entry?.turn === id ? "true" : nothing} @click=${go}><span class="quiet">${node.number}</span><span class="cut">${line(node.sum || `Turn ${node.number}`, 60)}</span><span class=${end === null ? "running" : "quiet"}>${took}</span>
        <small class="cut">${facts}${node.kids.some((kid) => kid.failed) ? html` ${icon("s-failed", "s failed")}<span class="sr">with a failure</span>` : nothing}${waits ? html` ${icon("s-suspended", "s suspended")}<span class="sr">waits</span>` : nothing}</small></button>`,
      element,
    );
  }

  #empty() {
    const { root } = this.run.feed;
    return html`<div class="empty"><p class="strong">${root.complete ? "No transcript" : "Reading"}</p><p class="soft">${root.complete ? "This run has stored no messages yet." : "Messages appear as they are read."}</p></div>`;
  }

  /** @param {import("../model/chat.js").Entry} entry @param {number} index */
  #entry(entry, index) {
    const { tree } = this.run.feed.root;
    const turn = tree.turns.get(entry.turn);
    const names = /** @type {Record<string, string>} */ ({ assistant: "Agent", user: "User", system: "System", earlier: "" });
    const who = Object.hasOwn(names, entry.role) ? names[entry.role] : entry.role;
    const under = entry.role === "assistant" && turn ? `turn ${turn.number}` : clock(entry.time);
    return html`<article class="msg ${entry.role === "user" ? "user" : ""} ${entry.role === "assistant" ? "open" : ""}" id=${`m${index}`} aria-current=${this.current === index ? "true" : nothing}>
      <div class="who"><b class="cut">${who}</b><span>${under}</span></div>
      <div class="body">${entry.earlier.length ? this.#earlier(entry) : entry.items.map((item) => this.#item(item))}</div></article>`;
  }

  /** @param {import("../model/chat.js").Entry} entry */
  #earlier(entry) {
    const { predecessor } = this.run.feed.root.tree;
    const body = entry.earlier.slice(-50).map((one) => html`<p class="soft"><b>${one.role}</b></p>${one.items.map((item) => this.#item(item))}`);
    return this.#fold("say", "k-mark", html`<span>${many(entry.earlier.length, "earlier message")}${predecessor ? html` from <span class="mono">${shortId(predecessor, 0)}</span>` : nothing}</span>`, body, false);
  }

  /** @param {import("../model/chat.js").Item} item @returns {unknown} */
  #item(item) {
    switch (item.kind) {
      case "text":
        return item.text ? this.#text(item.text) : nothing;
      case "think":
        return this.hidden.has("thinking") ? nothing : this.#fold("think", "k-model", item.text ? html`<span>Thinking</span><span class="quiet cut">${line(item.text, 90)}</span>` : html`<span>Thinking, redacted</span>`, item.text ? this.#text(item.text, "soft") : nothing, false);
      case "calls":
        return this.hidden.has("tools") ? nothing : this.#calls(item.calls);
      case "child":
        return this.#child(item.node);
      case "wait":
        return this.#wait(item.node);
      case "sources":
        return html`<ul class="sources small">${itemsOf(item.part.citations).map(object).map((cite) => html`<li><span class="strong">${line(str(cite.title) || "Source")}</span> <span class="quiet">${line(str(cite.source))}</span></li>`)}</ul>`;
      default:
        return this.#media(item.part);
    }
  }

  /** @param {string} text @param {string} [cls] */
  #text(text, cls = "") {
    const cut = text.length > LONGEST;
    return html`<p class="text ${cls}">${cut ? text.slice(0, LONGEST) : text}</p>${cut ? html`<p class="small quiet">${bytes(LONGEST)} of ${bytes(text.length)} shown; the inspector holds the rest</p>` : nothing}`;
  }

  /** @param {string} symbol @param {string} cls @param {unknown} summary @param {unknown} body @param {boolean} open */
  #fold(symbol, cls, summary, body, open) {
    return html`<details class="fold" ?open=${this.all ?? open}><summary>${icon("twist", "tw")}${icon(symbol, `s ${cls}`)}${summary}</summary><div class="in">${body}</div></details>`;
  }

  /** @param {import("../model/chat.js").Call} call */
  #facts(call) {
    const { tree } = this.run.feed.root;
    const node = tree.modelCalls.get(call.id) ?? tree.calls.get(call.id);
    const failed = call.result?.is_error === true || node?.failed === true;
    const took = node ? duration((this.run.timeline.end(node) ?? this.run.asOf) - node.start) : "";
    const words = call.result ? brief(call.result.content) : (node?.sum ?? "");
    return { node, failed, took, words };
  }

  /** @param {import("../model/chat.js").Call[]} calls */
  #calls(calls) {
    const facts = calls.map((call) => ({ call, ...this.#facts(call) }));
    const failed = facts.filter((fact) => fact.failed).length;
    const inner = facts.map(({ call, node, failed: bad, took, words }) => html`<div class="call ${bad ? "failed" : ""}">${bad ? icon("s-failed", "s") : icon("tool", "s k-tool")}<button class="mono link" type="button" @click=${() => node && this.#show(node)}>${line(call.name, 80)}</button><span class="${bad ? "" : "quiet"} cut">${line(words || brief(call.input), 160)}</span><span class="dur">${took}</span></div>`);
    if (calls.length === 1) return inner;
    return this.#fold("tool", "k-tool", html`<span>${many(calls.length, "tool call")}</span>${failed ? html`<span class="failed">${failed} failed</span>` : nothing}`, inner, failed > 0);
  }

  /** @param {Node} node */
  #show(node) {
    this.run.select(node);
    this.run.showInspector();
  }

  /** @param {Node} node */
  #child(node) {
    const log = this.run.feed.child(node.child);
    const last = [...log.tree.bySeq.values()].reverse().find((one) => one.label === "Assistant");
    const status = log.status;
    return this.#fold("child", "k-child", html`<span class="strong cut">${node.label}</span><span class="mono wide">${shortId(node.child, 0)}</span>${status ? html`${icon(`s-${status}`, `s ${status}`)}<span class="sr">${status}</span>` : nothing}${log.tree.tokens ? html`<span class="quiet wide">${short(log.tree.tokens)} tokens</span>` : nothing}`, html`${last ? this.#text(last.sum, "soft") : nothing}<p><a href="/runs/${segment(node.child)}">Open the run</a></p>`, true);
  }

  /** @param {Node} node */
  #wait(node) {
    const open = this.run.timeline.end(node) === null || (node.end === null && this.run.feed.root.status === "suspended");
    if (!open) return html`<div class="call">${icon("wait", "s k-wait")}<span>${node.label}</span><span class="quiet cut">${line(node.sum)}</span><span class="quiet">${node.note === "waiting for an answer" ? "" : node.note}</span></div>`;
    return html`<div class="note suspended ask"><p class="st suspended">${icon("s-suspended")}<span>Waiting: ${node.label.toLowerCase()}</span></p><p class="q">${line(node.sum, 1000)}</p>
      <p>Asked at ${clock(node.start)}. The product that started the run takes the answer; it shows here once it is stored.</p></div>`;
  }

  /** @param {Record<string, any>} part */
  #media(part) {
    const data = str(part.bytes);
    const name = [str(part.kind), str(part.name), str(part.format)].filter(Boolean).join(" ");
    if (part.kind === "image" && IMAGES.has(part.format) && data && data.length < IMAGE_MOST) return html`<img class="shot" alt=${name} src=${`data:image/${part.format};base64,${data}`}>`;
    const text = str(part.text) || itemsOf(part.chunks).map(str).join("\n");
    const detail = str(part.uri) || (data ? bytes(Math.floor(data.length * 0.75)) : bytes(text.length));
    return this.#fold("note", "k-mark", html`<span class="cut">${line(name)}</span><span class="quiet cut">${line(detail)}</span>`, text ? this.#text(text, "soft") : nothing, false);
  }

  /** What is being written now. */
  #drafts() {
    const texts = [...this.run.feed.root.drafts].filter(([key, text]) => key.startsWith("\n") && text && !key.includes("think"));
    return texts.map(([, text]) => html`<article class="msg open"><div class="who"><b>Agent</b><span>now</span></div><div class="body"><div class="draft"><p class="text">${text}<span class="caret" aria-hidden="true"></span></p><p class="small running">being written, not stored yet</p></div></div></article>`);
  }
}
