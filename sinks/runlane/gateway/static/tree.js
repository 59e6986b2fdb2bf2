/** @file One run's records as a tree of turns, model steps, tool calls, waits and child runs; it grows record by record. */

import { brief, list, many, object, parse, positive, str } from "./text.js";

/** Rows of a moment: type to icon, label and the words beside it. @type {Record<string, [string, string, (p: any) => string]>} */
const MARKS = {
  run_started: ["start", "Run started", (p) => (p.predecessor_run_id ? `continues ${str(p.predecessor_run_id)}` : "")],
  transcript_messages_seeded: ["say", "Input", () => ""],
  prompt_rendered: ["prompt", "prompt", (p) => `${str(p.PromptID)} ${p.Version ? `version ${str(p.Version)}` : ""}`],
  planner_note: ["note", "Note", (p) => str(p.Note)],
  policy_decision: ["policy", "policy", (p) => (p.AllowedTools ? `${many(list(p.AllowedTools).length, "tool")} allowed` : brief(p.Metadata))],
  usage: ["mark", "usage", (p) => many(tokensOf(p), "token")],
  run_phase_changed: ["mark", "phase", (p) => str(p.Phase)],
  memory_appended: ["mark", "memory", (p) => many(positive(p.EventCount), "event")],
  model_output_rejected: ["say", "Model output rejected", (p) => str(p.OutputValidationKind)],
  planner_output_rejected: ["say", "Planner output rejected", () => ""],
  "runtime.cancellation_intent": ["s-canceled", "Cancel requested", (p) => str(p.reason)],
};
/** Icon and label of what a model says, and of what it thinks. @type {[string, string][]} */
const MODEL = [["say", "Assistant"], ["think", "Thinking"]];
/** Records that belong to their turn and get no row of their own. */
const SILENT = ["usage", "run_phase_changed", "transcript_messages_seeded"];

/** @param {Record<string, any>} p payload of a usage record */
const tokensOf = (p) => positive(p.TotalTokens) || positive(p.InputTokens) + positive(p.OutputTokens);

/** @param {unknown} failure a failed call's, if it has one */
export function failureOf(failure) {
  const f = object(failure);
  return failure ? { kind: str(f.kind) || "failed", message: str(object(f.error).message), action: str(object(f.recovery).action) } : null;
}

/** What the assistant said in a list of transcript messages. @param {unknown} messages */
export function said(messages) {
  const parts = list(messages).map(object).flatMap((message) => (message.role === "assistant" ? list(message.parts).map(object) : []));
  return parts.filter((part) => part.kind === "text" || part.kind === "citations").map((part) => str(part.text)).filter(Boolean).join("\n\n");
}

/** A row of a moment, without records. @param {string} run @param {TreeNode["kind"]} kind @param {string} icon @param {string} label @param {string} sum @param {number} time @returns {TreeNode} */
const blank = (run, kind, icon, label, sum, time) => ({
  id: "", run, kind, icon, label, sum, mono: false, note: "", start: time, end: time, tokens: 0, took: null,
  failed: false, live: false, child: "", call: "", kids: [], parent: null, recs: [], number: 0,
});

export class RunTree {
  /** @param {string} id the run's id */
  constructor(id) {
    this.id = id;
    /** @type {TreeNode[]} */
    this.nodes = [];
    /** @type {Map<string, TreeNode>} */
    this.turns = new Map();
    /** @type {Map<string, TreeNode>} by tool call id, and by the id that the model gave the call */
    this.calls = new Map();
    /** @type {Map<string, TreeNode>} */
    this.waits = new Map();
    /** @type {Set<TreeNode>} */
    this.children = new Set();
    /** @type {Map<number, TreeNode>} */
    this.bySeq = new Map();
    this.tokens = this.tools = this.badTools = this.models = this.errors = 0;
    this.phase = this.predecessor = this.cancel = "";
    /** When the run started, when its newest record was made, when something last happened in it. */
    this.start = this.last = this.moment = Number.NaN;
    /** @type {Status | ""} */
    this.ended = "";
    /** @type {{record: Rec, p: any, turn: TreeNode | null, time: number, live: boolean}} the record at hand */
    this.at = /** @type {any} */ (null);
  }

  get waiting() {
    return [...new Set(this.waits.values())].filter((node) => node.end === null);
  }

