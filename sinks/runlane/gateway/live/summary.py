"""A run in one line: its state, its counts, and in words what it did last. Pure: a fold over its records."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, cast

from runlane.contract.payloads.types import (
    CANCELLATION_INTENT,
    CHILD_RUN_LINKED,
    RUN_COMPLETED,
    RUN_STARTED,
    RUN_SUSPENDED,
    TRANSCRIPT_SEEDED,
)
from runlane.contract.values import CommittedRecord, RunMeta, RunStatus, StartOutcome
from runlane.gateway.live.frames import event
from runlane.store.live import RunFacts

DULL_TYPES: Final = (
    "memory_appended",
    "policy_decision",
    "prompt_rendered",
    "run_phase_changed",
    TRANSCRIPT_SEEDED,
    "usage",
)
"""Records that say nothing about what a run is doing."""
_ENDS: Final = (RUN_COMPLETED, RUN_SUSPENDED)
_MAX_WORDS: Final = 200
_STATUSES: Final = {
    "success": RunStatus.COMPLETED,
    "failed": RunStatus.FAILED,
    "canceled": RunStatus.CANCELED,
}
Payload = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Activity:
    """What a run did last."""

    type: str
    text: str
    at: datetime


@dataclass(frozen=True, slots=True)
class RunSummary:
    """A run as the list shows it; ``records`` is the ``seq`` of the last record that it counts."""

    meta: RunMeta
    records: int
    tokens: int
    last: Activity | None

    @classmethod
    def of(cls, meta: RunMeta, facts: RunFacts | None) -> RunSummary:
        """Return the summary of a stored run; ``meta`` may have been read before ``facts``."""
        if facts is None or facts.last is None:
            return cls(meta, facts.records if facts else 0, facts.tokens if facts else 0, None)
        last = activity_of(facts.last) or (activity_of(facts.spoken) if facts.spoken else None)
        return cls(_meta_after(meta, facts.last), facts.records, facts.tokens, last)

    @classmethod
    def begun(cls, record: CommittedRecord) -> RunSummary | None:
        """Return the summary of a run by its first record; None when that does not tell enough."""
        if record.type != RUN_STARTED or record.seq != 1:
            return None
        payload = _payload(record)
        meta = RunMeta(
            run_id=record.run_id,
            agent_id=record.agent_id,
            session_id=record.session_id,
            parent_run_id=_text(payload, "parent_run_id"),
            status=RunStatus.RUNNING,
            start_outcome=StartOutcome.PROCEED,
            started_at=record.timestamp,
            updated_at=record.committed_at,
            labels=_object(payload, "labels"),
            cancellation_reason="",
        )
        return cls(meta, 1, 0, activity_of(record))

    def after(self, record: CommittedRecord) -> RunSummary:
        """Return the summary with the run's next record."""
        return RunSummary(
            _meta_after(self.meta, record),
            record.seq,
            self.tokens + tokens_of(record),
            activity_of(record) or self.last,
        )

    def frame(self) -> bytes:
        """Return the event that tells it."""
        meta, last = self.meta, self.last
        return event(
            "run",
            {
                "run_id": meta.run_id,
                "agent_id": meta.agent_id,
                "session_id": meta.session_id,
                "parent_run_id": meta.parent_run_id,
                "status": meta.status.value,
                "start_outcome": meta.start_outcome.value,
                "started_at": meta.started_at.isoformat(),
                "updated_at": meta.updated_at.isoformat(),
                "labels": dict(meta.labels),
                "cancellation_reason": meta.cancellation_reason,
                "tokens": self.tokens,
                "records": self.records,
                "last_activity": last and {"type": last.type, "text": last.text, "at": last.at.isoformat()},
            },
        )


def tokens_of(record: CommittedRecord) -> int:
    """Return the tokens that a `usage` record counts."""
    if record.type != "usage":
        return 0
    payload = _payload(record)
    total = _count(payload, "TotalTokens")
    return total or _count(payload, "InputTokens") + _count(payload, "OutputTokens")


