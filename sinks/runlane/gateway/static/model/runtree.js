/** @file One run's records as a tree of turns, model steps, tool calls, waits and child runs; grows record by record. */

import { many } from "../lib/format.js";
import { parse } from "../lib/json.js";
import { brief, count, failureOf, itemsOf, object, said, str, tokensOf } from "./payload.js";

/** Rows of a moment: type to icon, label and the words beside it. @type {Record<string, [string, string, (p: any) => string]>} */
const MARKS = {
  prompt_rendered: ["prompt", "prompt", (p) => [str(p.PromptID), p.Version && `version ${str(p.Version)}`].filter(Boolean).join(", ")],
  planner_note: ["note", "Note", (p) => str(p.Note)],
  policy_decision: ["policy", "policy", (p) => (Array.isArray(p.AllowedTools) ? `${many(p.AllowedTools.length, "tool")} allowed` : brief(p.Metadata))],
  memory_appended: ["mark", "memory", (p) => many(count(p.EventCount), "event")],
  model_output_rejected: ["say", "Model output rejected", (p) => str(p.OutputValidationKind)],
  planner_output_rejected: ["say", "Planner output rejected", () => ""],
  "runtime.cancellation_intent": ["s-canceled", "Cancel requested", (p) => str(p.reason)],
};

/** Records that belong to their turn and get no row of their own. */
const SILENT = new Set(["usage", "run_phase_changed", "transcript_messages_seeded", "tool_call_updated"]);

/** @param {string} iso */
export const at = (iso) => Date.parse(iso);

export class RunTree {
  /** @param {string} id the run's id */
  constructor(id) {
    this.id = id;
    /** @type {Node[]} */
    this.nodes = [];
    /** @type {Map<string, Node>} */
    this.turns = new Map();
    /** @type {Map<string, Node>} */
    this.calls = new Map();
    /** @type {Map<string, Node>} calls by the id that the model gave them, as a transcript names them */
    this.modelCalls = new Map();
    /** @type {Map<string, Node>} */
    this.waits = new Map();
    /** @type {Map<string, Node>} */
    this.links = new Map();
    /** @type {Map<number, Node>} */
    this.bySeq = new Map();
    this.tokens = 0;
    this.tools = 0;
    this.models = 0;
    this.errors = 0;
    this.phase = "";
    this.predecessor = "";
    this.cancel = "";
    this.start = Number.NaN;
    this.last = Number.NaN;
    /** @type {Status | ""} */
    this.ended = "";
    this.endedAt = Number.NaN;
  }

  get waiting() {
    return [...this.waits.values()].filter((node) => node.end === null).length;
  }

  /** @param {Rec} record @param {boolean} live whether it came while the page watched */
  add(record, live) {
    const time = at(record.timestamp);
    if (Number.isNaN(this.start)) this.start = time;
    const payload = object(parse(record.payload));
    const turn = record.turn_id ? this.#turn(record, time, live) : null;
    const node = this.#place(record, payload, turn, time, live);
    if (node) {
      node.recs.push(record);
      this.bySeq.set(record.seq, node);
    }
    for (let up = node?.parent ?? turn; up; up = up.parent) up.end = Math.max(up.end ?? 0, time);
    this.last = Math.max(time, Number.isNaN(this.last) ? time : this.last);
  }

