/** @file What is known of one row: overview, payload as it decodes, and the raw record. */

import { bytes, clock, count, duration, offset } from "../lib/format.js";
import { block, parse } from "../lib/json.js";
import { copy, icon, save, statusMark } from "../lib/parts.js";
import { failureOf, object, str } from "../model/payload.js";
import { html, nothing, render } from "../vendor/lit-html.js";

const PREVIEW = 256 * 1024;
/** Larger payloads are laid out only when the reader asks. */
const PRETTY_MOST = 32 * 1024;
const MOST_RECORDS = 20;
/** @type {[string, string][]} */
const TABS = [["o", "Overview"], ["p", "Payload"], ["r", "Raw"]];
/** @type {Record<string, string>} */
const NAMES = { mark: "Record", turn: "Turn", model: "Model step", tool: "Tool call", group: "Tool calls", child: "Child run", wait: "Waiting item", draft: "Being written" };
/** Payload keys that hold text which is JSON itself. */
const ARGUMENTS = ["Payload", "result_json", "Structured"];

/** The exact JSON text of one key of an object, numbers as spelled. @param {string} text @param {string} key */
export function slice(text, key) {
  const token = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;
  let depth = 0;
  let from = -1;
  let before = "";
  for (let match = token.exec(text); match; match = token.exec(text)) {
    const [piece] = match;
    if (from >= 0 && depth === 1 && (piece === "," || piece === "}")) return text.slice(from, match.index).trim();
    if (piece === "{" || piece === "[") depth += 1;
    if (piece === "}" || piece === "]") depth -= 1;
    if (from < 0 && depth === 1 && piece === ":" && before === JSON.stringify(key)) from = match.index + 1;
    before = piece;
  }
  return "";
}

export class Inspector {
  /** @param {import("./run.js").RunView} run */
  constructor(run) {
    this.run = run;
    this.tab = "o";
    this.sheet = false;
    this.drawn = "";
    /** @type {Set<string>} */
    this.laidOut = new Set();
  }

  /** @param {string} tab */
  show(tab) {
    this.tab = tab;
    this.sheet = true;
    this.draw();
  }

  open() {
    this.sheet = true;
    this.draw();
    /** @type {HTMLElement | null} */ (this.run.page.main.querySelector(".insp .panel"))?.focus();
  }

  hide() {
    this.sheet = false;
    this.draw();
  }

  draw() {
    const place = /** @type {HTMLElement | null} */ (this.run.page.main.querySelector(".insp"));
    if (!place) return;
    const node = this.run.selected;
    const child = node?.child ? this.run.feed.logs.get(node.child) : undefined;
    const going = node && this.run.timeline.end(node) === null;
    const stamp = [node?.id, node?.recs.length, node?.end, node?.kids.length, this.tab, this.sheet, this.laidOut.size, going && Math.floor(this.run.asOf / 1000), child?.status, document.documentElement.lang, this.run.feed.root.complete, clock(0)].join();
    if (stamp === this.drawn && place.firstElementChild) return;
    this.drawn = stamp;
    place.classList.toggle("up", this.sheet);
    render(node ? this.#record(node) : html`<div class="empty"><p class="strong">Nothing selected</p><p class="soft">Choose a row with <kbd>j</kbd><kbd>k</kbd> or a click.</p></div>`, place);
  }

  /** The records of a row; a group has those of its calls. @param {Node} node @returns {Rec[]} */
  records(node) {
    return node.kind === "group" ? node.kids.flatMap((kid) => kid.recs) : node.recs;
  }

  /** @param {Node} node */
  #record(node) {
    const records = this.records(node);
    const seqs = records.map((record) => record.seq);
    const where = seqs.length ? `${NAMES[node.kind]}, ${seqs.length === 1 ? "record" : "records"} ${seqs.slice(0, 3).map(count).join(" and ")}${seqs.length > 3 ? ` and ${count(seqs.length - 3)} more` : ""}` : NAMES[node.kind];
    const title = node.failed ? statusMark("failed") : node.kind === "wait" && node.end === null ? html`<span class="st suspended">${icon("s-suspended")}<span>Waiting</span></span>` : nothing;
    const step = (/** @type {number} */ by) => this.run.timeline.grid?.move(by);
    return html`<header><div><h2>${title}<span class="cut" title=${node.label}>${node.label || NAMES[node.kind]}</span></h2>
        <button class="icon t" type="button" aria-label="Previous record" @click=${() => step(-1)}>${icon("prev")}</button><button class="icon t" type="button" aria-label="Next record" @click=${() => step(1)}>${icon("next")}</button>
        <button class="icon t" type="button" aria-label="Copy link to this record" @click=${() => this.run.copyLink()}>${icon("link", "s")}</button><button class="icon t" type="button" aria-label="Download these records" @click=${() => this.#download(node)}>${icon("down", "s")}</button>
        <button class="icon t shut" type="button" aria-label=${this.sheet ? "Close the record" : "Open the record"} @click=${() => (this.sheet ? this.hide() : this.open())}>${icon(this.sheet ? "close" : "prev")}</button></div>
        <p class="quiet">${where}</p></header>
      <div class="tabs" role="tablist" aria-label="Record" @keydown=${(/** @type {KeyboardEvent} */ e) => this.#arrows(e)}>${TABS.map(([key, name]) => html`<button type="button" role="tab" id=${`tab-${key}`} aria-controls="panel" aria-selected=${String(this.tab === key)} tabindex=${this.tab === key ? "0" : "-1"} @click=${() => this.show(key)}>${name}</button>`)}</div>
      <div class="panel" role="tabpanel" id="panel" tabindex="0" aria-labelledby=${`tab-${this.tab}`}>${this.tab === "o" ? this.#overview(node, records) : this.tab === "p" ? this.#payloads(records) : this.#raw(records)}</div>`;
  }

