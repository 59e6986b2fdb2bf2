"""Erasing purged lanes: after their tombstones are committed, one at a time, until nothing is left.

Only an owner erases, and only lanes whose tombstone is in the journal, so a former owner that erases late
does no harm.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from runlane.contract.errors import RunlaneError
from runlane.owner.ports import ClockPort
from runlane.owner.tasks import Io, Task, TaskKind

_POLL_SECONDS: Final = 1.0
_NEVER: Final = float("inf")


class Eraser:
    """The purged lanes of an owner that still have rows. ``erased`` counts the ones that are done."""

    def __init__(self, io: Io, clock: ClockPort) -> None:
        self._io = io
        self._clock = clock
        self._lanes: deque[str] = deque()
        self._running = False
        self._wake_at = 0.0
        self.erased = 0

    @property
    def waiting(self) -> int:
        """How many lanes are still to be erased."""
        return len(self._lanes)

    def add(self, lanes: Sequence[str]) -> None:
        """Erase these lanes; their tombstones are committed."""
        self._lanes.extend(lane for lane in lanes if lane not in self._lanes)

    def tick(self, now: float) -> None:
        """Go on with the first lane when it is due."""
        if not self._lanes or self._running or now < self._wake_at:
            return
        lane = self._lanes[0]
        self._running = True
        self._io.submit(
            Task(
                TaskKind.READ, lambda ports: ports.store.erase(lane), partial(self._done, lane), self._failed
            )
        )

    def wake_at(self) -> float:
        """Return when ``tick`` is due, by the monotonic clock."""
        return self._wake_at if self._lanes and not self._running else _NEVER

    def _done(self, lane: str, finished: Any) -> None:
        self._running = False
        if finished:
            self.erased += 1
            self._lanes.remove(lane)
        else:
            self._wake_at = self._clock.monotonic() + _POLL_SECONDS

    def _failed(self, _: RunlaneError) -> None:
        self._running = False
        self._wake_at = self._clock.monotonic() + _POLL_SECONDS
