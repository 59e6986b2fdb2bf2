/** @file The conversation: turns on the left, messages in a window of bounded size, drafts at the end. */

import { segment } from "./api.js";
import { Chat } from "./chat.js";
import { Grid } from "./grid.js";
import { brief, bytes, clock, count, duration, line, list, many, short, shortId, str } from "./text.js";
import { onLeave } from "./timeline.js";
import { empty, icon, statusSign } from "./ui.js";
import { html, nothing, render } from "./vendor/lit-html.js";

/** Messages in the document at most, and how many the window moves by. */
const WINDOW = 60;
const SHIFT = 30;
const LONGEST = 16_000;
const IMAGES = ["png", "jpeg", "gif", "webp"];

/** @param {string} text @param {string} [cls] */
const prose = (text, cls = "") => html`<p class="text ${cls}">${text.slice(0, LONGEST)}</p>${text.length > LONGEST ? html`<p class="quiet">${bytes(LONGEST)} of ${bytes(text.length)} shown</p>` : nothing}`;

/** @param {string} symbol @param {unknown} summary @param {unknown} body @param {boolean} [open] */
const fold = (symbol, summary, body, open = false) => html`<details class="fold" ?open=${open}><summary>${icon("twist", "tw")}${icon(symbol, "s")}${summary}</summary><div class="in">${body}</div></details>`;

export class Conversation {
  /** @param {import("./run.js").RunView} run */
  constructor(run) {
    this.run = run;
    this.chat = new Chat();
    this.from = 0;
    this.current = -1;
    /** @type {Grid<[string, TreeNode]> | undefined} */
    this.turns = undefined;
    /** @type {HTMLElement | undefined} */
    this.scroller = undefined;
  }

  /** @param {boolean} open */
  toggleAll(open) {
    for (const one of this.run.page.main.querySelectorAll("details")) one.open = open;
  }

  /** @param {HTMLElement} place */
  draw(place) {
    const { follow, feed } = this.run;
    const { entries } = this.chat;
    this.chat.update(feed.root);
    const most = Math.max(0, entries.length - WINDOW);
    this.from = follow ? most : Math.min(this.from, most);
    const more = (/** @type {number} */ left, /** @type {string} */ where, /** @type {number} */ by) => (left > 0 ? html`<button class="btn more" type="button" @click=${() => this.#shift(by)}>${count(left)} ${where}</button>` : nothing);
    const later = entries.length - this.from - WINDOW;
    render(
      html`<section class="talk" aria-label="Conversation"><nav class="toc" aria-label="Turns"></nav>
        <div class="turns" tabindex="0" role="log" aria-live="off" aria-label="Messages">${more(this.from, "earlier", -SHIFT)}${entries.slice(this.from, this.from + WINDOW).map((entry, i) => this.#entry(entry, this.from + i))}${more(later, "later", SHIFT)}
          ${later > 0 ? nothing : this.#drafts()}${entries.length || feed.root.drafts.size ? nothing : empty("No messages", feed.root.complete ? "This run has stored no transcript yet." : "They appear as they are read.")}</div></section>`,
      place,
    );
    this.scroller ??= this.#watch(/** @type {HTMLElement} */ (place.querySelector(".turns")));
    this.turns ??= new Grid(/** @type {HTMLElement} */ (place.querySelector(".toc")), { rows: () => [...feed.root.tree.turns], key: ([id]) => id, cells: ([id, node]) => this.#turn(id, node), height: "--h-turn", open: () => {}, role: "listitem" });
    this.turns.update();
    if (follow) this.scroller.scrollTop = this.scroller.scrollHeight;
  }

  /** @param {HTMLElement} scroller */
  #watch(scroller) {
    onLeave(scroller, () => this.run.setFollow(false));
    return scroller;
  }

  /** Move the window and keep what is in view where it is. @param {number} by */
  #shift(by) {
    const anchor = [...(this.scroller?.querySelectorAll(".msg") ?? [])].find((element) => element.getBoundingClientRect().bottom > 200);
    const before = anchor?.getBoundingClientRect().top ?? 0;
    const id = anchor?.id ?? "";
    this.from = Math.max(0, this.from + by);
    this.run.draw();
    const moved = document.getElementById(id)?.getBoundingClientRect().top;
    if (moved !== undefined && this.scroller) this.scroller.scrollTop += moved - before;
  }

  /** @param {number} by */
  move(by) {
    this.goTo(this.current < 0 ? this.from : this.current + by);
  }

  /** @param {number} index */
  goTo(index) {
    const { entries } = this.chat;
    if (!entries.length) return;
    this.current = Math.max(0, Math.min(entries.length - 1, index));
    this.run.setFollow(false);
    if (this.current < this.from || this.current >= this.from + WINDOW) this.from = Math.max(0, this.current - SHIFT);
    this.run.select(this.run.feed.root.tree.bySeq.get(entries[this.current].record.seq) ?? null);
    this.run.draw();
    document.getElementById(`m${this.current}`)?.scrollIntoView();
  }

