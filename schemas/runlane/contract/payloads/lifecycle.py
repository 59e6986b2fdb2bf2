"""The strict payloads of the five lifecycle records (contract 0 and 1.9).

Decoding refuses whatever the contract does not name; encoding writes keys in the contract's order, without whitespace,
with the five characters of contract 6.1 escaped.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from runlane import strictjson
from runlane.contract.errors import InvalidCommand
from runlane.contract.payloads.text import dump
from runlane.contract.payloads.types import ENGINE_CANCELED_REASON

Int64 = Annotated[int, Field(ge=-(2**63), le=2**63 - 1)]
NonEmpty = Annotated[str, Field(min_length=1)]
Terminal = Literal["completed", "failed", "canceled"]


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class RunStarted(_Strict):
    """Payload of ``run_started``: the identity that is not in the envelope."""

    parent_run_id: str = ""
    predecessor_run_id: str = ""
    labels: dict[str, str] = Field(default_factory=dict[str, str])

    def encode(self) -> bytes:
        """Return the canonical bytes; an empty field is omitted, so a plain start is ``{}`` (C272)."""
        return dump({name: value for name, value in self if value})


class Failure(_Strict):
    """Why a run failed; ``message`` and ``kind`` are never empty in a stored completion."""

    message: str = ""
    debug_message: str = ""
    provider: str = ""
    operation: str = ""
    kind: str = ""
    code: str = ""
    http_status: Int64 = 0
    retryable: bool = False

    def as_json(self) -> dict[str, object]:
        """Return the object to encode: empty fields omitted, ``retryable`` always there."""
        kept: dict[str, object] = {name: value for name, value in self if value and name != "retryable"}
        return kept | {"retryable": self.retryable}


class Cancellation(_Strict):
    """Why a run was canceled."""

    reason: str = ""


class RunCompleted(_Strict):
    """Payload of ``run_completed``. ``phase`` is not paired with ``status`` here: the lifecycle validator does that."""

    status: Literal["success", "failed", "canceled"]
    phase: str = ""
    failure: Failure | None = None
    cancellation: Cancellation | None = None
    labels: dict[str, str] = Field(default_factory=dict[str, str])

    @model_validator(mode="after")
    def _status_decides_the_rest(self) -> Self:
        if (self.failure is not None) != (self.status == "failed"):
            raise ValueError("failure belongs to a failed completion")
        if (self.cancellation is not None) != (self.status == "canceled"):
            raise ValueError("cancellation belongs to a canceled completion")
        if self.failure is not None and not (self.failure.message and self.failure.kind):
            raise ValueError("a failure has a message and a kind")
        if self.cancellation is not None and not self.cancellation.reason:
            raise ValueError("a cancellation has a reason")
        return self

    @classmethod
    def success(cls, *, labels: Mapping[str, str] | None = None) -> Self:
        """Build the payload of a run that completed."""
        return cls(status="success", phase="completed", labels=dict(labels or {}))

    @classmethod
    def failed(cls, failure: Failure, *, labels: Mapping[str, str] | None = None) -> Self:
        """Build the payload of a run that failed."""
        return cls(status="failed", phase="failed", failure=failure, labels=dict(labels or {}))

    @classmethod
    def canceled(cls, reason: str = "", *, labels: Mapping[str, str] | None = None) -> Self:
        """Build the payload of a canceled run; without a reason it is ``engine_canceled`` (C280)."""
        cancellation = Cancellation(reason=reason or ENGINE_CANCELED_REASON)
        return cls(status="canceled", phase="canceled", cancellation=cancellation, labels=dict(labels or {}))

    def encode(self) -> bytes:
        """Return the canonical bytes; ``status`` and ``phase`` are always there."""
        value: dict[str, object] = {"status": self.status, "phase": self.phase}
        if self.failure is not None:
            value["failure"] = self.failure.as_json()
        if self.cancellation is not None:
            value["cancellation"] = {"reason": self.cancellation.reason}
        if self.labels:
            value["labels"] = self.labels
        return dump(value)


class RunSuspended(_Strict):
    """Payload of ``run_suspended``; only ``suspension_id`` is looked at by the store."""

    suspension_id: NonEmpty = Field(alias="SuspensionID")
    version: str = Field(default="", alias="Version")
    pending_count: Int64 = Field(default=0, alias="PendingCount")
    required_tools: tuple[str, ...] | None = Field(default=None, alias="RequiredTools", strict=False)

    def encode(self) -> bytes:
        """Return the canonical bytes, all four keys written, ``RequiredTools`` null when empty (C281)."""
        return dump(
            {
                "SuspensionID": self.suspension_id,
                "Version": self.version,
                "PendingCount": self.pending_count,
                "RequiredTools": list(self.required_tools) if self.required_tools else None,
            }
        )


class ChildRunLinked(_Strict):
    """Payload of ``child_run_linked``, a record of the parent."""

    tool_name: NonEmpty = Field(alias="ToolName")
    tool_call_id: NonEmpty = Field(alias="ToolCallID")
    child_run_id: NonEmpty = Field(alias="ChildRunID")
    child_agent_id: NonEmpty = Field(alias="ChildAgentID")

    def encode(self) -> bytes:
        """Return the canonical bytes."""
        return dump(self.model_dump(by_alias=True))


class CancellationIntent(_Strict):
    """Payload of ``runtime.cancellation_intent``; strict here, unlike in the reference (contract 0)."""

    reason: str

    def encode(self) -> bytes:
        """Return the canonical bytes."""
        return dump({"reason": self.reason})


_Model = TypeVar("_Model", bound=_Strict)


def decode_run_started(payload: bytes) -> RunStarted:
    """Decode a ``run_started`` payload; ``InvalidCommand`` when it breaks a rule."""
    return _decode(RunStarted, payload)


def decode_run_completed(payload: bytes) -> RunCompleted:
    """Decode a ``run_completed`` payload; ``InvalidCommand`` when it breaks a rule (C275, C277, C278, C283)."""
    return _decode(RunCompleted, payload)


def decode_run_suspended(payload: bytes) -> RunSuspended:
    """Decode a ``run_suspended`` payload; ``InvalidCommand`` when it breaks a rule."""
    return _decode(RunSuspended, payload)


def decode_child_run_linked(payload: bytes) -> ChildRunLinked:
    """Decode a ``child_run_linked`` payload; ``InvalidCommand`` when it breaks a rule."""
    return _decode(ChildRunLinked, payload)


def decode_cancellation_intent(payload: bytes) -> CancellationIntent:
    """Decode a cancellation intent; ``InvalidCommand`` when it breaks a rule."""
    return _decode(CancellationIntent, payload)


_CODES = {"extra_forbidden": "payload_unknown_field", "missing": "payload_missing_field"}


def _decode(model: type[_Model], payload: bytes) -> _Model:
    rule = ""
    try:
        return model.model_validate(strictjson.loads(payload))
    except strictjson.StrictJsonError as refused:
        rule = refused.rule
    except ValidationError as refused:
        rule = _rule(refused)
    # Raised here, so that the payload does not hang on the error as its context.
    raise InvalidCommand(f"payload is not a valid {model.__name__}", code=rule)


def _rule(refused: ValidationError) -> str:
    kind = refused.errors(include_url=False, include_context=False, include_input=False)[0]["type"]
    if kind in _CODES:
        return _CODES[kind]
    return "payload_wrong_type" if kind.endswith("_type") else "payload_invalid_value"
