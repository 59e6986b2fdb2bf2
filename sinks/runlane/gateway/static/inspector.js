/** @file What is known of one row: overview, payload laid out, and the raw record. */

import { axisLabel, bytes, clock, count, duration, line, object, parse, pretty, str, textAt } from "./text.js";
import { failureOf } from "./tree.js";
import { copy, empty, hints, icon, iconButton, save, statusMark } from "./ui.js";
import { html, nothing, render } from "./vendor/lit-html.js";

const PREVIEW = 256 * 1024;
const MOST_RECORDS = 20;
const TABS = ["Overview", "Payload", "Raw"];
/** @type {Record<string, string>} */
const NAMES = { mark: "Record", turn: "Turn", model: "Model step", tool: "Tool call", group: "Tool calls", child: "Child run", wait: "Waiting item", draft: "Being written" };
/** Payload keys that hold JSON worth its own box. */
const PARTS = /** @type {Record<string, string>} */ ({ Payload: "Arguments", result_json: "Result", Structured: "Structured" });

export class Inspector {
  /** @param {import("./run.js").RunView} run */
  constructor(run) {
    this.run = run;
    this.tab = "Overview";
    /** Whether it lies over the page, on a narrow screen. */
    this.up = false;
    this.stamp = "";
  }

  /** @param {string} tab */
  show(tab) {
    this.tab = tab;
    this.up = true;
    this.draw();
  }

  open() {
    this.show(this.tab);
    /** @type {HTMLElement | null} */ (this.run.page.main.querySelector(".panel"))?.focus();
  }

  close() {
    this.up = false;
    this.draw();
  }

  draw() {
    const place = /** @type {HTMLElement | null} */ (this.run.page.main.querySelector(".insp"));
    const node = this.run.selected;
    if (!place) return;
    const going = node && this.run.timeline.end(node) === null && Math.floor(this.run.asOf / 1000);
    const stamp = [node?.id, node?.recs.length, node?.end, going, this.tab, this.up, clock(0), this.run.feed.state.kind].join();
    if (stamp === this.stamp && place.firstElementChild) return;
    this.stamp = stamp;
    place.classList.toggle("up", this.up);
    render(node ? this.#record(node) : empty("Nothing selected", hints(["j k=or a click chooses a row"])), place);
  }

  /** @param {TreeNode} node */
  #record(node) {
    const { recs } = node;
    const seqs = recs.slice(0, 3).map((record) => count(record.seq)).join(", ");
    const mark = node.failed ? statusMark("failed") : node.kind === "wait" && node.end === null ? html`<span class="st suspended">${icon("s-suspended")}<span>Waiting</span></span>` : nothing;
    const shown = { Overview: () => this.#overview(node), Payload: () => this.#boxes(recs, (record) => record.payload, true), Raw: () => this.#boxes(recs, (record) => JSON.stringify(record), false) }[this.tab];
    return html`<header><div><h2>${mark}<span class="cut" title=${node.label}>${line(node.label || NAMES[node.kind])}</span></h2>
        ${iconButton("Previous row", "prev", () => this.run.timeline.grid?.move(-1))}${iconButton("Next row", "next", () => this.run.timeline.grid?.move(1))}${iconButton(this.up ? "Close the record" : "Open the record", this.up ? "close" : "prev", () => (this.up ? this.close() : this.open()), "t shut")}</div>
        <p class="quiet">${NAMES[node.kind]}${seqs ? `, ${recs.length > 1 ? "records" : "record"} ${seqs}` : ""}${recs.length > 3 ? ` and ${count(recs.length - 3)} more` : ""}</p></header>
      <div class="tabs" role="tablist" aria-label="Record" @keydown=${(/** @type {KeyboardEvent} */ e) => this.#arrows(e)}>${TABS.map((tab) => html`<button type="button" role="tab" id="tab-${tab}" aria-controls="panel" aria-selected=${this.tab === tab} tabindex=${this.tab === tab ? 0 : -1} @click=${() => this.show(tab)}>${tab}</button>`)}</div>
      <div class="panel" role="tabpanel" id="panel" tabindex="0" aria-labelledby="tab-${this.tab}">${shown?.()}</div>`;
  }

  /** @param {KeyboardEvent} event */
  #arrows(event) {
    const by = { ArrowRight: 1, ArrowLeft: 2 }[event.key];
    if (!by) return;
    this.show(TABS[(TABS.indexOf(this.tab) + by) % TABS.length]);
    document.getElementById(`tab-${this.tab}`)?.focus();
  }

