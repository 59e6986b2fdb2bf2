"""A run store without any server, for tests."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

from runlane.client.follow import PagedFollower
from runlane.client.memory_events import MemoryEvents
from runlane.client.memory_lanes import MemoryLanes
from runlane.client.memory_reader import MemoryReader
from runlane.client.store import RunStore

_LOOK_SECONDS: Final = 0.01


def _now() -> datetime:
    return datetime.now(UTC)


class MemoryStore(RunStore):
    """A ``RunStore`` whose lanes are decided in this process: ``store = MemoryStore()``.

    The code that claims, routes, decides and answers is that of production. It needs no ``async with`` and
    works in any event loop. ``clock`` stamps commits; ``host=False`` makes it a store without a host key;
    ``lanes`` shows everything that was committed.
    """

    def __init__(self, *, clock: Callable[[], datetime] = _now, host: bool = True) -> None:
        self.lanes = MemoryLanes(clock, host=host)
        reader = MemoryReader(self.lanes)
        super().__init__(self.lanes, reader, follower=PagedFollower(reader, seconds=_LOOK_SECONDS))
        self.lanes.listen(self._exchange)
        self._memory = MemoryEvents()