  /** @param {Rec} record @param {boolean} live whether it came while the page watched */
  add(record, live) {
    const time = Date.parse(record.timestamp);
    if (!this.bySeq.size) this.start = this.last = this.moment = time;
    this.at = { record, p: parse(record.payload), turn: null, time, live };
    if (record.turn_id) this.at.turn = this.#turn(record.turn_id);
    const node = this.#place();
    node.recs.push(record);
    this.bySeq.set(record.seq, node);
    for (let up = node.parent ?? this.at.turn; up; up = up.parent) up.end = Math.max(up.end ?? 0, time);
    this.last = Math.max(this.last, time);
    if (!SILENT.includes(record.type)) this.moment = this.last;
  }

  /** @param {string} id */
  #turn(id) {
    const turn = this.turns.get(id) ?? this.#node("turn", "", `Turn ${this.turns.size + 1}`);
    turn.number ||= this.turns.size + 1;
    this.turns.set(id, turn);
    return turn;
  }

  /** @param {TreeNode["kind"]} kind @param {string} icon @param {string} label @param {string} [sum] @param {Partial<TreeNode>} [rest] */
  #node(kind, icon, label, sum = "", rest = {}) {
    const { record, turn, time, live } = this.at;
    /** @type {TreeNode} */
    const node = { ...blank(this.id, kind, icon, label, sum, time), id: `${this.id} ${kind} ${record.seq}`, live, parent: turn, ...rest };
    (node.parent ? node.parent.kids : this.nodes).push(node);
    return node;
  }

  /** The node that the record at hand makes or belongs to. @returns {TreeNode} */
  #place() {
    const { type } = this.at.record;
    if (["thinking_block", "assistant_message", "transcript_messages_appended"].includes(type)) return this.#model(type);
    this.at.p = object(this.at.p);
    if (type === "tool_call_scheduled") return this.#call();
    if (type === "tool_result_received") return this.#result();
    if (type === "child_run_linked") return this.#link();
    if (type === "tool_authorization") return this.#authorize();
    if (type === "run_completed" || type === "run_suspended") return this.#finish(type);
    if (type.startsWith("await_")) return this.#await(type);
    return this.#mark(type);
  }

  /** @param {string} type */
  #mark(type) {
    const { p, turn } = this.at;
    if (type === "run_started") this.predecessor = str(p.predecessor_run_id);
    if (type === "run_phase_changed") this.phase = str(p.Phase);
    if (type === "runtime.cancellation_intent") this.cancel = str(p.reason);
    if (type === "usage") {
      this.tokens += tokensOf(p);
      if (turn) turn.tokens += tokensOf(p);
    }
    const call = type === "tool_call_updated" && this.calls.get(str(p.ToolCallID));
    if (call) return call;
    if (turn && SILENT.includes(type)) return turn;
    if (turn && type === "planner_note" && !turn.sum) {
      turn.sum = str(p.Note);
      return turn;
    }
    const [icon, label, words] = Object.hasOwn(MARKS, type) ? MARKS[type] : ["mark", type, brief];
    const failed = type.endsWith("_rejected");
    if (failed) this.errors += 1;
    return this.#node("mark", icon, label, words(p), { failed });
  }

  /** A model step lasts from what came before it to its record. @param {string} type */
  #model(type) {
    const { p, turn, time } = this.at;
    const thinking = type === "thinking_block";
    const body = object(p);
    const text = thinking ? str(body.Text) || "redacted" : type === "assistant_message" ? str(body.Message) || brief(body.Structured) : said(p);
    if (!text) return turn ?? this.#node("mark", "say", "Transcript", many(list(p).length, "message"));
    // The same words often come twice: as a message of the run and in its transcript.
    const before = (turn ? turn.kids : this.nodes).at(-1);
    if (before?.label === "Assistant" && before.sum === text && !thinking) return before;
    this.models += 1;
    return this.#node("model", ...MODEL[Number(thinking)], text, { start: Math.min(time, this.moment), end: time });
  }

  #call() {
    const { p, turn } = this.at;
    const call = str(p.ToolCallID);
    const parent = this.calls.get(str(p.ParentToolCallID))?.parent ?? turn;
    const node = this.#node("tool", "tool", str(p.ToolName) || "tool call", str(p.DisplayHint) || brief(p.Payload), { mono: true, end: null, call, parent });
    this.tools += 1;
    for (const id of [call, str(p.ModelToolCallID)]) if (id) this.calls.set(id, node);
    return node;
  }

  #result() {
    const { p, time } = this.at;
    const call = str(p.tool_call_id);
    const node = this.calls.get(call) ?? this.#node("tool", "tool", str(p.tool_name) || "tool result", "", { mono: true, call });
    const wait = this.waits.get(call);
    if (wait) wait.end ??= time;
    const failure = failureOf(p.failure);
    node.end = Math.max(time, node.start);
    node.took = positive(p.duration) ? p.duration / 1e6 : node.end - node.start;
    node.tokens = positive(object(p.telemetry).TokensUsed);
    node.sum = failure ? failure.message || failure.kind : str(p.result_preview) || brief(p.result_json) || node.sum;
    if (failure) {
      node.failed = true;
      node.note = failure.kind;
      this.errors += 1;
      if (node.kind === "tool") this.badTools += 1;
    }
    return node;
  }

  /** A call that starts a child run shows as the child. */
  #link() {
    const { p } = this.at;
    const call = str(p.ToolCallID);
    const node = this.calls.get(call) ?? this.#node("child", "child", "", "", { end: null, call });
    Object.assign(node, { kind: "child", icon: "child", label: str(p.ChildAgentID) || "child run", mono: false, child: str(p.ChildRunID) });
    this.calls.set(call, node);
    this.children.add(node);
    return node;
  }

  /** @param {string} type */
  #await(type) {
    const { p } = this.at;
    const items = list(p.Items).map(object);
    const question = str(p.Title) || str(p.Prompt) || str(p.Question) || str(object(list(p.Questions)[0]).Prompt);
    const sum = question || items.map((item) => str(item.ToolName)).join(", ") || str(p.ToolName);
    const node = this.#node("wait", "wait", type.slice("await_".length).replaceAll("_", " "), sum, { note: "waiting for an answer", end: null, call: str(p.ToolCallID) });
    for (const id of [node.call || node.id, ...items.map((item) => str(item.ToolCallID))]) this.waits.set(id, node);
    return node;
  }

  #authorize() {
    const { p, time } = this.at;
    const wait = this.waits.get(str(p.ToolCallID));
    const words = `${p.Approved === true ? "approved" : "refused"}${p.ApprovedBy ? ` by ${str(p.ApprovedBy)}` : ""}`;
    if (!wait) return this.#node("mark", "policy", "authorization", `${words} ${str(p.Summary)}`);
    wait.end = time;
    wait.note = words;
    return wait;
  }

  /** @param {string} type */
  #finish(type) {
    const { p, time } = this.at;
    const failure = object(p.failure);
    const status = /** @type {Status} */ (str(p.status));
    this.ended = type === "run_suspended" ? "suspended" : status === "failed" || status === "canceled" ? status : "completed";
    const sum = this.ended === "suspended" ? many(positive(p.PendingCount), "open item") : str(failure.message) || str(object(p.cancellation).reason);
    const failed = this.ended === "failed";
    if (failed) this.errors += 1;
    for (const node of [...this.calls.values(), ...(this.ended === "suspended" ? [] : this.waits.values())]) if (node.kind !== "child") node.end ??= time;
    return this.#node("mark", `s-${this.ended}`, `Run ${this.ended}`, sum, { failed, note: str(failure.kind), parent: null });
  }
}