  /** @param {Rec} record @param {number} time @param {boolean} live */
  #turn(record, time, live) {
    let turn = this.turns.get(record.turn_id);
    if (!turn) {
      turn = this.#node(record, "turn", null, { icon: "", label: `Turn ${this.turns.size + 1}`, start: time, live });
      turn.number = this.turns.size + 1;
      this.turns.set(record.turn_id, turn);
    }
    return turn;
  }

  /**
   * @param {Rec} record @param {Node["kind"]} kind @param {Node | null} parent
   * @param {Partial<Node> & {icon: string, label: string, start: number, live: boolean}} rest
   * @returns {Node}
   */
  #node(record, kind, parent, rest) {
    const node = {
      id: `${this.id} ${kind} ${record.seq}`, run: this.id, kind, mono: false, sum: "", note: "", end: rest.start,
      tokens: 0, took: null, failed: false, child: "", call: "", kids: [], parent, recs: [], number: 0, ...rest,
    };
    (parent ? parent.kids : this.nodes).push(node);
    return node;
  }

  /** @param {Rec} record @param {any} p @param {Node | null} turn @param {number} time @param {boolean} live @returns {Node | null} */
  #place(record, p, turn, time, live) {
    const { type } = record;
    switch (type) {
      case "run_started":
        this.predecessor = str(p.predecessor_run_id);
        return this.#node(record, "mark", turn, { icon: "start", label: "Run started", start: time, live, sum: this.predecessor && `continues ${this.predecessor}` });
      case "run_completed":
      case "run_suspended":
        return this.#finish(record, p, time, live);
      case "thinking_block":
      case "assistant_message":
      case "transcript_messages_appended":
        return this.#model(record, p, turn, time, live);
      case "tool_call_scheduled":
        return this.#call(record, p, turn, time, live);
      case "tool_result_received":
        return this.#result(record, p, turn, time, live);
      case "child_run_linked":
        return this.#link(record, p, turn, time, live);
      case "tool_authorization":
        return this.#authorize(record, p, turn, time, live);
      default:
        if (type.startsWith("await_")) return this.#await(record, p, turn, time, live);
        return this.#mark(record, p, turn, time, live);
    }
  }

  /** @param {Rec} record @param {any} p @param {Node | null} turn @param {number} time @param {boolean} live */
  #mark(record, p, turn, time, live) {
    const { type } = record;
    if (type === "usage") this.tokens += tokensOf(p);
    if (type === "usage" && turn) turn.tokens += tokensOf(p);
    if (type === "run_phase_changed") this.phase = str(p.Phase);
    if (type === "runtime.cancellation_intent") this.cancel = str(p.reason);
    if (type === "planner_note" && turn && !turn.sum) turn.sum = str(p.Note);
    const call = type === "tool_call_updated" && this.calls.get(str(p.ToolCallID));
    if (call) return call;
    if (SILENT.has(type) && turn) return turn;
    const known = Object.hasOwn(MARKS, type) ? MARKS[type] : undefined;
    const sum = known ? known[2](p) : type === "usage" ? many(tokensOf(p), "token") : brief(p);
    const node = this.#node(record, "mark", turn, { icon: known?.[0] ?? "mark", label: known?.[1] ?? type, sum, start: time, live });
    node.failed = type.endsWith("_rejected");
    if (node.failed) this.errors += 1;
    return node;
  }

  /** A model step lasts from what came before it to its record. @param {Rec} record @param {any} p @param {Node | null} turn @param {number} time @param {boolean} live */
  #model(record, p, turn, time, live) {
    const thinking = record.type === "thinking_block";
    const text = thinking ? str(p.Text) : record.type === "assistant_message" ? str(p.Message) || brief(p.Structured) : said(parse(record.payload));
    if (!text && record.type === "transcript_messages_appended") {
      return turn ?? this.#node(record, "mark", null, { icon: "mark", label: "transcript", sum: many(itemsOf(parse(record.payload)).length, "message"), start: time, live });
    }
    // The same words often come twice: as a message of the run and in its transcript.
    const before = (turn ? turn.kids : this.nodes).at(-1);
    if (!thinking && before?.kind === "model" && before.label === "Assistant" && before.sum === text) return before;
    const start = Number.isNaN(this.last) ? time : Math.min(time, this.last);
    const node = this.#node(record, "model", turn, { icon: thinking ? "think" : "say", label: thinking ? "Thinking" : "Assistant", sum: thinking && !text ? "redacted" : text, start, live });
    node.end = time;
    this.models += 1;
    return node;
  }

  /** @param {Rec} record @param {any} p @param {Node | null} turn @param {number} time @param {boolean} live */
  #call(record, p, turn, time, live) {
    const call = str(p.ToolCallID);
    const parent = this.calls.get(str(p.ParentToolCallID))?.parent ?? turn;
    const node = this.#node(record, "tool", parent, { icon: "tool", label: str(p.ToolName) || "tool call", mono: true, sum: str(p.DisplayHint) || brief(p.Payload), start: time, live, call });
    node.end = null;
    this.tools += 1;
    if (call) this.calls.set(call, node);
    if (str(p.ModelToolCallID)) this.modelCalls.set(str(p.ModelToolCallID), node);
    return node;
  }

  /** @param {Rec} record @param {any} p @param {Node | null} turn @param {number} time @param {boolean} live */
  #result(record, p, turn, time, live) {
    const call = str(p.tool_call_id);
    const node = this.calls.get(call) ?? this.#node(record, "tool", turn, { icon: "tool", label: str(p.tool_name) || "tool result", mono: true, start: time, live, call });
    const wait = this.waits.get(call);
    if (wait) wait.end ??= time;
    const failure = failureOf(p.failure);
    node.end = Math.max(time, node.start);
    node.took = p.duration > 0 ? p.duration / 1e6 : node.end - node.start;
    node.tokens = count(object(p.telemetry).TokensUsed);
    node.failed = failure !== null;
    node.note = failure ? failure.kind : "";
    const preview = str(p.result_preview) || brief(p.result_json);
    if (failure) node.sum = failure.message || failure.kind;
    else if (preview) node.sum = preview;
    if (failure) this.errors += 1;
    return node;
  }

  /** @param {Rec} record @param {any} p @param {Node | null} turn @param {number} time @param {boolean} live */
  #link(record, p, turn, time, live) {
    const node = this.calls.get(str(p.ToolCallID)) ?? this.#node(record, "tool", turn, { icon: "child", label: "", start: time, live, call: str(p.ToolCallID) });
    Object.assign(node, { kind: "child", icon: "child", label: str(p.ChildAgentID) || "child run", mono: false, child: str(p.ChildRunID) });
    if (!node.recs.length) node.end = null;
    if (node.call) this.calls.set(node.call, node);
    this.links.set(node.child, node);
    return node;
  }

  /** @param {Rec} record @param {any} p @param {Node | null} turn @param {number} time @param {boolean} live */
  #await(record, p, turn, time, live) {
    const items = itemsOf(p.Items);
    const label = { await_confirmation: "Confirmation", await_clarification: "Question", await_questions: "Questions", await_external_tools: "External tools" }[record.type] ?? record.type;
    const asked = str(p.Title) || str(p.Prompt) || str(p.Question) || str(object(itemsOf(p.Questions)[0]).Prompt);
    const sum = asked || items.map((item) => str(object(item).ToolName)).join(", ") || str(p.ToolName);
    const node = this.#node(record, "wait", turn, { icon: "wait", label, sum, note: "waiting for an answer", start: time, live, call: str(p.ToolCallID) });
    node.end = null;
    this.waits.set(node.call || str(p.ID) || node.id, node);
    for (const item of items) this.waits.set(str(object(item).ToolCallID) || node.id, node);
    return node;
  }

  /** @param {Rec} record @param {any} p @param {Node | null} turn @param {number} time @param {boolean} live */
  #authorize(record, p, turn, time, live) {
    const wait = this.waits.get(str(p.ToolCallID));
    const words = `${p.Approved === true ? "approved" : "refused"}${p.ApprovedBy ? ` by ${str(p.ApprovedBy)}` : ""}`;
    if (!wait) return this.#node(record, "mark", turn, { icon: "policy", label: "authorization", sum: `${words} ${str(p.Summary)}`, start: time, live });
    wait.end = time;
    wait.note = words;
    return wait;
  }

  /** @param {Rec} record @param {any} p @param {number} time @param {boolean} live */
  #finish(record, p, time, live) {
    const suspended = record.type === "run_suspended";
    const status = str(p.status);
    this.ended = suspended ? "suspended" : status === "failed" || status === "canceled" ? status : "completed";
    this.endedAt = time;
    const failure = object(p.failure);
    const sum = suspended ? many(count(p.PendingCount), "open item") : str(failure.message) || str(object(p.cancellation).reason);
    const node = this.#node(record, "mark", null, { icon: `s-${this.ended}`, label: `Run ${this.ended}`, sum, start: time, live });
    node.failed = this.ended === "failed";
    node.note = str(failure.kind);
    if (node.failed) this.errors += 1;
    if (!suspended) for (const wait of this.waits.values()) wait.end ??= time;
    for (const call of this.calls.values()) if (call.kind === "tool") call.end ??= time;
    return node;
  }
}
