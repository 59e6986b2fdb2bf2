"""Runs told at random, always the same ones: every type of record, every ending, every kind of session."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from runlane.contract.ids import run_lane, session_lane
from runlane.contract.partitioner import partition_for
from runlane.contract.values import CommittedRecord, SessionStatus

AGENTS = ("planner", "researcher", "writer", "réviseur")
BEGIN = datetime(2026, 3, 1, 9, 0, 30, tzinfo=UTC)
ACTIVE, ENDED, NONE = SessionStatus.ACTIVE, SessionStatus.ENDED, SessionStatus.NONE


def body(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def ordinary(chance: random.Random, run_id: str, n: int) -> tuple[str, Any]:
    """Type and payload of a record in the middle of a run."""
    call, tool = f"call-{n}", chance.choice(("search", "fetch", "pay"))
    result = {
        "call_run_id": run_id,
        "tool_call_id": call,
        "tool_name": tool,
        "duration": chance.randrange(10**10),
    }
    failure = {"kind": "timeout", "error": {"message": "too slow"}, "recovery": {"action": "replan"}}
    message = {"role": "assistant", "parts": [{"kind": "text", "text": f"turn {n} <&> ü"}], "meta": None}
    asked = {"role": "user", "parts": [{"kind": "text", "text": "and?"}], "meta": None}
    usage = {"Model": "m", "ModelClass": "small", "InputTokens": n, "OutputTokens": 2, "TotalTokens": n + 2}
    option = {"ID": "o", "Label": "yes"}
    question = {"ID": "q", "Prompt": "which?", "Options": [option], "AllowMultiple": bool(n % 2)}
    return chance.choice(
        (
            (
                "tool_call_scheduled",
                {"ToolCallID": call, "ToolName": tool, "Payload": {"q": n}, "DisplayHint": "…"},
            ),
            (
                "tool_call_scheduled",
                {"ToolCallID": call, "ToolName": tool, "Queue": "q", "ExpectedChildrenTotal": 2},
            ),
            ("tool_call_updated", {"ToolCallID": call, "ExpectedChildrenTotal": n}),
            (
                "tool_result_received",
                {**result, "result_json": {"n": n}, "result_preview": f"a \n b\t{'x' * n}"},
            ),
            ("tool_result_received", {**result, "failure": failure, "server_data": {"trace": n}}),
            ("usage", {**usage, "CacheReadTokens": 0, "CacheWriteTokens": 1}),
            ("assistant_message", {"Message": f"reply {n}", "Structured": None}),
            ("transcript_messages_appended", [asked, message, {**message, "parts": []}, message]),
            ("transcript_messages_seeded", [message]),
            ("planner_note", {"Note": "note " * (n % 3), "Labels": None}),
            (
                "thinking_block",
                {"Text": "hm", "Signature": "", "Redacted": None, "ContentIndex": n, "Final": False},
            ),
            (
                "thinking_block",
                {"Text": "ah", "Signature": "s", "Redacted": "AQI=", "ContentIndex": 0, "Final": True},
            ),
            ("run_phase_changed", {"Phase": chance.choice(("planning", "synthesizing", "completed"))}),
            (
                "prompt_rendered",
                {"PromptID": "p", "Version": "1", "Scope": {"SessionID": "s", "Labels": {"a": "b"}}},
            ),
            ("policy_decision", {"AllowedTools": None, "Caps": {}, "Labels": None, "Metadata": None}),
            ("memory_appended", {"EventCount": 1}),
            (
                "tool_authorization",
                {"ToolName": tool, "ToolCallID": call, "Approved": True, "Summary": "ok", "ApprovedBy": "me"},
            ),
            (
                "await_clarification",
                {
                    "ID": call,
                    "Question": "?",
                    "MissingFields": ["a"],
                    "RestrictToTool": "",
                    "ExampleJSON": None,
                },
            ),
            (
                "await_confirmation",
                {
                    "ID": call,
                    "Title": "",
                    "Prompt": "go?",
                    "ToolName": tool,
                    "ToolCallID": call,
                    "Payload": {"n": n},
                },
            ),
            (
                "await_questions",
                {
                    "ID": call,
                    "ToolName": tool,
                    "ToolCallID": call,
                    "Payload": None,
                    "Title": "t",
                    "Questions": [question],
                },
            ),
            (
                "await_external_tools",
                {"ID": call, "Items": [{"ToolName": tool, "ToolCallID": "", "Payload": None}]},
            ),
            (
                "child_run_linked",
                {"ToolName": tool, "ToolCallID": call, "ChildRunID": f"{run_id}/{n}", "ChildAgentID": "kid"},
            ),
            ("of_a_later_release", {"a": 1}),
        )
    )


def ending(chance: random.Random) -> tuple[str, Any]:
    failure = {"message": "no", "kind": "internal", "retryable": True}
    return chance.choice(
        (
            ("run_completed", {"status": "success", "phase": "completed"}),
            ("run_completed", {"status": "failed", "phase": "failed", "failure": failure}),
            (
                "run_completed",
                {"status": "canceled", "phase": "canceled", "cancellation": {"reason": "user"}},
            ),
            (
                "run_suspended",
                {"SuspensionID": "s", "Version": "v", "PendingCount": 0, "RequiredTools": None},
            ),
            ("planner_note", {"Note": "it goes on", "Labels": None}),
        )
    )


class Telling:
    """``records`` of ``partitions`` partitions, in blocks of about ``size``, a second apart each."""

    def __init__(self, *, partitions: int, lanes: int, seed: int = 7) -> None:
        self._partitions = partitions
        self._chance = random.Random(seed)
        self._seqs: dict[str, int] = defaultdict(int)
        self._lane_seqs: dict[str, int] = defaultdict(int)
        self._sessions = [f"session-{n}" for n in range(lanes)]
        self._open: list[tuple[str, str, str]] = []
        self._runs = 0
        self._numbers = [0] * partitions

    def blocks(self, total: int, size: int) -> Iterator[tuple[int, int, Sequence[CommittedRecord]]]:
        """Yield partition, number and records of each block, until there are ``total`` records."""
        waiting: dict[int, list[CommittedRecord]] = defaultdict(list)
        for _ in range(total):
            lane, record = self._next()
            partition = partition_for(lane.encode(), self._partitions)
            waiting[partition].append(record)
            if len(waiting[partition]) == size:
                yield self._block(partition, waiting.pop(partition))
        for partition, rest in waiting.items():
            yield self._block(partition, rest)

    def _block(
        self, partition: int, records: Sequence[CommittedRecord]
    ) -> tuple[int, int, Sequence[CommittedRecord]]:
        number = self._numbers[partition]
        self._numbers[partition] += 1
        at = BEGIN + timedelta(seconds=9 * number)
        placed = [
            CommittedRecord(
                *(getattr(one, name) for name in FIELDS[:11]), at, one.session_status, partition, number
            )
            for one in records
        ]
        return partition, number, placed

    def _next(self) -> tuple[str, CommittedRecord]:
        chance = self._chance
        if len(self._open) < len(self._sessions) or chance.random() < 0.02:
            return self._start()
        place = chance.randrange(len(self._open))
        run_id, agent, session = self._open[place]
        if chance.random() < 0.05:
            del self._open[place]
            return self._record(run_id, agent, session, *ending(chance))
        return self._record(run_id, agent, session, *ordinary(chance, run_id, self._seqs[run_id]))

    def _start(self) -> tuple[str, CommittedRecord]:
        chance = self._chance
        self._runs += 1
        session = "" if chance.random() < 0.1 else chance.choice(self._sessions)
        run = (f"run-{self._runs}", chance.choice(AGENTS), session)
        self._open.append(run)
        return self._record(*run, "run_started", {})

    def _record(
        self, run_id: str, agent: str, session: str, record_type: str, value: Any
    ) -> tuple[str, CommittedRecord]:
        lane = session_lane(session) if session else run_lane(run_id)
        self._lane_seqs[lane] += 1
        self._seqs[run_id] += 1
        seq, lane_seq = self._seqs[run_id], self._lane_seqs[lane]
        status = NONE if not session else ENDED if session.endswith("3") and lane_seq > 50 else ACTIVE
        at = BEGIN + timedelta(milliseconds=seq)
        return lane, CommittedRecord(
            lane,
            lane_seq,
            seq,
            run_id,
            agent,
            session,
            "",
            f"{record_type}/{seq}",
            record_type,
            body(value),
            at,
            at,
            status,
            0,
            0,
        )


FIELDS = tuple(CommittedRecord.__dataclass_fields__)
