"""Typed data of memory events (contract 9): what a product reads instead of a map.

An optional member that is empty is not written. Reading ignores unknown members and is strict on types.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar, Self, TypeVar

from runlane import strictjson
from runlane.contract.errors import InvalidCommand
from runlane.contract.memory import fields as f
from runlane.contract.memory.values import MemoryEvent, MemoryType, MemoryValue
from runlane.contract.payloads import ToolBounds
from runlane.strictjson import JsonValue, StrictJsonError


class MemoryData(ABC):
    """Data of one type of event."""

    __slots__ = ()
    type: ClassVar[MemoryType]

    @abstractmethod
    def members(self) -> dict[str, MemoryValue]:
        """Return the members to write."""

    @classmethod
    @abstractmethod
    def of(cls, data: Mapping[str, MemoryValue]) -> Self:
        """Read the members; ``InvalidCommand`` for one that is missing or of a wrong type."""

    def event(self, timestamp: datetime, labels: Mapping[str, str] | None = None) -> MemoryEvent:
        """Return the event that holds this data."""
        return MemoryEvent(self.type, timestamp, self.members(), labels)


_Data = TypeVar("_Data", bound=MemoryData)


def read_data(event: MemoryEvent, kind: type[_Data]) -> _Data:
    """Return an event's data as ``kind``: ``read_data(event, ToolCallData).tool_name``.

    ``InvalidCommand`` for an event of another type, and for data that breaks a rule.
    """
    if event.type is not kind.type:
        raise InvalidCommand(f"a {event.type} event is no {kind.type}", code="memory_other_type")
    return kind.of(event.data)


@dataclass(frozen=True, slots=True)
class _MessageData(MemoryData):
    message: str = ""
    structured: JsonValue = None

    def members(self) -> dict[str, MemoryValue]:
        return _filled({"message": self.message, "structured": self.structured}, keep=("structured",))

    @classmethod
    def of(cls, data: Mapping[str, MemoryValue]) -> Self:
        return cls(f.text(data, "message"), f.free(data, "structured"))


class UserMessageData(_MessageData):
    """What the user said."""

    __slots__ = ()
    type = MemoryType.USER_MESSAGE


class AssistantMessageData(_MessageData):
    """What the assistant said."""

    __slots__ = ()
    type = MemoryType.ASSISTANT_MESSAGE


@dataclass(frozen=True, slots=True)
class ToolCallData(MemoryData):
    """A tool call; ``payload`` is its arguments as JSON text, empty without any."""

    type: ClassVar = MemoryType.TOOL_CALL
    tool_call_id: str
    tool_name: str
    parent_tool_call_id: str = ""
    payload: str = ""
    queue: str = ""
    expected_children_total: int = 0

    def members(self) -> dict[str, MemoryValue]:
        """Return the members to write."""
        return _filled(
            {
                "tool_call_id": self.tool_call_id,
                "tool_name": self.tool_name,
                "parent_tool_call_id": self.parent_tool_call_id,
                "payload": self.payload,
                "queue": self.queue,
                "expected_children_total": self.expected_children_total,
            },
            keep=("tool_call_id", "tool_name"),
        )

    @classmethod
    def of(cls, data: Mapping[str, MemoryValue]) -> Self:
        """Read the members; ``InvalidCommand``. The payload's text is not parsed."""
        return cls(
            f.required_text(data, "tool_call_id"),
            f.required_text(data, "tool_name"),
            f.text(data, "parent_tool_call_id"),
            f.json_text(data, "payload"),
            f.text(data, "queue"),
            f.integer(data, "expected_children_total"),
        )

    def input(self) -> JsonValue:
        """Parse the arguments, numbers exact; None without any. ``InvalidCommand`` for what is no JSON."""
        rule = ""
        try:
            return strictjson.loads_exact(self.payload.encode()) if self.payload else None
        except StrictJsonError as refused:
            rule = refused.rule
        raise InvalidCommand("the payload of the tool call is not JSON", code=rule)


@dataclass(frozen=True, slots=True)
class ToolResultData(MemoryData):
    """What a tool answered; a result and an error may coexist. ``duration`` is nanoseconds."""

    type: ClassVar = MemoryType.TOOL_RESULT
    tool_call_id: str
    tool_name: str
    result_json: str = ""
    preview: str = ""
    bounds: ToolBounds | None = None
    duration: int = 0
    error_message: str = ""

    def members(self) -> dict[str, MemoryValue]:
        """Return the members to write."""
        return _filled(
            {
                "tool_call_id": self.tool_call_id,
                "tool_name": self.tool_name,
                "result_json": self.result_json,
                "preview": self.preview,
                "bounds": self.bounds,
                "duration": self.duration,
                "error_message": self.error_message,
            },
            keep=("tool_call_id", "tool_name"),
        )

    @classmethod
    def of(cls, data: Mapping[str, MemoryValue]) -> Self:
        """Read the members; ``InvalidCommand``."""
        return cls(
            f.required_text(data, "tool_call_id"),
            f.required_text(data, "tool_name"),
            f.text(data, "result_json"),
            f.text(data, "preview"),
            f.bounds(data, "bounds"),
            f.integer(data, "duration"),
            f.text(data, "error_message"),
        )


@dataclass(frozen=True, slots=True)
class PlannerNoteData(MemoryData):
    """A note of the planner."""

    type: ClassVar = MemoryType.PLANNER_NOTE
    note: str

    def members(self) -> dict[str, MemoryValue]:
        """Return the members to write."""
        return {"note": self.note}

    @classmethod
    def of(cls, data: Mapping[str, MemoryValue]) -> Self:
        """Read the members; ``InvalidCommand``."""
        return cls(f.required_text(data, "note"))


@dataclass(frozen=True, slots=True)
class ThinkingData(MemoryData):
    """A piece of the model's reasoning; index and end mark are always written."""

    type: ClassVar = MemoryType.THINKING
    text: str = ""
    signature: str = ""
    redacted: bytes = b""
    content_index: int = 0
    final: bool = False

    def members(self) -> dict[str, MemoryValue]:
        """Return the members to write."""
        return _filled(
            {
                "text": self.text,
                "signature": self.signature,
                "redacted": self.redacted,
                "content_index": self.content_index,
                "final": self.final,
            },
            keep=("content_index", "final"),
        )

    @classmethod
    def of(cls, data: Mapping[str, MemoryValue]) -> Self:
        """Read the members; ``InvalidCommand``."""
        return cls(
            f.text(data, "text"),
            f.text(data, "signature"),
            f.raw_bytes(data, "redacted"),
            f.integer(data, "content_index"),
            f.flag(data, "final"),
        )


def _filled(members: dict[str, MemoryValue], keep: tuple[str, ...]) -> dict[str, MemoryValue]:
    """Leave out what is empty and optional; a null is always left out."""
    return {name: value for name, value in members.items() if value is not None and (value or name in keep)}
