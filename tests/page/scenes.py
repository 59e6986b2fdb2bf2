"""Runs to look at: an incident with children and a wait, a long list, a run of any length."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from tests.page.script import Script, says, text, tool_use
from tests.page.world import Run, World, now

CHILDREN = "+ 23,516 in children"
"""What the incident's page says of tokens once it has read both child runs."""


def incident(world: World, ago: float = 262) -> Run:
    """A running incident triage: five turns, a failed call, a finished child and one that waits."""
    session = world.session("inc-2291")
    root = world.run(
        "run_01KP7QW6RCJ5HD",
        "incident-triage",
        session=session,
        started_at=now() - timedelta(seconds=ago),
        labels={"env": "production", "team": "payments"},
    )
    s = Script(root)
    s.put(
        0.1,
        "transcript_messages_seeded",
        [
            text("system", says("You triage incidents.")),
            text("user", says("Which environment?")),
            text("assistant", says("Production or staging?")),
            text(
                "user",
                says("Production only. Find the cause, propose a fix, and ask before you change anything."),
            ),
        ],
    )
    _scope(s, root)
    _narrow(s, root)
    child = _research(world, s, root)
    _propose(world, s, root)
    s.turn = "t5"
    s.put(152, "planner_note", {"Note": "watch; write the interim summary", "Labels": None})
    for i in range(6):
        s.call(155 + i * 16, 156.1 + i * 16, "metrics.query_range", "p99 2.9 s")
    s.think(246, "Nothing changes until the rollback. Tell the channel what is known")
    s.usage(246.2, 16_900)
    assert child.status == "completed"
    return root


def _scope(s: Script, root: Run) -> None:
    s.turn = "t1"
    s.put(0.2, "planner_note", {"Note": "scope the alert", "Labels": None})
    s.put(0.3, "prompt_rendered", {"PromptID": "triage.system", "Version": "14", "Scope": {}})
    s.put(0.4, "run_phase_changed", {"Phase": "planning"})
    thought = (
        "The page names checkout-api p99 only. First find out whether the rise is real, then what changed."
    )
    s.think(4.1, thought)
    a = s.call(4.3, 6.2, "metrics.query_range", "p99 checkout-api, 30 min")
    b = s.call(4.3, 4.94, "deploys.list_recent", "3 deploys in 24 h")
    late = {"message": "no answer in 30 s, retryable"}
    failure = {"kind": "timeout", "error": late, "recovery": {"action": "replan"}}
    asked = {"query": "service:checkout-api level:error", "from": "13:30", "to": "14:02", "shards": "all"}
    c = s.call(4.3, 34.4, "logs.search", failure=failure, args=asked | {"limit": 500})
    uses = [
        tool_use(a, root, "metrics.query_range"),
        tool_use(b, root, "deploys.list_recent"),
        tool_use(c, root, "logs.search"),
    ]
    s.put(34.4, "transcript_messages_appended", _asked_and_answered(uses))
    s.usage(38, 6900)
    s.say(
        38.2,
        "p99 rose from 410 ms to 2.9 s at 13:48. One deploy landed just before, build 4472 at 13:46. "
        "The log search did not answer within 30 s; I will ask one shard only.",
    )


