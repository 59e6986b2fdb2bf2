"""Writes one run of the script: commands with fixed keys and times, so that a second pass is exact."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from runlane.contract.commands import (
    AppendRunRecord,
    Command,
    RecordRunCancellation,
    RecordRunSuspension,
    RecordRunTerminal,
    StartChildRun,
    StartRootRun,
)
from runlane.contract.payloads import (
    CANCELLATION_INTENT,
    CHILD_RUN_LINKED,
    RUN_COMPLETED,
    RUN_STARTED,
    RUN_SUSPENDED,
    SESSION_ENDED_REASON,
    CancellationIntent,
    ChildRunLinked,
    RunCompleted,
    RunStarted,
    RunSuspended,
)
from runlane.contract.values import RunRecord, RunStart, RunStatus, RunSuspension

_BETWEEN_RECORDS = timedelta(milliseconds=137)


@dataclass(frozen=True, slots=True)
class Step:
    """One command of the script and what it shows; a second pass may be refused with ``late_answer``."""

    text: str
    command: Command
    late_answer: str = ""


class RunScript:
    """Makes the commands of one run, in order; every record is a moment later than the one before."""

    def __init__(self, run: RunStart, title: str) -> None:
        assert run.started_at is not None, "the script says when each run starts"
        self.run = run
        self._title = title
        self._at: datetime = run.started_at
        self._records = 0

    def start(self) -> Step:
        """Start it as a root run."""
        command = StartRootRun(self.run, self._started(), self._stopped())
        return self._step("starts", command)

    def start_under(self, parent: RunScript, *, tool: str, call_id: str) -> Step:
        """Start it as the child that answers a tool call of ``parent``."""
        payload = ChildRunLinked(
            tool_name=tool,
            tool_call_id=call_id,
            child_run_id=self.run.run_id,
            child_agent_id=self.run.agent_id,
        )
        link = parent._record(CHILD_RUN_LINKED, payload.encode())
        command = StartChildRun(self.run, link, self._started(), self._stopped())
        return self._step(f"starts as a child of {parent.run.run_id}, for its tool call {tool}", command)

    def append(self, kind: str, text: str, payload: Mapping[str, Any] | list[Any]) -> Step:
        """Append an ordinary record."""
        data = json.dumps(payload, ensure_ascii=False).encode()
        return self._step(text, AppendRunRecord(self._record(kind, data)))

    def suspend(self, checkpoint: str, data: bytes) -> Step:
        """Store a checkpoint."""
        payload = RunSuspended(suspension_id=checkpoint, version="demo.1", pending_count=1).encode()
        record = self._record(RUN_SUSPENDED, payload)
        command = RecordRunSuspension(self.run.run_id, RunSuspension(checkpoint, data), record)
        return self._step("suspends with a checkpoint", command)

    def request_cancellation(self, reason: str) -> Step:
        """Record why it shall stop."""
        record = self._record(CANCELLATION_INTENT, CancellationIntent(reason=reason).encode())
        return self._step(f"shall stop: {reason}", RecordRunCancellation(self.run.run_id, reason, record))

    def complete(self) -> Step:
        """End it well."""
        payload = RunCompleted.success(labels=self.run.labels)
        return self._end("completes", RunStatus.COMPLETED, payload)

    def cancel(self, reason: str) -> Step:
        """End it as canceled."""
        payload = RunCompleted.canceled(reason, labels=self.run.labels)
        return self._end("ends as canceled", RunStatus.CANCELED, payload)

    def _end(self, text: str, status: RunStatus, payload: RunCompleted) -> Step:
        record = self._record(RUN_COMPLETED, payload.encode())
        return self._step(text, RecordRunTerminal(self.run.run_id, status, record))

    def _started(self) -> RunRecord:
        run = self.run
        payload = RunStarted(
            parent_run_id=run.parent_run_id,
            predecessor_run_id=run.predecessor_run_id,
            labels=dict(run.labels),
        )
        return self._record(RUN_STARTED, payload.encode(), at=run.started_at)

    def _stopped(self) -> RunRecord:
        payload = RunCompleted.canceled(SESSION_ENDED_REASON, labels=self.run.labels)
        return self._record(RUN_COMPLETED, payload.encode(), at=self.run.started_at)

    def _record(self, kind: str, payload: bytes, at: datetime | None = None) -> RunRecord:
        self._records += 1
        if at is None:
            self._at += _BETWEEN_RECORDS
        return RunRecord(
            event_key=f"{self._records}/{kind}",
            run_id=self.run.run_id,
            agent_id=self.run.agent_id,
            session_id=self.run.session_id,
            turn_id="turn-1",
            type=kind,
            payload=payload,
            timestamp=at or self._at,
        )

    def _step(self, text: str, command: Command) -> Step:
        return Step(f"{self._title} {text}", command)