/** A child's records are read at once only where a run has few of them. */
const MOST_OPEN = 12;
const GROUP_FROM = 3;

/** @type {Record<string, (node: TreeNode) => boolean>} */
const KINDS = {
  tools: (node) => node.kind === "tool",
  model: (node) => node.kind === "model" || node.kind === "draft",
  children: (node) => node.kind === "child",
  waiting: (node) => node.kind === "wait",
  errors: (node) => node.failed,
};

/** The rows that a reader sees now: what is open, what matches, child runs inline. */
export class Rows {
  /** @param {import("./feed.js").Feed} feed */
  constructor(feed) {
    this.feed = feed;
    /** @type {Map<string, boolean>} what the reader opened or closed */
    this.toggled = new Map();
    this.find = "";
    /** @type {Set<string>} kinds to show, all when empty */
    this.only = new Set();
    /** @type {Map<string, TreeNode>} */
    this.groups = new Map();
    /** @type {Row[]} */
    this.list = [];
    this.stamp = "";
  }

  /** The rows as of now; the same array while nothing changed. */
  current() {
    const stamp = [this.feed.version, this.find, ...this.only].join();
    if (stamp !== this.stamp) {
      this.stamp = stamp;
      this.list = [];
      this.#log(this.feed.root, 1);
    }
    return this.list;
  }

  /** @param {TreeNode[]} nodes @param {boolean} open */
  toggle(nodes, open) {
    for (const node of nodes) this.toggled.set(node.id, open);
    this.stamp = "";
  }

