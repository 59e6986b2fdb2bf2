"""Memory without ``await``."""

from __future__ import annotations

from collections.abc import Sequence

from runlane.client.portal import Portal
from runlane.contract.memory import MemoryEvent, MemoryLog, MemorySnapshot


class SyncMemory:
    """``MemoryLog`` for code without an event loop: ``store.memory.load_run("agent", "run")``."""

    def __init__(self, portal: Portal, memory: MemoryLog) -> None:
        self._portal = portal
        self._memory = memory

    def append_events(
        self, agent_id: str, run_id: str, events: Sequence[MemoryEvent], *, key: str = ""
    ) -> None:
        """See ``MemoryLog.append_events``."""
        self._portal.run(self._memory.append_events(agent_id, run_id, events, key=key))

    def load_run(self, agent_id: str, run_id: str) -> MemorySnapshot:
        """See ``MemoryLog.load_run``."""
        return self._portal.run(self._memory.load_run(agent_id, run_id))

    def delete_run(self, agent_id: str, run_id: str) -> None:
        """See ``MemoryLog.delete_run``."""
        self._portal.run(self._memory.delete_run(agent_id, run_id))
