/** @file The rows that a reader sees now: what is open, what matches, child runs inline. */

import { many } from "../lib/format.js";

/** A child's records are read at once only where a run has few of them. */
const MOST_CHILDREN_OPEN = 12;
const DEEPEST = 6;
const GROUP_FROM = 3;

/** @typedef {import("./feed.js").Feed} Feed */
/** @typedef {import("./feed.js").RunLog} RunLog */

/** @type {Record<string, (node: Node) => boolean>} */
const KINDS = {
  tools: (node) => node.kind === "tool",
  model: (node) => node.kind === "model" || node.kind === "draft",
  children: (node) => node.kind === "child",
  waiting: (node) => node.kind === "wait",
  errors: (node) => node.failed,
};

export class Rows {
  /** @param {Feed} feed */
  constructor(feed) {
    this.feed = feed;
    /** @type {Map<string, boolean>} what the reader opened or closed */
    this.toggled = new Map();
    this.find = "";
    /** @type {Set<string>} kinds to show, all when empty */
    this.only = new Set();
    /** @type {Map<string, Node>} */
    this.groups = new Map();
    /** @type {Row[]} */
    this.list = [];
    this.stamp = "";
  }

  /** The rows as of now; the same array while nothing changed. */
  current() {
    const stamp = `${this.feed.version} ${this.find} ${[...this.only]} ${this.toggled.size}`;
    if (stamp !== this.stamp) {
      this.stamp = stamp;
      this.list = [];
      this.#log(this.feed.root, 1, 0);
    }
    return this.list;
  }

  get filtered() {
    return this.find !== "" || this.only.size > 0;
  }

  /** @param {Node} node @param {boolean} open */
  toggle(node, open) {
    this.toggled.set(node.id, open);
    this.stamp = "";
  }

  /** Open or close every row there is. @param {boolean} open */
  toggleAll(open) {
    const walk = (/** @type {Node} */ node) => {
      if (node.kids.length || node.kind === "child") this.toggled.set(node.id, open);
      for (const kid of node.kids) walk(kid);
    };
    for (const log of this.feed.logs.values()) for (const node of log.tree.nodes) walk(node);
    for (const id of this.groups.keys()) this.toggled.set(id, open);
    this.stamp = "";
  }

  /** @param {string} id @returns {number} */
  indexOf(id) {
    return this.current().findIndex((row) => row.node.id === id);
  }

  /** Open what a node is inside of. @param {Node} node */
  reveal(node) {
    for (let up = node.parent; up; up = up.parent) this.toggled.set(up.id, true);
    for (const [id, group] of this.groups) if (group.kids.includes(node)) this.toggled.set(id, true);
    this.stamp = "";
  }

  /** @param {RunLog} log @param {number} level @param {number} depth */
  #log(log, level, depth) {
    const { tree } = log;
    const inline = depth > 0;
    const only = inline && tree.turns.size === 1;
    const last = [...tree.turns.values()].at(-1);
    for (const node of tree.nodes) {
      if (inline && node.kind === "mark" && (node.icon === "start" || node.icon === "s-completed" || node.icon === "s-suspended")) continue;
      if (only && node.kind === "turn") for (const kid of node.kids) this.#node(kid, log, level, depth);
      else if (node.kind === "turn") this.#node(node, log, level, depth, !log.large || node === last || node.live);
      else this.#node(node, log, level, depth);
    }
    this.#drafts(log, level);
  }

  /** @param {Node} node @param {RunLog} log @param {number} level @param {number} depth @param {boolean} [open] */
  #node(node, log, level, depth, open = false) {
    if (this.filtered && !this.#anywhere(node)) return;
    if (node.kind === "child") return this.#child(node, log, level, depth);
    if (!node.kids.length) return void this.list.push({ node, level, open: null });
    const shown = this.filtered ? true : (this.toggled.get(node.id) ?? open);
    this.list.push({ node, level, open: shown });
    if (shown) for (const kid of this.#grouped(node.kids)) this.#node(kid, log, level + 1, depth);
  }

  /** @param {Node} node @param {RunLog} log @param {number} level @param {number} depth */
  #child(node, log, level, depth) {
    const open = depth < DEEPEST && (this.toggled.get(node.id) ?? log.tree.links.size <= MOST_CHILDREN_OPEN);
    this.list.push({ node, level, open });
    if (open && node.child) this.#log(this.feed.child(node.child), level + 1, depth + 1);
  }

  /** What is being written, after what is stored. @param {RunLog} log @param {number} level */
  #drafts(log, level) {
    for (const [key, text] of log.drafts) {
      if (!key.startsWith("\n") || !text) continue;
      const thinking = key.includes("think");
      const deep = level === 1 && log.tree.turns.size > 0 ? 2 : level;
      /** @type {Node} */
      const node = {
        id: `${log.id} draft ${key}`, run: log.id, kind: "draft", icon: thinking ? "think" : "say", label: thinking ? "Thinking" : "Assistant", mono: false,
        sum: text, note: "being written, not stored yet", start: log.tree.last, end: null, tokens: 0, took: null, failed: false, live: true, child: "", call: "",
        kids: [], parent: null, recs: [], number: 0,
      };
      if (!this.filtered || this.#matches(node)) this.list.push({ node, level: deep, open: null });
    }
  }

  /** Several calls of one tool in a row become one row, in history only: live rows never move. @param {Node[]} kids */
  #grouped(kids) {
    if (this.filtered) return kids;
    /** @type {Node[]} */
    const out = [];
    for (let from = 0; from < kids.length; ) {
      let to = from + 1;
      while (to < kids.length && this.#alike(kids[from], kids[to])) to += 1;
      if (to - from >= GROUP_FROM) out.push(this.#group(kids.slice(from, to)));
      else out.push(...kids.slice(from, to));
      from = to;
    }
    return out;
  }

  /** @param {Node} a @param {Node} b */
  #alike(a, b) {
    return a.kind === "tool" && b.kind === "tool" && a.label === b.label && !a.live && !b.live && !a.failed && !b.failed;
  }

  /** @param {Node[]} kids */
  #group(kids) {
    const id = `${kids[0].id} group`;
    const ends = kids.map((kid) => kid.end);
    const group = this.groups.get(id) ?? { ...kids[0], id, kind: /** @type {const} */ ("group"), icon: "many" };
    const end = ends.includes(null) ? null : Math.max(...ends.map(Number));
    Object.assign(group, { kids, sum: many(kids.length, "call"), end, took: null, recs: [] });
    this.groups.set(id, group);
    return group;
  }

  /** @param {Node} node @returns {boolean} */
  #anywhere(node) {
    if (this.#matches(node) || node.kids.some((kid) => this.#anywhere(kid))) return true;
    const log = node.child ? this.feed.logs.get(node.child) : undefined;
    return log?.tree.nodes.some((kid) => this.#anywhere(kid)) ?? false;
  }

  /** @param {Node} node */
  #matches(node) {
    if (this.only.size && ![...this.only].some((kind) => KINDS[kind]?.(node))) return false;
    if (!this.find) return true;
    const wanted = this.find.toLowerCase();
    return `${node.label} ${node.sum} ${node.child} ${node.call}`.toLowerCase().includes(wanted) || node.recs.some((record) => record.payload.toLowerCase().includes(wanted));
  }
}
