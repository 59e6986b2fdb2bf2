"""The events of a run's memory, and a snapshot of them (contract 9)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Protocol, TypeAlias

from runlane.contract.payloads import ToolBounds
from runlane.strictjson import JsonValue


class MemoryType(StrEnum):
    """What a memory event is about."""

    USER_MESSAGE = "user_message"
    ASSISTANT_MESSAGE = "assistant_message"
    TOOL_CALL = "tool_call"
    TOOL_RESULT = "tool_result"
    PLANNER_NOTE = "planner_note"
    THINKING = "thinking"


MemoryValue: TypeAlias = "JsonValue | bytes | ToolBounds"
"""A member of an event's data: JSON, or in this process raw bytes and bounds, which are written as JSON."""


@dataclass(frozen=True, slots=True)
class MemoryEvent:
    """One event: type, time, members by name, and labels (None where it has none).

    Nobody may change ``data`` in place; a store keeps and returns copies.
    """

    type: MemoryType
    timestamp: datetime
    data: Mapping[str, MemoryValue]
    labels: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class MemorySnapshot:
    """What a run of an agent remembers, in the order it was appended; nothing for an unknown run (C368)."""

    agent_id: str
    run_id: str
    events: tuple[MemoryEvent, ...] = ()
    meta: Mapping[str, JsonValue] = field(default_factory=lambda: MappingProxyType({}))

    def filter_by_type(self, type: MemoryType) -> tuple[MemoryEvent, ...]:  # noqa: A002 - the contract's word
        """Return the events of one type in their order."""
        return tuple(event for event in self.events if event.type is type)

    def latest(self, type: MemoryType) -> MemoryEvent | None:  # noqa: A002
        """Return the event of one type that was appended last, whatever its time; None without any."""
        return next((event for event in reversed(self.events) if event.type is type), None)


@dataclass(frozen=True, slots=True)
class MemoryPage:
    """A piece of what a run remembers, oldest first.

    ``next_cursor`` is empty on the last page. Pages whose ``deleted`` differs belong to different snapshots:
    the run's memory was deleted between them.
    """

    events: tuple[MemoryEvent, ...] = ()
    next_cursor: str = ""
    deleted: int = -1


class MemoryReader(Protocol):
    """Reads stored memory, page by page."""

    async def memory_page(self, agent_id: str, run_id: str, cursor: str, limit: int) -> MemoryPage:
        """Return a page, an empty one for an unknown run; ``InvalidCommand`` for a limit or cursor."""
        ...


class MemoryLog(Protocol):
    """Where products keep what their agents remember; apart for each agent and run."""

    async def append_events(
        self, agent_id: str, run_id: str, events: Sequence[MemoryEvent], *, key: str = ""
    ) -> None:
        """Append events in order; without any it does nothing. ``InvalidCommand`` for what is no JSON.

        With ``key`` the same append again changes nothing; the key with other events is ``EventConflict``.
        """
        ...

    async def load_run(self, agent_id: str, run_id: str) -> MemorySnapshot:
        """Return what the run remembers, an empty snapshot when it is unknown."""
        ...

    async def delete_run(self, agent_id: str, run_id: str) -> None:
        """Delete what the run remembers; what is appended afterwards is remembered anew."""
        ...