  /** @param {KeyboardEvent} event */
  #arrows(event) {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!by) return;
    const at = TABS.findIndex(([key]) => key === this.tab);
    this.show(TABS[(at + by + TABS.length) % TABS.length][0]);
    /** @type {HTMLElement | null} */ (this.run.page.main.querySelector(`#tab-${this.tab}`))?.focus();
  }

  /** @param {Node} node */
  #download(node) {
    const records = this.records(node);
    save(`${node.run}-${records[0]?.seq ?? 0}.jsonl`, records.map((record) => `${JSON.stringify(record)}\n`));
  }

  /** @param {Node} node @param {Rec[]} records */
  #overview(node, records) {
    const result = records.find((record) => record.type === "tool_result_received");
    const failure = failureOf(object(parse(result?.payload ?? "")).failure);
    const first = records[0];
    return html`${failure ? html`<div class="note failed"><p>${failure.message || failure.kind}</p><p>${failure.kind}${failure.action ? html`, then <span class="mono">${failure.action}</span>` : nothing}</p></div>` : nothing}
      ${node.kind === "wait" ? html`<div class="note suspended"><p>${node.sum}</p><p>${node.note}</p></div>` : nothing}
      ${node.kind === "draft" ? html`<div class="note"><p class="text">${node.sum}</p><p>${node.note}</p></div>` : nothing}
      <h3>Time</h3>${this.#times(node, records)}
      ${["model", "mark"].includes(node.kind) && node.sum ? html`<h3>Text</h3><p class="text">${node.sum.slice(0, PREVIEW)}</p>` : nothing}
      ${records.slice(0, MOST_RECORDS).map((record) => ARGUMENTS.map((key) => this.#part(record, key)))}
      ${node.kind === "child" ? html`<h3>Run</h3><dl class="kv"><dt>Id</dt><dd class="mono">${node.child}</dd></dl>` : nothing}
      ${first ? this.#identity(node, records, first) : nothing}
      ${this.#around(node)}`;
  }

  /** @param {Node} node @param {Rec[]} records */
  #times(node, records) {
    const end = this.run.timeline.end(node);
    const rel = (/** @type {number} */ ms) => html`<span class="at">${offset(ms - this.run.start)}</span>`;
    const span = (end ?? this.run.asOf) - node.start;
    const turn = node.parent?.kind === "turn" ? (this.run.timeline.end(node.parent) ?? this.run.asOf) - node.parent.start : 0;
    return html`<dl class="kv">
      <dt>${node.kind === "tool" ? "Scheduled" : node.kind === "wait" ? "Asked" : node.kind === "mark" ? "At" : "From"}</dt><dd>${clock(node.start, true)}${rel(node.start)}</dd>
      ${node.kind === "mark" ? nothing : html`${end === null ? nothing : html`<dt>${node.kind === "tool" ? "Result" : "Until"}</dt><dd>${clock(end, true)}${rel(end)}</dd>`}<dt>${end === null ? "So far" : "Duration"}</dt><dd class="strong">${node.took === null ? duration(span, end === null) : `${(node.took / 1000).toFixed(3)} s`}</dd>`}
      ${turn > 0 && node.kind !== "mark" ? html`<dt>Share of turn</dt><dd>${Math.round((span / turn) * 100)} % of ${duration(turn)}</dd>` : nothing}
      ${records.length ? html`<dt>Stored</dt><dd>${clock(Date.parse(records[records.length - 1].committed_at), true)}</dd>` : nothing}</dl>`;
  }

  /** @param {Rec} record @param {string} key */
  #part(record, key) {
    const text = slice(record.payload, key);
    if (!text || text === "null") return nothing;
    const name = key === "Payload" ? "Arguments" : key === "result_json" ? "Result" : key;
    return html`<h3>${name}, ${bytes(text.length)}</h3>${this.#json(`${record.run_id} ${record.seq} ${key}`, text)}`;
  }

  /** @param {Node} node @param {Rec[]} records @param {Rec} first */
  #identity(node, records, first) {
    const p = object(parse(records.find((record) => record.type === "tool_call_scheduled")?.payload ?? ""));
    /** @type {[string, string][]} */
    const rows = [["Type", [...new Set(records.map((record) => record.type))].slice(0, 4).join(", ")], ["Call", node.call], ["Model call", str(p.ModelToolCallID)], ["Queue", str(p.Queue)], ["Turn", first.turn_id], ["Event key", records.slice(0, 4).map((record) => record.event_key).join("\n")], ["Lane position", records.slice(0, 4).map((record) => count(record.lane_seq)).join(", ")], ["Block", `${first.partition}/${first.block}`]];
    return html`<h3>Identity</h3><dl class="kv">${rows.filter(([, value]) => value).map(([name, value]) => html`<dt>${name}</dt><dd class="mono text">${value}</dd>`)}</dl>`;
  }

  /** @param {Node} node */
  #around(node) {
    const beside = (node.parent?.kids ?? []).filter((kid) => kid !== node && kid.kind === "tool" && node.kind === "tool" && kid.start < (node.end ?? Number.POSITIVE_INFINITY) && (kid.end ?? Number.POSITIVE_INFINITY) > node.start).slice(0, 6);
    if (!beside.length) return nothing;
    return html`<h3>Around it</h3><dl class="kv"><dt>Ran beside</dt><dd>${beside.map((kid) => html`<button class="link mono" type="button" @click=${() => this.#jump(kid)}>${kid.label}</button> `)}</dd></dl>`;
  }

  /** @param {Node} node */
  #jump(node) {
    const { grid } = this.run.timeline;
    this.run.rows.reveal(node);
    const at = this.run.rows.indexOf(node.id);
    if (at >= 0) grid?.select(at);
  }

  /** @param {Rec[]} records */
  #payloads(records) {
    if (!records.length) return html`<p class="quiet">Nothing is stored yet.</p>`;
    return html`${records.slice(0, MOST_RECORDS).map((record) => html`<h3>${record.type}, ${bytes(new Blob([record.payload]).size)}</h3>${this.#json(`${record.run_id} ${record.seq}`, record.payload)}${this.#actions(record, record.payload, "Payload")}`)}${this.#rest(records)}`;
  }

  /** @param {Rec[]} records */
  #raw(records) {
    if (!records.length) return html`<p class="quiet">Nothing is stored yet.</p>`;
    return html`${records.slice(0, MOST_RECORDS).map((record) => {
      const text = JSON.stringify(record);
      return html`<h3>Record ${count(record.seq)}</h3><pre tabindex="0">${this.#cut(text)}</pre>${this.#actions(record, text, "Record")}`;
    })}${this.#rest(records)}`;
  }

  /** @param {Rec[]} records */
  #rest(records) {
    return records.length > MOST_RECORDS ? html`<p class="quiet">${count(records.length - MOST_RECORDS)} more records: download them to see all.</p>` : nothing;
  }

  /** @param {Rec} record @param {string} text @param {string} name */
  #actions(record, text, name) {
    return html`<p class="acts"><button class="btn" type="button" @click=${() => void copy(text, name)}>${icon("copy", "s")}Copy</button><button class="btn" type="button" @click=${() => save(`${record.run_id}-${record.seq}.json`, [text])}>${icon("down", "s")}Download</button>${text.length > PREVIEW ? html`<span class="quiet">${bytes(PREVIEW)} of ${bytes(text.length)} shown</span>` : nothing}</p>`;
  }

  /** @param {string} text */
  #cut(text) {
    return text.length > PREVIEW ? text.slice(0, PREVIEW) : text;
  }

  /** JSON laid out, at once when small and on request when large. @param {string} id @param {string} text */
  #json(id, text) {
    const ask = text.length > PRETTY_MOST && !this.laidOut.has(id);
    const lay = () => {
      this.laidOut.add(id);
      this.draw();
    };
    return html`<pre tabindex="0">${ask ? this.#cut(text) : block(this.#cut(text))}</pre>${ask ? html`<button class="btn" type="button" @click=${lay}>Lay out</button>` : nothing}`;
  }
}
