/** @file A run as a conversation: the messages of its transcript records, with waits and child runs in their place. */

import { list, object, parse, str } from "./text.js";

/** @typedef {{id: string, name: string, input: unknown, result: Record<string, any> | null}} Call */
/** @typedef {{kind: "text", text: string} | {kind: "think", text: string} | {kind: "calls", calls: Call[]} | {kind: "child", node: TreeNode} | {kind: "wait", node: TreeNode} | {kind: "media", part: Record<string, any>}} Item */
/** @typedef {{role: string, record: Rec, items: Item[], earlier: Entry[]}} Entry a message, or an agent's messages of one turn, or earlier ones folded */

export class Chat {
  constructor() {
    /** @type {Entry[]} */
    this.entries = [];
    this.read = 0;
    /** @type {Map<string, Call>} */
    this.calls = new Map();
  }

  /** Take what the log has got since the last time. @param {import("./feed.js").RunLog} log */
  update(log) {
    for (; this.read < log.records.length; this.read += 1) {
      const record = log.records[this.read];
      const node = /** @type {TreeNode} */ (log.tree.bySeq.get(record.seq));
      const before = this.entries.length;
      if (record.type.startsWith("transcript_")) for (const message of list(parse(record.payload)).map(object)) this.#message(message, record);
      if (record.type.endsWith("_seeded")) this.#foldFrom(before, record);
      if (record.type.startsWith("await_")) this.#entry("assistant", record).items.push({ kind: "wait", node });
      if (record.type === "child_run_linked") this.#entry("assistant", record).items.push({ kind: "child", node });
    }
  }

  /** Of the input only the last message stands open. @param {number} before @param {Rec} record */
  #foldFrom(before, record) {
    const earlier = this.entries.splice(before);
    const newest = earlier.pop();
    if (earlier.length) this.entries.push({ role: "", record, items: [], earlier });
    if (newest) this.entries.push(newest);
  }

  /** The open entry of the agent's turn, or a new one. @param {string} role @param {Rec} record */
  #entry(role, record) {
    const last = this.entries.at(-1);
    if (last && role === "assistant" && last.role === role && last.record.turn_id === record.turn_id) return last;
    /** @type {Entry} */
    const entry = { role, record, items: [], earlier: [] };
    this.entries.push(entry);
    return entry;
  }

  /** @param {Record<string, any>} message @param {Rec} record */
  #message(message, record) {
    const parts = list(message.parts).map(object);
    // Results stand with their calls, so a message of results alone is no entry of its own.
    const rest = parts.filter((part) => {
      const call = part.kind === "tool_result" && this.calls.get(str(part.tool_use_id));
      if (call) call.result = part;
      return !call && part.kind !== "cache_checkpoint";
    });
    if (!rest.length) return;
    const { items } = this.#entry(str(message.role) || "message", record);
    for (const part of rest) this.#part(part, items);
  }

  /** @param {Record<string, any>} part @param {Item[]} items */
  #part(part, items) {
    const used = part.kind === "tool_use";
    if (part.kind === "text" || part.kind === "citations") items.push({ kind: "text", text: str(part.text) });
    if (part.kind === "thinking") items.push({ kind: "think", text: str(part.text) });
    else if (used || part.kind === "tool_result") {
      const call = { id: str(used ? part.id : part.tool_use_id), name: used ? str(part.name) : "tool result", input: part.input, result: used ? null : part };
      const last = items.at(-1);
      this.calls.set(call.id, call);
      if (last?.kind === "calls") last.calls.push(call);
      else items.push({ kind: "calls", calls: [call] });
    } else if (part.kind !== "text") items.push({ kind: "media", part });
  }
}
