"""Payloads of the events about tool calls (contract 8): snake case, bounds and telemetry Go-cased."""

from __future__ import annotations

import re
from typing import Annotated, Final, Self

from runlane.contract.errors import InvalidCommand
from runlane.contract.payloads import (
    Hook,
    ToolBounds,
    ToolCallScheduled,
    ToolCallUpdated,
    ToolFailure,
    ToolResultReceived,
    ToolTelemetry,
)
from runlane.contract.payloads.hook import OMITTED_WHEN_EMPTY, Int64
from runlane.contract.stream.awaits import OmittedRaw, OmittedText, present

PREVIEW_CHARACTERS: Final = 140
"""Code points that a result preview keeps (C359)."""

_BLANKS: Final = re.compile(r"[ \t\r\n]+")


class ToolStartPayload(Hook):
    """A tool call begins."""

    tool_call_id: str
    tool_name: str
    payload: OmittedRaw = None
    display_hint: OmittedText
    queue: OmittedText
    parent_tool_call_id: OmittedText
    expected_children_total: Annotated[Int64, OMITTED_WHEN_EMPTY]

    @classmethod
    def of(cls, event: ToolCallScheduled) -> Self:
        """Build the payload of a record."""
        return cls(
            tool_call_id=event.tool_call_id,
            tool_name=event.tool_name,
            payload=present(event.payload),
            display_hint=event.display_hint,
            queue=event.queue,
            parent_tool_call_id=event.parent_tool_call_id,
            expected_children_total=event.expected_children_total,
        )


class ToolUpdatePayload(Hook):
    """A tool call learnt how many children it will have."""

    tool_call_id: str
    expected_children_total: Int64

    @classmethod
    def of(cls, event: ToolCallUpdated) -> Self:
        """Build the payload of a record."""
        return cls(tool_call_id=event.tool_call_id, expected_children_total=event.expected_children_total)


class ToolEndPayload(Hook):
    """A tool call ended; ``call_run_id`` is the run that made the call, maybe an earlier one (C358)."""

    call_run_id: str
    tool_call_id: str
    parent_tool_call_id: OmittedText
    tool_name: str
    result: OmittedRaw = None
    result_preview: OmittedText
    bounds: Annotated[ToolBounds | None, OMITTED_WHEN_EMPTY] = None
    duration: Int64
    telemetry: Annotated[ToolTelemetry | None, OMITTED_WHEN_EMPTY] = None
    failure: Annotated[ToolFailure | None, OMITTED_WHEN_EMPTY] = None

    @classmethod
    def of(cls, event: ToolResultReceived) -> Self:
        """Build the payload of a record; ``InvalidCommand`` without the ids or the name of the call."""
        for name in ("call_run_id", "tool_call_id", "tool_name"):
            if not getattr(event, name):
                raise InvalidCommand(f"tool_end needs a {name}", code=f"{name}_required")
        return cls(
            call_run_id=event.call_run_id,
            tool_call_id=event.tool_call_id,
            parent_tool_call_id=event.parent_tool_call_id,
            tool_name=event.tool_name,
            result=event.result_json,
            result_preview=_BLANKS.sub(" ", event.result_preview)[:PREVIEW_CHARACTERS],
            bounds=event.bounds,
            duration=event.duration,
            telemetry=event.telemetry,
            failure=event.failure,
        )