def _asked_and_answered(uses: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The messages of three calls, of which the last failed."""
    mind = {"text": "The page names checkout-api p99 only.", "signature": "", "redacted": None}
    results = [
        {"kind": "tool_result", "tool_use_id": use["id"], "content": {"hits": 3}, "is_error": False}
        for use in uses
    ]
    results[-1] |= {"content": "no answer in 30 s", "is_error": True}
    thinking = {"kind": "thinking", "index": 0, "final": True} | mind
    return [text("assistant", thinking, *uses), text("user", *results)]


def _narrow(s: Script, root: Run) -> None:
    s.turn = "t2"
    s.think(42.6, "One shard is enough to see the error class")
    s.call(43, 46.4, "logs.search", "1 shard, 212 lines")
    s.call(43, 48.6, "traces.sample", "40 traces")
    s.usage(57, 10_300)
    s.say(57.5, "Logs show pool timeout after 2000 ms on 38 % of checkout requests, all on build 4472.")


def _research(world: World, s: Script, root: Run) -> Run:
    s.turn = "t3"
    s.put(57.8, "planner_note", {"Note": "look for earlier incidents", "Labels": None})
    s.think(62.5, "Pool exhaustion would explain both. Ask research for earlier incidents")
    call = s.call(63.2, None, "agents.incident_research")
    s.put(
        63.4,
        "child_run_linked",
        {
            "ToolName": "agents.incident_research",
            "ToolCallID": call,
            "ChildRunID": "run_01KP7QW7P4XN8T",
            "ChildAgentID": "incident-research",
        },
    )
    child = world.run(
        "run_01KP7QW7P4XN8T", "incident-research", session=root.session, parent=root.id, started_at=s.at(63.4)
    )
    c = Script(child)
    c.turn = "c1"
    c.call(4, 5.6, "runbooks.search", "4 hits")
    c.call(4, 8.2, "postmortems.search", "2 of 7 hits match")
    for i, name in enumerate(("postmortem 118", "postmortem 164", "pool sizing guide", "release checklist")):
        c.call(9 + i * 9, 17 + i * 9, "docs.fetch", name)
    c.usage(62, 18_400)
    c.say(66, "Two earlier incidents match: both lowered a pool limit during a release")
    c.turn = ""
    c.put(66.8, "run_completed", {"status": "success", "phase": "completed"})
    s.result(131, call, "agents.incident_research", "two incidents match", seconds=67)
    s.usage(133, 11_600)
    return child


def _propose(world: World, s: Script, root: Run) -> None:
    s.turn = "t4"
    s.put(134.2, "planner_note", {"Note": "propose a rollback", "Labels": None})
    s.think(139.8, "The pool limit is the likely cause. Check it now, then plan the rollback")
    s.call(140, 141.1, "db.pool_stats", "8 of 8 in use, 212 waiting")
    tool, agent, run_id = "agents.change_executor", "change-executor", "run_01KP7QW95V1KD0"
    call = s.call(142, None, tool)
    link = {"ToolName": tool, "ToolCallID": call, "ChildRunID": run_id, "ChildAgentID": agent}
    s.put(142.1, "child_run_linked", link)
    child = world.run(run_id, agent, session=root.session, parent=root.id, started_at=s.at(142.2))
    _wait(Script(child))
    s.usage(151, 14_600)


def _wait(c: Script) -> None:
    """Plan a rollback and ask before it is done."""
    c.turn = "x1"
    policy: dict[str, Any] = {"AllowedTools": ["change.plan", "change.rollback"], "Caps": {}}
    c.put(2, "policy_decision", policy)
    c.call(2.1, 5.9, "change.plan", "roll back to build 4471, 2 steps")
    c.usage(6, 5116)
    builds = {"from_build": 4472, "to_build": 4471, "strategy": "rolling"}
    asked = {"ID": "conf_1", "Title": "Roll back checkout-api to build 4471?", "Prompt": ""}
    asked |= {"ToolName": "change.rollback", "ToolCallID": "call_5b0"}
    where = {"service": "checkout-api", "environment": "production"}
    c.put(7, "await_confirmation", asked | {"Payload": where | builds})
    c.turn = ""
    c.put(
        7.1,
        "run_suspended",
        {"SuspensionID": "sus_1", "Version": "v7", "PendingCount": 1, "RequiredTools": ["change.rollback"]},
    )


AGENTS = (
    "support-reply",
    "invoice-matching",
    "log-digest",
    "release-notes",
    "contract-diff",
    "schema-review",
    "research-brief",
    "access-review",
)


def crowd(world: World, many: int = 60, every: float = 55) -> None:
    """Runs of several agents over the last hour, one ``every`` so many seconds, in every state."""
    for i in range(many):
        agent = AGENTS[i % len(AGENTS)]
        session = world.sessions.get(f"tkt-{88400 + i // 2}") or world.session(f"tkt-{88400 + i // 2}")
        run = world.run(
            f"run_01KP7Q{i:03d}A0MV{i % 10}T",
            agent,
            session=session if i % 5 else None,
            started_at=now() - timedelta(seconds=40 + i * every),
        )
        s = Script(run)
        s.turn = "t1"
        s.call(1, 3, "kb.search", "4 articles")
        s.usage(3, 3000 + i * 317)
        s.say(5, f"Reply drafted, {i % 4 + 1} articles cited")
        s.turn = ""
        _finish(s, i)


def _finish(s: Script, i: int) -> None:
    at = 6.0 + i * 1.7
    match i % 9:
        case 1:
            s.call(at, None, "ledger.lookup")
        case 4:
            failure = {"message": "pdf.extract gave no answer in 90 s", "kind": "timeout", "retryable": True}
            s.put(at, "run_completed", {"status": "failed", "phase": "failed", "failure": failure})
        case 6:
            s.run.reason = "user_requested"
            s.put(at, "runtime.cancellation_intent", {"reason": s.run.reason})
            s.put(
                at,
                "run_completed",
                {"status": "canceled", "phase": "canceled", "cancellation": {"reason": "user_requested"}},
            )
        case 7:
            s.put(
                at,
                "await_confirmation",
                {
                    "ID": "c",
                    "Title": "Three receipts are missing, go on?",
                    "Prompt": "",
                    "ToolName": "t",
                    "ToolCallID": "w",
                    "Payload": {},
                },
            )
            s.put(
                at + 0.1,
                "run_suspended",
                {"SuspensionID": "s", "Version": "v7", "PendingCount": 1, "RequiredTools": None},
            )
        case _:
            s.put(at, "run_completed", {"status": "success", "phase": "completed"})


def long_run(world: World, records: int = 10_000, *, finished: bool = True, id_: str = "run_long") -> Run:
    """A run of exactly `records` records in turns of twenty."""
    session = world.sessions.get("batch") or world.session("batch")
    step = 0.4
    run = world.run(
        id_, "batch-worker", session=session, started_at=now() - timedelta(seconds=records * step)
    )
    s = Script(run)
    last = records - (1 if finished else 0)
    while len(run.records) < last:
        n = len(run.records)
        s.turn = f"t{n // 20 + 1}"
        at, left = n * step, last - n
        if n % 20 in {0, 18} or left < 2:
            s.think(at, f"Consider item {n} of the batch and what it depends on")
        elif n % 20 == 17:
            s.usage(at, 1200 + n % 700)
        elif n % 20 == 19:
            s.put(
                at,
                "assistant_message",
                {"Message": f"Item {n} is done, next comes {n + 1}", "Structured": None},
            )
        else:
            s.call(
                at,
                at + step * 1.5,
                f"batch.{('read', 'check', 'write', 'index')[n // 2 % 4]}",
                f"item {n} ok",
            )
    s.turn = ""
    if finished:
        s.put(records * step, "run_completed", {"status": "success", "phase": "completed"})
    assert len(run.records) == records
    return run


def activity(world: World) -> None:
    """Windows of a minute for three agents: of the last eight, so that none is too old a minute later."""
    start = now().replace(second=0, microsecond=0)
    for i, agent in enumerate(AGENTS[:3]):
        for minute in range(8):
            world.activity.append(
                {
                    "agent_id": agent,
                    "window_start": (start - timedelta(minutes=7 - minute)).isoformat(),
                    "starts": 3 + (minute * (i + 2)) % 7,
                    "completions": 2 + minute % 3,
                    "failures": int(minute % 4 == i),
                    "cancellations": 0,
                    "suspensions": 0,
                    "running": i,
                    "tokens": 12_000 * (i + 1),
                    "tool_calls": 14,
                    "tool_failures": 0,
                    "tool_latency_ms_p50": 180 * (i + 1),
                    "tool_latency_ms_p95": 900 * (i + 1),
                    "tool_latency_ms_max": 1000 * (i + 1),
                }
            )
