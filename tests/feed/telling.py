"""Runs told at random, always the same ones: every type of record, every ending, every kind of session."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
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


Told = tuple[str, Any]
"""Type and payload of a record."""


@dataclass(frozen=True)
class Turn:
    """Where in its run a record stands, and what else its payload is about."""

    run_id: str
    n: int
    tool: str
    duration: int
    phase: str

    @property
    def call(self) -> str:
        return f"call-{self.n}"

    @property
    def named(self) -> dict[str, str]:
        """The call as hook payloads name it."""
        return {"ToolName": self.tool, "ToolCallID": self.call}


def ordinary(chance: random.Random, run_id: str, n: int) -> Told:
    """A record in the middle of a run."""
    turn = Turn(
        run_id,
        n,
        tool=chance.choice(("search", "fetch", "pay")),
        duration=chance.randrange(10**10),
        phase=chance.choice(("planning", "synthesizing", "completed")),
    )
    return chance.choice(
        (*calls(turn), *messages(turn), *thoughts(turn), *steps(turn), *waits(turn), *others(turn))
    )


def calls(turn: Turn) -> Iterator[Told]:
    call = {"ToolCallID": turn.call, "ToolName": turn.tool}
    yield "tool_call_scheduled", {**call, "Payload": {"q": turn.n}, "DisplayHint": "…"}
    yield "tool_call_scheduled", {**call, "Queue": "q", "ExpectedChildrenTotal": 2}
    yield "tool_call_updated", {"ToolCallID": turn.call, "ExpectedChildrenTotal": turn.n}
    result = {
        "call_run_id": turn.run_id,
        "tool_call_id": turn.call,
        "tool_name": turn.tool,
        "duration": turn.duration,
    }
    preview = f"a \n b\t{'x' * turn.n}"
    yield "tool_result_received", {**result, "result_json": {"n": turn.n}, "result_preview": preview}
    failure = {"kind": "timeout", "error": {"message": "too slow"}, "recovery": {"action": "replan"}}
    yield "tool_result_received", {**result, "failure": failure, "server_data": {"trace": turn.n}}


def messages(turn: Turn) -> Iterator[Told]:
    n = turn.n
    usage = {"Model": "m", "ModelClass": "small", "InputTokens": n, "OutputTokens": 2, "TotalTokens": n + 2}
    yield "usage", {**usage, "CacheReadTokens": 0, "CacheWriteTokens": 1}
    yield "assistant_message", {"Message": f"reply {n}", "Structured": None}
    message = {"role": "assistant", "parts": [{"kind": "text", "text": f"turn {n} <&> ü"}], "meta": None}
    asked = {"role": "user", "parts": [{"kind": "text", "text": "and?"}], "meta": None}
    yield "transcript_messages_appended", [asked, message, {**message, "parts": []}, message]
    yield "transcript_messages_seeded", [message]


def thoughts(turn: Turn) -> Iterator[Told]:
    yield "planner_note", {"Note": "note " * (turn.n % 3), "Labels": None}
    open_block = {"Text": "hm", "Signature": "", "Redacted": None, "ContentIndex": turn.n, "Final": False}
    yield "thinking_block", open_block
    final = {"Text": "ah", "Signature": "s", "Redacted": "AQI=", "ContentIndex": 0, "Final": True}
    yield "thinking_block", final


def steps(turn: Turn) -> Iterator[Told]:
    yield "run_phase_changed", {"Phase": turn.phase}
    scope = {"SessionID": "s", "Labels": {"a": "b"}}
    yield "prompt_rendered", {"PromptID": "p", "Version": "1", "Scope": scope}
    yield "policy_decision", {"AllowedTools": None, "Caps": {}, "Labels": None, "Metadata": None}
    yield "memory_appended", {"EventCount": 1}
    yield "tool_authorization", {**turn.named, "Approved": True, "Summary": "ok", "ApprovedBy": "me"}


def waits(turn: Turn) -> Iterator[Told]:
    wait = {"ID": turn.call}
    missing = {"MissingFields": ["a"], "RestrictToTool": "", "ExampleJSON": None}
    yield "await_clarification", {**wait, "Question": "?", **missing}
    confirmation = {"Title": "", "Prompt": "go?", **turn.named, "Payload": {"n": turn.n}}
    yield "await_confirmation", {**wait, **confirmation}
    option = {"ID": "o", "Label": "yes"}
    question = {"ID": "q", "Prompt": "which?", "Options": [option], "AllowMultiple": bool(turn.n % 2)}
    asked = {**turn.named, "Payload": None, "Title": "t", "Questions": [question]}
    yield "await_questions", {**wait, **asked}
    item = {"ToolName": turn.tool, "ToolCallID": "", "Payload": None}
    yield "await_external_tools", {**wait, "Items": [item]}


def others(turn: Turn) -> Iterator[Told]:
    child = {"ChildRunID": f"{turn.run_id}/{turn.n}", "ChildAgentID": "kid"}
    yield "child_run_linked", {**turn.named, **child}
    yield "of_a_later_release", {"a": 1}


def ending(chance: random.Random) -> Told:
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


FIELDS = CommittedRecord._fields
