"""From run records to memory: what a runtime remembers by itself (contract 9)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from runlane.contract.errors import InvalidCommand
from runlane.contract.memory.data import (
    AssistantMessageData,
    MemoryData,
    PlannerNoteData,
    ThinkingData,
    ToolCallData,
    ToolResultData,
)
from runlane.contract.memory.values import MemoryEvent
from runlane.contract.payloads import (
    AssistantMessage,
    PlannerNote,
    ThinkingBlock,
    ToolCallScheduled,
    ToolResultReceived,
    decode_hook,
)
from runlane.contract.values import CommittedRecord, RunRecord


def memory_event(record: RunRecord | CommittedRecord) -> MemoryEvent | None:
    """Return what a record leaves in memory, with its time; None for a type that leaves nothing.

    Tool calls, tool results, assistant messages, thinking and notes do, a note with its labels; what the user
    said is not in the records. ``InvalidCommand`` for a payload that breaks a rule of its type.
    """
    data_of = _RULES.get(record.type)
    if data_of is None:
        return None
    if record.timestamp is None:
        raise InvalidCommand("a record without a time leaves nothing in memory", code="time_required")
    hook = decode_hook(record.type, record.payload)
    labels = hook.labels if isinstance(hook, PlannerNote) else None
    return data_of(hook).event(record.timestamp, labels)


def memory_events(records: Iterable[RunRecord | CommittedRecord]) -> tuple[MemoryEvent, ...]:
    """Return what records leave in memory, in their order; ``InvalidCommand`` as of ``memory_event``."""
    return tuple(event for record in records if (event := memory_event(record)) is not None)


def _tool_call(hook: ToolCallScheduled) -> ToolCallData:
    return ToolCallData(
        hook.tool_call_id,
        hook.tool_name,
        hook.parent_tool_call_id,
        "" if hook.payload in (None, b"null") else hook.payload.decode(),
        hook.queue,
        hook.expected_children_total,
    )


def _tool_result(hook: ToolResultReceived) -> ToolResultData:
    return ToolResultData(
        hook.tool_call_id,
        hook.tool_name,
        (hook.result_json or b"").decode(),
        hook.result_preview,
        hook.bounds,
        hook.duration,
        hook.failure.error.message if hook.failure is not None else "",
    )


def _thinking(hook: ThinkingBlock) -> ThinkingData:
    return ThinkingData(hook.text, hook.signature, hook.redacted or b"", hook.content_index, hook.final)


_RULES: Final[dict[str, Callable[[Any], MemoryData]]] = {
    AssistantMessage.record_type: lambda hook: AssistantMessageData(hook.message, hook.structured),
    PlannerNote.record_type: lambda hook: PlannerNoteData(hook.note),
    ThinkingBlock.record_type: _thinking,
    ToolCallScheduled.record_type: _tool_call,
    ToolResultReceived.record_type: _tool_result,
}
