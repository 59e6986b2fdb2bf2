"""A prepared continuation and its bytes; one version, any other is refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from pydantic import BaseModel, ConfigDict, ValidationError

from runlane import strictjson
from runlane.contract.errors import InvalidCommand
from runlane.contract.payloads.text import dump
from runlane.contract.values import RunStart

PREPARED_VERSION: Final = "runlane.prepared-run.v1"


@dataclass(frozen=True, slots=True)
class ParentCall:
    """The tool call of a running parent that a continued child goes on to answer."""

    parent_agent_id: str
    tool_name: str
    tool_call_id: str


@dataclass(frozen=True, slots=True)
class PreparedRun:
    """The start of a continuation with the answers that it goes on with; whoever starts it starts the same.

    ``answers`` are JSON texts by what they answer. ``checkpoint_version`` is that of the suspension.
    """

    start: RunStart
    suspension_id: str
    checkpoint_version: str
    answers: Mapping[str, bytes]
    parent_call: ParentCall | None = None

    def marshal(self) -> bytes:
        """Return bytes to keep beside one's own data; ``parse_prepared`` reads them."""
        run, call = self.start, self.parent_call
        assert run.started_at is not None, "it was prepared with a time"
        value: dict[str, object] = {
            "version": PREPARED_VERSION,
            "run_id": run.run_id,
            "agent_id": run.agent_id,
            "session_id": run.session_id,
            "predecessor_run_id": run.predecessor_run_id,
            "started_at": run.started_at.isoformat(timespec="milliseconds"),
            "labels": dict(run.labels),
            "suspension_id": self.suspension_id,
            "checkpoint_version": self.checkpoint_version,
            "answers": {name: text.decode() for name, text in self.answers.items()},
        }
        if call is not None:
            value["parent"] = {
                "run_id": run.parent_run_id,
                "agent_id": call.parent_agent_id,
                "tool_name": call.tool_name,
                "tool_call_id": call.tool_call_id,
            }
        return dump(value)


def parse_prepared(data: bytes) -> PreparedRun:
    """Read what ``PreparedRun.marshal`` wrote.

    ``InvalidCommand`` with code ``prepared_version`` for another version, ``prepared_run`` or the rule of the
    JSON gate for bytes that are none.
    """
    value = _load(data)
    if not isinstance(value, dict) or "version" not in value:
        raise InvalidCommand("not a prepared run", code="prepared_run")
    if value["version"] != PREPARED_VERSION:
        raise InvalidCommand("the prepared run is of another version", code="prepared_version")
    kept: _Kept | None = None
    try:
        kept = _Kept.model_validate(value)
        started_at = datetime.fromisoformat(kept.started_at)
    except (ValidationError, ValueError):
        started_at = None
    if (
        kept is None or started_at is None or started_at.tzinfo is None
    ):  # raised here, so that the text does not hang on the error
        raise InvalidCommand("not a prepared run", code="prepared_run")
    return kept.prepared(started_at)


class _KeptParent(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)
    run_id: str
    agent_id: str
    tool_name: str
    tool_call_id: str


class _Kept(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)
    version: str
    run_id: str
    agent_id: str
    session_id: str
    predecessor_run_id: str
    started_at: str
    labels: dict[str, str]
    suspension_id: str
    checkpoint_version: str
    answers: dict[str, str]
    parent: _KeptParent | None = None

    def prepared(self, started_at: datetime) -> PreparedRun:
        parent = self.parent
        start = RunStart(
            run_id=self.run_id,
            agent_id=self.agent_id,
            session_id=self.session_id,
            parent_run_id=parent.run_id if parent is not None else "",
            predecessor_run_id=self.predecessor_run_id,
            started_at=started_at,
            labels=self.labels,
        )
        call = None if parent is None else ParentCall(parent.agent_id, parent.tool_name, parent.tool_call_id)
        answers = {name: text.encode() for name, text in self.answers.items()}
        return PreparedRun(start, self.suspension_id, self.checkpoint_version, answers, call)


def _load(data: bytes) -> strictjson.JsonValue:
    rule = ""
    try:
        return strictjson.loads(data, max_bytes=len(data))
    except strictjson.StrictJsonError as refused:
        rule = refused.rule
    raise InvalidCommand("not a prepared run", code=rule)
