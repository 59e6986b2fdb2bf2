"""The payload of `tool_result_received`, snake-cased but for bounds and telemetry (contract 1.10)."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import BeforeValidator, Field

from runlane.contract.errors import InvalidCommand
from runlane.contract.payloads.hook import (
    OMITTED_WHEN_ABSENT,
    OMITTED_WHEN_EMPTY,
    FreeJson,
    Hook,
    Int64,
    RawJson,
    as_tuple,
)

OmittedText = Annotated[str, OMITTED_WHEN_EMPTY]
OmittedRaw = Annotated[RawJson, OMITTED_WHEN_EMPTY]


class ToolBounds(Hook):
    """How a result was cut; Go-cased."""

    returned: Int64 = Field(default=0, validation_alias="Returned")
    total: Int64 | None = Field(default=None, validation_alias="Total")
    truncated: bool = Field(default=False, validation_alias="Truncated")
    next_cursor: str | None = Field(default=None, validation_alias="NextCursor")
    refinement_hint: str = Field(default="", validation_alias="RefinementHint")


class ToolTelemetry(Hook):
    """What a tool call cost; Go-cased."""

    duration_ms: Int64 = Field(default=0, validation_alias="DurationMs")
    tokens_used: Int64 = Field(default=0, validation_alias="TokensUsed")
    model: str = Field(default="", validation_alias="Model")
    extra: FreeJson = Field(default=None, validation_alias="Extra")


class ToolError(Hook):
    """An error of a tool and, inside, what caused it."""

    message: str = ""
    cause: Annotated[ToolError | None, OMITTED_WHEN_EMPTY] = None


class ToolIssue(Hook):
    """One field of a call that breaks a constraint; a length that is there is written, 0 too."""

    field: str = ""
    constraint: str = ""
    allowed: Annotated[tuple[str, ...], BeforeValidator(as_tuple), OMITTED_WHEN_EMPTY] = ()
    min_len: Annotated[Int64 | None, OMITTED_WHEN_ABSENT] = None
    max_len: Annotated[Int64 | None, OMITTED_WHEN_ABSENT] = None
    pattern: OmittedText = ""
    format: OmittedText = ""
    expected_json_type: OmittedText = ""
    actual_json_type: OmittedText = ""


class ToolRecovery(Hook):
    """What the model may do about a failure."""

    action: str = ""
    issues: Annotated[tuple[ToolIssue, ...], BeforeValidator(as_tuple), OMITTED_WHEN_EMPTY] = ()
    prior_input: OmittedRaw = None
    example_json: OmittedRaw = None


class ToolFailure(Hook):
    """Why a tool call failed; kinds and actions are not checked by readers."""

    kind: str = ""
    error: ToolError = ToolError()
    recovery: ToolRecovery = ToolRecovery()


class ToolResultReceived(Hook):
    """A tool call came back with a result or a failure, never both (C286).

    ``result_json`` is the result's raw bytes; ``result_bytes`` is their length before whitespace is dropped,
    taken from them when it is not given. ``duration`` is nanoseconds.
    """

    record_type: ClassVar[str] = "tool_result_received"
    call_run_id: str = ""
    tool_call_id: str = ""
    parent_tool_call_id: OmittedText = ""
    tool_name: str = ""
    result_json: OmittedRaw = None
    result_bytes: Annotated[Int64, OMITTED_WHEN_EMPTY] = 0
    server_data: OmittedRaw = None
    result_preview: OmittedText = ""
    bounds: Annotated[ToolBounds | None, OMITTED_WHEN_EMPTY] = None
    duration: Int64 = 0
    telemetry: Annotated[ToolTelemetry | None, OMITTED_WHEN_EMPTY] = None
    failure: Annotated[ToolFailure | None, OMITTED_WHEN_EMPTY] = None

    def encode(self) -> bytes:
        """Return the payload bytes; ``InvalidCommand`` for a result beside a failure, a literal null too."""
        if self.failure is not None and self.result_json:
            raise InvalidCommand(
                "a tool call has both a result and a failure", code="tool_result_and_failure"
            )
        if self.result_json and not self.result_bytes:
            return self.model_copy(update={"result_bytes": len(self.result_json)}).encode()
        return super().encode()