  /** @param {TreeNode} node */
  #overview(node) {
    const { recs } = node;
    const failure = failureOf(object(parse(recs.find((record) => record.type === "tool_result_received")?.payload ?? "")).failure);
    const note = (/** @type {string} */ cls, /** @type {string} */ text, /** @type {string} */ more) => html`<div class="note ${cls}"><p class="text">${text}</p><p>${more}</p></div>`;
    return html`${failure ? note("failed", failure.message || failure.kind, `${failure.kind}${failure.action ? `, then ${failure.action}` : ""}`) : nothing}
      ${node.kind === "wait" ? note("suspended", node.sum, node.note) : node.kind === "draft" ? note("", node.sum, node.note) : nothing}
      <h3>Time</h3>${this.#times(node)}
      ${(node.kind === "model" || node.kind === "mark") && node.sum ? html`<h3>Text</h3><p class="text">${node.sum.slice(0, PREVIEW)}</p>` : nothing}
      ${recs.slice(0, MOST_RECORDS).map((record) => Object.keys(PARTS).map((key) => {
        const text = textAt(record.payload, key);
        return text && text !== "null" ? html`<h3>${PARTS[key]}, ${bytes(text.length)}</h3><pre tabindex="0">${pretty(text.slice(0, PREVIEW))}</pre>` : nothing;
      }))}
      ${this.#identity(node)}`;
  }

  /** @param {[string, unknown][]} rows */
  #pairs(rows) {
    return html`<dl class="kv">${rows.map(([name, value]) => (value ? html`<dt>${name}</dt><dd class="text">${value}</dd>` : nothing))}</dl>`;
  }

  /** @param {TreeNode} node */
  #times(node) {
    const { asOf, start, timeline } = this.run;
    const end = timeline.end(node);
    const span = (end ?? asOf) - node.start;
    const at = (/** @type {number} */ ms) => html`${clock(ms, true)}<span class="at">+${axisLabel(ms - start, true)}</span>`;
    const lasts = node.kind !== "mark";
    return this.#pairs([
      [lasts ? "From" : "At", at(node.start)],
      ["Until", lasts && end !== null && at(end)],
      [end === null ? "So far" : "Duration", lasts && html`<b>${node.took === null ? duration(span, end === null) : `${(node.took / 1000).toFixed(3)} s`}</b>`],
      ["Stored", node.recs.length > 0 && clock(Date.parse(node.recs[node.recs.length - 1].committed_at), true)],
    ]);
  }

  /** @param {TreeNode} node */
  #identity(node) {
    const recs = node.recs.slice(0, 4);
    if (!recs.length) return nothing;
    const call = object(parse(recs.find((record) => record.type === "tool_call_scheduled")?.payload ?? ""));
    const mono = (/** @type {string} */ text) => text && html`<span class="mono">${text}</span>`;
    return html`<h3>Identity</h3>${this.#pairs([
      ["Child run", mono(node.child)], ["Type", mono([...new Set(recs.map((record) => record.type))].join("\n"))], ["Call", mono(node.call)], ["Model call", mono(str(call.ModelToolCallID))], 
      ["Turn", mono(recs[0].turn_id)], ["Event key", mono(recs.map((record) => record.event_key).join("\n"))], ["Lane position", recs.map((record) => count(record.lane_seq)).join(", ")],
    ])}`;
  }

  /** @param {Rec[]} recs @param {(record: Rec) => string} textOf @param {boolean} laid */
  #boxes(recs, textOf, laid) {
    return html`${recs.slice(0, MOST_RECORDS).map((record) => {
      const text = textOf(record);
      return html`<h3>${laid ? record.type : `Record ${count(record.seq)}`}, ${bytes(new Blob([text]).size)}</h3><pre tabindex="0">${laid ? pretty(text.slice(0, PREVIEW)) : text.slice(0, PREVIEW)}</pre>
        <p class="acts"><button class="btn" type="button" @click=${() => copy(text, laid ? "payload" : "record")}>${icon("copy", "s")}Copy</button><button class="btn" type="button" @click=${() => save(`${record.run_id}-${record.seq}.json`, [text])}>${icon("down", "s")}Download</button>${text.length > PREVIEW ? html`<span class="quiet">${bytes(PREVIEW)} of ${bytes(text.length)} shown</span>` : nothing}</p>`;
    })}${recs.length > MOST_RECORDS ? html`<p class="quiet">${count(recs.length - MOST_RECORDS)} more: download them to see all.</p>` : recs.length ? nothing : html`<p class="quiet">Nothing is stored yet.</p>`}`;
  }
}
