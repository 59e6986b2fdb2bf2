"""The strict payloads of the five lifecycle records (contract 0 and 1.9).

Decoding refuses whatever the contract does not name; encoding writes keys in the contract's order, without
whitespace, with the five characters of contract 6.1 escaped.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from runlane import strictjson
from runlane.contract.errors import InvalidCommand
from runlane.contract.payloads.text import dump
from runlane.contract.payloads.types import ENGINE_CANCELED_REASON

Int64 = Annotated[int, Field(ge=-(2**63), le=2**63 - 1)]
NonEmpty = Annotated[str, Field(min_length=1)]


Strings = Annotated[tuple[Annotated[str, Field(strict=True)], ...], Field(strict=False)]


class _Strict(BaseModel):
    """Base of the lifecycle payloads; ``nullable`` are the JSON keys that may hold null."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, validate_by_name=True)
    nullable: ClassVar[frozenset[str]] = frozenset()


class RunStarted(_Strict):
    """Payload of ``run_started``: the identity that is not in the envelope."""

    parent_run_id: str = ""
    predecessor_run_id: str = ""
    labels: dict[str, str] = Field(default_factory=dict[str, str])

    def encode(self) -> bytes:
        """Return the canonical bytes; an empty field is omitted, so a plain start is ``{}`` (C272)."""
        value = {"parent_run_id": self.parent_run_id, "predecessor_run_id": self.predecessor_run_id}
        kept: dict[str, object] = {name: text for name, text in value.items() if text}
        return dump(kept | _labels(self.labels))


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
    """Payload of ``run_completed``; the lifecycle validator pairs ``phase`` with ``status``, not this."""

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
        return dump(value | _labels(self.labels))


class RunSuspended(_Strict):
    """Payload of ``run_suspended``; only ``suspension_id`` is looked at by the store."""

    suspension_id: NonEmpty = Field(validation_alias="SuspensionID")
    version: str = Field(default="", validation_alias="Version")
    pending_count: Int64 = Field(default=0, validation_alias="PendingCount")
    required_tools: Strings | None = Field(default=None, validation_alias="RequiredTools")
    nullable = frozenset({"RequiredTools"})

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

    tool_name: NonEmpty = Field(validation_alias="ToolName")
    tool_call_id: NonEmpty = Field(validation_alias="ToolCallID")
    child_run_id: NonEmpty = Field(validation_alias="ChildRunID")
    child_agent_id: NonEmpty = Field(validation_alias="ChildAgentID")

    def encode(self) -> bytes:
        """Return the canonical bytes."""
        return dump(
            {
                "ToolName": self.tool_name,
                "ToolCallID": self.tool_call_id,
                "ChildRunID": self.child_run_id,
                "ChildAgentID": self.child_agent_id,
            }
        )


class CancellationIntent(_Strict):
    """Payload of ``runtime.cancellation_intent``; strict here, unlike in the reference (contract 0)."""

    reason: str

    def encode(self) -> bytes:
        """Return the canonical bytes."""
        return dump({"reason": self.reason})


def _labels(labels: Mapping[str, str]) -> dict[str, object]:
    """Return the member ``labels`` with sorted keys, nothing when there are none."""
    return {"labels": {key: labels[key] for key in sorted(labels)}} if labels else {}


_Model = TypeVar("_Model", bound=_Strict)


def decode_run_started(payload: bytes) -> RunStarted:
    """Decode a ``run_started`` payload; ``InvalidCommand`` when it breaks a rule."""
    return _decode(RunStarted, payload)


def decode_run_completed(payload: bytes) -> RunCompleted:
    """Decode a ``run_completed`` payload; ``InvalidCommand`` when it breaks a rule (C275 to C283)."""
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
        value = strictjson.loads(payload)
        if isinstance(value, dict) and None in value.values():
            rule = _null_rule(model, value)
        if not rule:
            return model.model_validate(value, by_name=False)
    except strictjson.StrictJsonError as refused:
        rule = refused.rule
    except ValidationError as refused:
        rule = validation_rule(refused)
    # Raised here, so that the payload does not hang on the error as its context.
    raise InvalidCommand(f"payload is not a valid {model.__name__}", code=rule)


def _null_rule(model: type[_Strict], value: Mapping[str, object]) -> str:
    """Return the rule that a null breaks: only a key that the contract writes as null may hold one."""
    nulls = {key for key, held in value.items() if held is None}
    return "" if nulls <= model.nullable else "payload_null_field"


def validation_rule(refused: ValidationError) -> str:
    """Return the code of the first rule that a payload breaks."""
    kind = refused.errors(include_url=False, include_context=False, include_input=False)[0]["type"]
    if kind in _CODES:
        return _CODES[kind]
    return "payload_wrong_type" if kind.endswith("_type") else "payload_invalid_value"
