"""Memory of runs in this process, for tests and for products that keep it elsewhere."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from runlane.contract.memory import MemoryEvent, MemorySnapshot, decode_event, encode_event


class MemoryEvents:
    """Implements ``MemoryLog``: ``await memory.append_events("agent", "run", events)``.

    Events are kept as their JSON, so that nothing a caller changes later reaches them (C371). Safe to use
    from several threads and event loops at once.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._runs: dict[tuple[str, str], list[bytes]] = {}

    async def append_events(self, agent_id: str, run_id: str, events: Sequence[MemoryEvent]) -> None:
        """Append all events or none; without any it does nothing. ``InvalidCommand`` for what is no JSON."""
        encoded = [encode_event(event) for event in events]
        if encoded:
            with self._lock:
                self._runs.setdefault((agent_id, run_id), []).extend(encoded)

    async def load_run(self, agent_id: str, run_id: str) -> MemorySnapshot:
        """Return what the run remembers, an empty snapshot when it is unknown (C368)."""
        with self._lock:
            encoded = tuple(self._runs.get((agent_id, run_id), ()))
        return MemorySnapshot(agent_id, run_id, tuple(map(decode_event, encoded)))
