"""A store in memory that a test scripts while browsers watch it."""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from runlane.contract.http_models import RecordBody, RunBody, SessionBody
from runlane.contract.values import RunStatus, SessionStatus, StartOutcome

ENDED = {"success": RunStatus.COMPLETED, "failed": RunStatus.FAILED, "canceled": RunStatus.CANCELED}

MOST_KEY = 250


def now() -> datetime:
    """The present, to the millisecond."""
    moment = datetime.now(UTC)
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


@dataclass
class Session:
    """A session and the records of its lane."""

    id: str
    created_at: datetime
    status: SessionStatus = SessionStatus.ACTIVE
    ended_at: datetime | None = None
    records: list[dict[str, Any]] = field(default_factory=list)
    purged: bool = False


@dataclass
class Run:
    """A run as it is scripted; `add` appends to its history."""

    world: World
    id: str
    agent: str
    session: Session | None
    parent: str
    started_at: datetime
    labels: dict[str, str]
    records: list[dict[str, Any]] = field(default_factory=list)
    status: RunStatus = RunStatus.RUNNING
    updated_at: datetime = field(default_factory=now)
    reason: str = ""
    tokens: int = 0
    activity: dict[str, str] | None = None
    calls: Any = field(default_factory=lambda: itertools.count(1))

    def add(self, type_: str, payload: Any, *, at: datetime | None = None, turn: str = "") -> int:
        """Append a record with the JSON text of `payload` (or the text itself); return its seq."""
        when = at or now()
        text = payload if isinstance(payload, str) else json.dumps(payload, ensure_ascii=False)
        lane = self.session.records if self.session else self.records
        record = RecordBody(
            lane=f"s/{self.session.id}" if self.session else f"r/{self.id}",
            lane_seq=len(lane) + 1,
            seq=len(self.records) + 1,
            run_id=self.id,
            agent_id=self.agent,
            session_id=self.session.id if self.session else "",
            turn_id=turn,
            event_key=f"{turn or 'run'}/{type_}/{len(self.records) + 1}"[-MOST_KEY:],
            type=type_,
            payload=text,
            timestamp=when,
            committed_at=when + timedelta(milliseconds=12),
            session_status=self.session.status if self.session else SessionStatus.ACTIVE,
            partition=3,
            block=len(self.records) // 4,
        ).model_dump(mode="json")
        self._note(type_, payload, when)
        self.records.append(record)
        if self.session:
            self.session.records.append(record)
        self.world.changed.append(self.id)
        return len(self.records)

    def _note(self, type_: str, payload: Any, when: datetime) -> None:
        self.updated_at = max(when, self.updated_at) if type_ == "run_completed" else self.updated_at
        body = payload if isinstance(payload, dict) else {}
        if type_ == "run_completed":
            self.status, self.updated_at = ENDED[body["status"]], when
        if type_ == "run_suspended":
            self.status, self.updated_at = RunStatus.SUSPENDED, when
        if type_ == "usage":
            self.tokens += body.get("TotalTokens", 0)
        words = _words(type_, body)
        if words:
            self.activity = {"type": type_, "text": words, "at": when.isoformat()}

    def body(self) -> dict[str, Any]:
        """The run as the read API answers it."""
        return RunBody(
            run_id=self.id,
            agent_id=self.agent,
            session_id=self.session.id if self.session else "",
            parent_run_id=self.parent,
            status=self.status,
            start_outcome=StartOutcome.PROCEED,
            started_at=self.started_at,
            updated_at=self.updated_at,
            labels=self.labels,
            cancellation_reason=self.reason,
        ).model_dump(mode="json")

    def summary(self) -> dict[str, Any]:
        """The run as the runs stream tells it."""
        known = {"tokens": self.tokens, "records": len(self.records), "last_activity": self.activity}
        return self.body() | known


def _words(type_: str, body: dict[str, Any]) -> str:
    failure = body.get("failure") or {}
    match type_:
        case "tool_call_scheduled":
            return str(body["ToolName"])
        case "tool_result_received" if failure:
            return f"{failure['kind']}: {failure['error']['message']}"
        case "assistant_message":
            return str(body["Message"])
        case "thinking_block":
            return str(body["Text"])
        case "await_confirmation":
            return f"confirmation: {body['Title']}"
        case "run_completed" if failure:
            return f"{failure['kind']}: {failure['message']}"
        case "run_completed" if body["status"] == "canceled":
            return str(body["cancellation"]["reason"])
        case _:
            return ""


@dataclass
class World:
    """Everything that the fixture server serves."""

    runs: dict[str, Run] = field(default_factory=dict)
    sessions: dict[str, Session] = field(default_factory=dict)
    changed: list[str] = field(default_factory=list)
    deltas: list[dict[str, str]] = field(default_factory=list)
    activity: list[dict[str, Any]] = field(default_factory=list)
    purged: list[str] = field(default_factory=list)
    last_words: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    """By purged session: what the runs stream tells of its runs right before the purge."""
    tickets: set[str] = field(default_factory=set)
    token: str = ""
    lag: float = 0.0
    """Seconds between two records of a stream that catches up."""
    rewind: int = 0
    """How far before its cursor a stream begins, as a careless server would."""
    skipped: set[int] = field(default_factory=set)
    """Records that streams leave out, as a careless server would."""
    lagged: int = 0
    """How many streams were told that they lagged; raised by `lag_all`."""
    requests: list[str] = field(default_factory=list)

    def session(self, id_: str) -> Session:
        """Create a session."""
        self.sessions[id_] = Session(id_, now())
        return self.sessions[id_]

    def run(self, id_: str, agent: str, **given: Any) -> Run:
        """Create a run with its `run_started` record."""
        started = given.get("started_at") or now()
        labels = given.get("labels") or {}
        run = Run(self, id_, agent, given.get("session"), given.get("parent", ""), started, labels)
        self.runs[id_] = run
        start = {
            "parent_run_id": run.parent,
            "predecessor_run_id": given.get("predecessor", ""),
            "labels": labels,
        }
        run.add("run_started", {key: value for key, value in start.items() if value}, at=started)
        run.updated_at = started
        return run

    def delta(self, run: Run, text: str, *, call: str = "", stream: str = "assistant") -> None:
        """Send text that is being written."""
        self.deltas.append({"run_id": run.id, "tool_call_id": call, "stream": stream, "text": text})

    def purge(self, session: Session) -> None:
        """Erase a session."""
        session.purged = True
        gone = [run for run in self.runs.values() if run.session is session]
        self.last_words[session.id] = [run.summary() for run in gone]
        self.purged.append(session.id)
        for run in gone:
            del self.runs[run.id]

    def session_body(self, session: Session) -> dict[str, Any]:
        """A session as the read API answers it."""
        return SessionBody(
            id=session.id, status=session.status, created_at=session.created_at, ended_at=session.ended_at
        ).model_dump(mode="json")