  /** Open or close every row there is. @param {boolean} open */
  toggleAll(open) {
    const all = [...this.feed.logs.values()].flatMap((log) => [...log.tree.turns.values(), ...log.tree.children]);
    this.toggle([...all, ...this.groups.values()], open);
  }

  /** Open what a node is inside of; its place. @param {TreeNode} node */
  reveal(node) {
    const around = [];
    for (let up = node.parent; up; up = up.parent) around.push(up);
    this.toggle(around, true);
    // Its group is made only now, where what it is inside of was never open.
    this.current();
    this.toggle([...this.groups.values()].filter((group) => group.kids.includes(node)), true);
    return this.current().findIndex((row) => row.node === node);
  }

  /** @param {import("./feed.js").RunLog} log @param {number} level */
  #log(log, level) {
    const { tree } = log;
    const last = [...tree.turns.values()].at(-1);
    for (const node of tree.nodes) {
      // A child's start, end and only turn say nothing that its own row does not.
      if (level > 1 && node.kind === "mark" && /^(start|s-)/.test(node.icon) && !node.failed) continue;
      if (level > 1 && node === last && tree.turns.size === 1) for (const kid of this.#kids(node)) this.#node(kid, log, level, false);
      else this.#node(node, log, level, !log.large || node === last || node.live);
    }
    for (const [key, sum] of log.drafts) {
      if (!key.startsWith("\n")) continue;
      const thinking = key.includes("think");
      const node = { ...blank(log.id, "draft", ...MODEL[Number(thinking)], sum, tree.last), id: `${log.id} draft ${key}`, note: "being written, not stored yet", end: null, live: true };
      this.#node(node, log, level === 1 && last ? 2 : level, false);
    }
  }

  /** @param {TreeNode} node @param {import("./feed.js").RunLog} log @param {number} level @param {boolean} open whether it is, unless the reader said otherwise */
  #node(node, log, level, open) {
    const filtered = this.find || this.only.size;
    if (filtered && !this.#matches(node)) return;
    const child = node.kind === "child" && node.child !== "" && level < 20;
    const holds = child || node.kids.length > 0;
    const shown = holds && ((filtered && !child) || (this.toggled.get(node.id) ?? (child ? log.tree.children.size <= MOST_OPEN : open)));
    this.list.push({ node, level, open: holds ? Boolean(shown) : null });
    if (shown && child) this.#log(this.feed.child(node.child), level + 1);
    else if (shown) for (const kid of this.#kids(node)) this.#node(kid, log, level + 1, false);
  }

  /** What is inside a node. Several calls of one tool in a row become one row; in history only, as live rows never move. @param {TreeNode} node */
  #kids({ kind, kids }) {
    if (kind === "group" || this.find || this.only.size) return kids;
    /** @type {TreeNode[]} */
    const out = [];
    for (let from = 0, to = 1; from < kids.length; from = to, to += 1) {
      while (to < kids.length && [kids[from], kids[to]].every((kid) => kid.kind === "tool" && !kid.live && !kid.failed) && kids[from].label === kids[to].label) to += 1;
      const same = kids.slice(from, to);
      out.push(...(same.length < GROUP_FROM ? same : [this.#group(same)]));
    }
    return out;
  }

  /** @param {TreeNode[]} kids */
  #group(kids) {
    const id = `${kids[0].id} group`;
    const end = kids.some((kid) => kid.end === null) ? null : Math.max(...kids.map((kid) => kid.end ?? 0));
    const group = Object.assign(this.groups.get(id) ?? { ...kids[0] }, { id, kids, end, kind: /** @type {const} */ ("group"), icon: "many", sum: many(kids.length, "call"), took: null, recs: kids.flatMap((kid) => kid.recs) });
    this.groups.set(id, group);
    return group;
  }

  /** Whether a node, or one inside it, is asked for. @param {TreeNode} node @returns {boolean} */
  #matches(node) {
    const wanted = this.find.toLowerCase();
    const kind = !this.only.size || [...this.only].some((one) => KINDS[one]?.(node));
    const texts = [node.label, node.sum, node.child, node.call, ...node.recs.map((record) => record.payload)];
    if (kind && texts.some((text) => text.toLowerCase().includes(wanted))) return true;
    const inner = node.child ? (this.feed.logs.get(node.child)?.tree.nodes ?? []) : node.kids;
    return inner.some((one) => this.#matches(one));
  }
}
