/** @file A run as a conversation: the messages of its transcript records, with waits and child runs in their place. */

import { parse } from "../lib/json.js";
import { itemsOf, object, str } from "./payload.js";

/**
 * @typedef {object} Call
 * @property {string} id
 * @property {string} name
 * @property {unknown} input
 * @property {Record<string, any> | null} result the tool_result part
 */

/** @typedef {{kind: "text" | "think", text: string} | {kind: "calls", calls: Call[]} | {kind: "child" | "wait", node: Node} | {kind: "media", part: Record<string, any>} | {kind: "sources", part: Record<string, any>}} Item */

/**
 * @typedef {object} Entry
 * @property {string} role
 * @property {string} turn
 * @property {number} time
 * @property {Rec} record
 * @property {Item[]} items
 * @property {Entry[]} earlier messages folded into this one
 */

export class Chat {
  constructor() {
    /** @type {Entry[]} */
    this.entries = [];
    this.read = 0;
    this.found = false;
    /** @type {Map<string, Call>} */
    this.calls = new Map();
  }

  /** Take what the log has got since the last time. @param {import("./feed.js").RunLog} log */
  update(log) {
    for (; this.read < log.records.length; this.read += 1) this.#add(log.records[this.read], log);
  }

  /** @param {Rec} record @param {import("./feed.js").RunLog} log */
  #add(record, log) {
    const { type } = record;
    if (type === "transcript_messages_seeded") this.#seed(record);
    else if (type === "transcript_messages_appended") for (const message of this.#messages(record)) this.#message(message, record);
    else if (type.startsWith("await_")) this.#attach(record, { kind: "wait", node: log.tree.bySeq.get(record.seq) });
    else if (type === "child_run_linked") this.#attach(record, { kind: "child", node: log.tree.bySeq.get(record.seq) });
  }

  /** @param {Rec} record */
  #messages(record) {
    this.found = true;
    return itemsOf(parse(record.payload)).map(object);
  }

  /** The input: what came before the last message is folded. @param {Rec} record */
  #seed(record) {
    const before = this.entries.length;
    for (const message of this.#messages(record)) this.#message(message, record);
    const seeded = this.entries.splice(before);
    const newest = seeded.pop();
    if (seeded.length) this.entries.push({ role: "earlier", turn: "", time: Date.parse(record.timestamp), record, items: [], earlier: seeded });
    if (newest) this.entries.push(newest);
  }

  /** @param {Rec} record @param {{kind: "wait" | "child", node: Node | undefined}} item */
  #attach(record, { kind, node }) {
    if (node) this.#entry("assistant", record).items.push({ kind, node });
  }

  /** The open entry of this role and turn, or a new one. @param {string} role @param {Rec} record */
  #entry(role, record) {
    const last = this.entries.at(-1);
    if (last && last.role === role && role === "assistant" && last.turn === record.turn_id) return last;
    /** @type {Entry} */
    const entry = { role, turn: record.turn_id, time: Date.parse(record.timestamp), record, items: [], earlier: [] };
    this.entries.push(entry);
    return entry;
  }

  /** @param {Record<string, any>} message @param {Rec} record */
  #message(message, record) {
    const parts = itemsOf(message.parts).map(object);
    // Results stand with their calls, so a message of results alone is no entry of its own.
    const rest = parts.filter((part) => !(part.kind === "tool_result" && this.#answer(part)));
    if (!rest.length && parts.length) return;
    const entry = this.#entry(str(message.role) || "message", record);
    for (const part of rest) this.#part(part, entry);
  }

  /** @param {Record<string, any>} part */
  #answer(part) {
    const call = this.calls.get(str(part.tool_use_id));
    if (call) call.result = part;
    return call !== undefined;
  }

  /** @param {Record<string, any>} part @param {Entry} entry */
  #part(part, entry) {
    switch (part.kind) {
      case "text":
        entry.items.push({ kind: "text", text: str(part.text) });
        break;
      case "citations":
        entry.items.push({ kind: "text", text: str(part.text) }, { kind: "sources", part });
        break;
      case "thinking":
        entry.items.push({ kind: "think", text: str(part.text) });
        break;
      case "tool_use":
      case "tool_result":
        this.#call(part, entry);
        break;
      case "cache_checkpoint":
        break;
      default:
        entry.items.push({ kind: "media", part });
    }
  }

  /** @param {Record<string, any>} part @param {Entry} entry */
  #call(part, entry) {
    const used = part.kind === "tool_use";
    /** @type {Call} */
    const call = { id: str(used ? part.id : part.tool_use_id), name: used ? str(part.name) : "tool result", input: part.input, result: used ? null : part };
    this.calls.set(call.id, call);
    const last = entry.items.at(-1);
    if (last?.kind === "calls") last.calls.push(call);
    else entry.items.push({ kind: "calls", calls: [call] });
  }
}