def activity_of(record: CommittedRecord) -> Activity | None:
    """Return what a record tells of its run, None for a dull one. Its words come from a lenient payload."""
    if record.type in DULL_TYPES:
        return None
    say = _WORDS.get(record.type)
    words = say(_payload(record)) if say else ""
    if record.type in _ENDS and not words:
        # The run's state says that it has ended; what it did or asked for before tells more.
        return None
    return Activity(record.type, " ".join(words[: 4 * _MAX_WORDS].split())[:_MAX_WORDS], record.timestamp)


def _meta_after(meta: RunMeta, record: CommittedRecord) -> RunMeta:
    if record.type == RUN_COMPLETED:
        status = _STATUSES.get(_text(_payload(record), "status"), meta.status)
        return replace(meta, status=status, updated_at=record.committed_at)
    if record.type == RUN_SUSPENDED:
        return replace(meta, status=RunStatus.SUSPENDED, updated_at=record.committed_at)
    if record.type == CANCELLATION_INTENT:
        reason = _text(_payload(record), "reason")
        return replace(meta, cancellation_reason=reason, updated_at=record.committed_at)
    return meta


def _payload(record: CommittedRecord) -> Payload:
    try:
        value: object = json.loads(record.payload)
    except (ValueError, RecursionError):
        return {}
    return cast("Payload", value) if isinstance(value, dict) else {"": value}


def _text(payload: Payload, name: str) -> str:
    value = payload.get(name)
    return value if isinstance(value, str) else ""


def _object(payload: Payload, name: str) -> dict[str, Any]:
    value = payload.get(name)
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _list(payload: Payload, name: str) -> list[Payload]:
    value = payload.get(name)
    items = cast("list[object]", value) if isinstance(value, list) else []
    return [cast("Payload", item) for item in items if isinstance(item, dict)]


def _count(payload: Payload, name: str) -> int:
    value = payload.get(name)
    return value if type(value) is int and 0 <= value < 2**63 else 0


def _ended(payload: Payload) -> str:
    failure, cancellation = _object(payload, "failure"), _object(payload, "cancellation")
    if failure:
        return f"{_text(failure, 'kind')}: {_text(failure, 'message')}"
    return _text(cancellation, "reason")


def _tool_result(payload: Payload) -> str:
    failure = _object(payload, "failure")
    name = _text(payload, "tool_name")
    if failure:
        return f"{name}: {_text(_object(failure, 'error'), 'message') or _text(failure, 'kind')}"
    preview = _text(payload, "result_preview")
    return f"{name}: {preview}" if preview else name


def _said(payload: Payload) -> str:
    """Return the last text of an assistant's message."""
    messages = [one for one in _list(payload, "") if one.get("role") == "assistant"]
    texts = [_text(part, "text") for message in messages for part in _list(message, "parts")]
    return next((text for text in reversed(texts) if text), "")


_WORDS: Final[Mapping[str, Callable[[Payload], str]]] = {
    "assistant_message": lambda body: _text(body, "Message"),
    "await_clarification": lambda body: f"question: {_text(body, 'Question')}",
    "await_confirmation": lambda body: f"confirmation: {_text(body, 'Title')}",
    "await_external_tools": lambda _: "waits for tools outside",
    "await_questions": lambda body: f"questions: {_text(body, 'Title')}",
    CANCELLATION_INTENT: lambda body: _text(body, "reason"),
    CHILD_RUN_LINKED: lambda body: f"{_text(body, 'ToolName')}: {_text(body, 'ChildAgentID')}",
    "planner_note": lambda body: _text(body, "Note"),
    RUN_COMPLETED: _ended,
    "thinking_block": lambda body: _text(body, "Text"),
    "tool_authorization": lambda body: _text(body, "Summary") or _text(body, "ToolName"),
    "tool_call_scheduled": lambda body: _text(body, "DisplayHint") or _text(body, "ToolName"),
    "tool_result_received": _tool_result,
    "transcript_messages_appended": _said,
}