  /** When a row ended or how far it is, as a length. @param {TreeNode} node */
  #took(node) {
    const end = this.run.timeline.end(node);
    return html`<span class="dur ${end === null ? "running" : ""}">${duration((end ?? this.run.asOf) - node.start, end === null)}</span>`;
  }

  /** @param {string} id @param {TreeNode} node */
  #turn(id, node) {
    const kinds = (/** @type {string} */ kind) => node.kids.filter((kid) => kid.kind === kind);
    const facts = [["tool", "tools"], ["child", "children"]].filter(([kind]) => kinds(kind).length).map(([kind, plural]) => many(kinds(kind).length, kind, plural));
    if (node.tokens) facts.push(`${short(node.tokens)} tokens`);
    const go = () => this.goTo(this.chat.entries.findIndex((entry) => entry.record.turn_id === id));
    return html`<button type="button" aria-current=${this.chat.entries[this.current]?.record.turn_id === id} @click=${go}><span class="quiet">${node.number}</span><span class="cut">${line(node.sum || node.label, 60)}</span>${this.#took(node)}<small class="cut">${facts.join(", ")} ${statusSign(node.kids.some((kid) => kid.failed) ? "failed" : kinds("wait").some((kid) => kid.end === null) ? "suspended" : "")}</small></button>`;
  }

  /** @param {import("./chat.js").Entry} entry @param {number} index */
  #entry({ role, record, items, earlier }, index) {
    const turn = this.run.feed.root.tree.turns.get(record.turn_id);
    const agent = role === "assistant";
    const before = earlier.map((one) => html`<p class="soft strong">${one.role}</p>${one.items.map((item) => this.#item(item))}`);
    return html`<article class="msg ${role === "user" || agent ? role : ""}" id="m${index}" aria-current=${this.current === index}>
      <div class="who"><b class="cut">${agent ? "Agent" : role}</b><span>${agent && turn ? `turn ${turn.number}` : clock(Date.parse(record.timestamp))}</span></div>
      <div class="body">${earlier.length ? fold("say", html`<span>${many(earlier.length, "earlier message")}</span>`, before.slice(-SHIFT)) : items.map((item) => this.#item(item))}</div></article>`;
  }

  /** @param {import("./chat.js").Item} item @returns {unknown} */
  #item(item) {
    if (item.kind === "text") return prose(item.text);
    if (item.kind === "think") return fold("think", html`<span>Thinking</span><span class="quiet cut">${line(item.text, 90) || "redacted"}</span>`, prose(item.text, "soft"));
    if (item.kind === "calls") return this.#calls(item.calls);
    if (item.kind === "child") return this.#child(item.node);
    if (item.kind === "wait") return this.#wait(item.node);
    return this.#media(item.part);
  }

  /** @param {import("./chat.js").Call[]} calls */
  #calls(calls) {
    let bad = 0;
    const rows = calls.map((call) => {
      const node = this.run.feed.root.tree.calls.get(call.id);
      const failed = call.result?.is_error === true || node?.failed === true;
      if (failed) bad += 1;
      const show = () => {
        this.run.select(node ?? null);
        this.run.inspector.open();
      };
      const words = line((call.result ? brief(call.result.content) : (node?.sum ?? "")) || brief(call.input), 160);
      return html`<div class="call ${failed ? "failed" : ""}">${icon(failed ? "s-failed" : "tool", failed ? "s" : "s k-tool")}<button class="mono link" type="button" @click=${show}>${line(call.name, 80)}</button><span class="cut ${failed ? "" : "quiet"}">${words}</span>${node ? this.#took(node) : nothing}</div>`;
    });
    return calls.length < 2 ? rows : fold("tool", html`<span>${many(calls.length, "tool call")}</span>${bad ? html`<span class="failed">${bad} failed</span>` : nothing}`, rows, bad > 0);
  }

  /** A child run: its last words, and what it waits for. @param {TreeNode} node */
  #child(node) {
    const { tree, status } = this.run.feed.child(node.child);
    const last = [...tree.bySeq.values()].reverse().find((one) => one.label === "Assistant");
    const head = html`<span class="strong cut">${node.label}</span><span class="mono wide">${shortId(node.child)}</span>${statusSign(status)}<span class="quiet wide">${tree.tokens ? `${short(tree.tokens)} tokens` : ""}</span>${this.#took(node)}`;
    return html`${fold("child", head, html`${last ? prose(last.sum, "soft") : nothing}<p><a href="/runs/${segment(node.child)}">Open the run</a></p>`, true)}${tree.waiting.map((wait) => this.#wait(wait))}`;
  }

  /** @param {TreeNode} node */
  #wait(node) {
    const sum = line(node.sum, 1000);
    if (node.end !== null) return html`<div class="call">${icon("wait", "s k-wait")}<span>${node.label}</span><span class="quiet cut">${sum}</span><span>${node.note}</span></div>`;
    return html`<div class="note suspended ask"><p class="st suspended">${icon("s-suspended")}<span>Waiting: ${node.label.toLowerCase()}</span></p><p class="q">${sum}</p>
      <p>Asked at ${clock(node.start)}. It is answered where the run was started, and shows here once stored.</p></div>`;
  }

  /** An image, a document, the sources of a citation, or what a newer writer added. @param {Record<string, any>} part */
  #media(part) {
    const name = [part.kind, part.name, part.format, part.uri].map(str).filter(Boolean).join(" ");
    if (IMAGES.includes(part.format) && part.bytes) return html`<img class="shot" alt=${name} src="data:image/${part.format};base64,${str(part.bytes)}">`;
    const sources = list(part.citations).map((one) => brief(one));
    return fold("note", html`<span class="cut">${line(name)}</span>`, prose([str(part.text), ...list(part.chunks).map(str), ...sources].join("\n"), "soft"));
  }

  /** What is being written now. */
  #drafts() {
    return [...this.run.feed.root.drafts].map(([key, text]) => (key.startsWith("\n") ? html`<article class="msg assistant"><div class="who"><b>Agent</b><span>now</span></div><div class="body draft"><p class="text">${text}<span class="caret" aria-hidden="true"></span></p><p class="running">being written, not stored yet</p></div></article>` : nothing));
  }
}
