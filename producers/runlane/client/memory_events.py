"""Memory of runs in this process, for tests and for products that keep it elsewhere."""

from __future__ import annotations

import threading
import uuid
from collections import Counter
from collections.abc import Sequence

from runlane.contract.errors import EventConflict
from runlane.contract.memory import AppendMemory, MemoryEvent, MemoryPage, MemorySnapshot, decode_event
from runlane.contract.paging import check_limit, parse_cursor


class MemoryEvents:
    """A ``MemoryLog`` and ``MemoryReader``: ``await memory.append_events("agent", "run", events)``.

    Events are kept as their JSON, so that nothing a caller changes later reaches them (C371). Safe to use
    from several threads and event loops at once.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._runs: dict[tuple[str, str], list[bytes]] = {}
        self._appends: dict[tuple[str, str, str], bytes] = {}
        self._deletions: Counter[tuple[str, str]] = Counter()

    async def append_events(
        self, agent_id: str, run_id: str, events: Sequence[MemoryEvent], *, key: str = ""
    ) -> None:
        """Append all events or none; without any it does nothing.

        ``InvalidCommand`` for what is no JSON, ``EventConflict`` for a ``key`` that named other events.
        """
        if not events:
            return
        append = AppendMemory.of(agent_id, run_id, key or uuid.uuid4().hex, events)
        named = (agent_id, run_id, append.key)
        with self._lock:
            first = self._appends.get(named)
            if first is None:
                self._appends[named] = append.digest
                self._runs.setdefault((agent_id, run_id), []).extend(append.events)
        if first not in (None, append.digest):
            raise EventConflict("the key names another append", run_id=run_id, event_key=key)

    async def load_run(self, agent_id: str, run_id: str) -> MemorySnapshot:
        """Return what the run remembers, an empty snapshot when it is unknown (C368)."""
        with self._lock:
            encoded = tuple(self._runs.get((agent_id, run_id), ()))
        return MemorySnapshot(agent_id, run_id, tuple(map(decode_event, encoded)))

    async def delete_run(self, agent_id: str, run_id: str) -> None:
        """Forget what the run remembers; what is appended afterwards is remembered anew."""
        with self._lock:
            self._runs.pop((agent_id, run_id), None)
            self._deletions[agent_id, run_id] += 1

    async def memory_page(self, agent_id: str, run_id: str, cursor: str, limit: int) -> MemoryPage:
        """Return a page of what the run remembers; ``InvalidCommand`` for a limit or cursor."""
        count, after = check_limit(limit), parse_cursor(cursor)
        with self._lock:
            encoded = self._runs.get((agent_id, run_id), [])[after : after + count + 1]
            deleted = self._deletions[agent_id, run_id]
        events = tuple(map(decode_event, encoded[:count]))
        return MemoryPage(events, str(after + count) if len(encoded) > count else "", deleted)
