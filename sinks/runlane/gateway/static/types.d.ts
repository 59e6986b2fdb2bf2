// Shapes that several modules share, for the type checker only; the browser never loads this file.
type Status = "running" | "suspended" | "completed" | "failed" | "canceled";

/** A run as the read API and the runs stream give it; the last four come from the stream alone. */
interface Run {
  run_id: string;
  agent_id: string;
  session_id: string;
  parent_run_id: string;
  status: Status;
  start_outcome: string;
  started_at: string;
  updated_at: string;
  labels: Record<string, string>;
  cancellation_reason: string;
  tokens?: number;
  records?: number;
  last_activity?: Activity | null;
}

/** What a run did last: a record type, words for it, when. */
interface Activity {
  type: string;
  text: string;
  at: string;
}

/** A committed record; `payload` is the exact JSON text. */
interface Rec {
  lane: string;
  lane_seq: number;
  seq: number;
  run_id: string;
  agent_id: string;
  session_id: string;
  turn_id: string;
  event_key: string;
  type: string;
  payload: string;
  timestamp: string;
  committed_at: string;
  session_status: string;
  partition: number;
  block: number;
}

interface Delta {
  run_id: string;
  tool_call_id: string;
  stream: string;
  text: string;
}

type StreamState =
  | { kind: "connecting" | "live" | "ended" | "purged" | "refused" }
  | { kind: "catching"; left: number }
  | { kind: "waiting" | "lost"; attempt: number; until: number };

/** A row of the tree: one record, or several that belong together (a call and its result). */
interface TreeNode {
  id: string;
  run: string;
  kind: "mark" | "turn" | "model" | "tool" | "group" | "child" | "wait" | "draft";
  icon: string;
  label: string;
  mono: boolean;
  sum: string;
  note: string;
  start: number;
  end: number | null;
  tokens: number;
  took: number | null;
  failed: boolean;
  live: boolean;
  child: string;
  call: string;
  kids: TreeNode[];
  parent: TreeNode | null;
  recs: Rec[];
  number: number;
}

/** A node at the place where it is shown. */
interface Row {
  node: TreeNode;
  level: number;
  open: boolean | null;
}
