"""Erasing purged lanes: after their tombstones are committed, one at a time, until nothing is left.

Only an owner erases, and only lanes whose tombstone is in the journal, so a former owner that erases late
does no harm.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from runlane.contract.errors import RunlaneError
from runlane.owner.ports import ClockPort
from runlane.owner.tasks import Io, Task, TaskKind
from runlane.store.rota import Rota

_NEVER: Final = float("inf")
_LOG: Final = logging.getLogger("runlane.owner")


class Eraser:
    """The purged lanes of an owner that still have rows; one that cannot be erased holds up no other."""

    def __init__(self, io: Io, clock: ClockPort) -> None:
        self._io = io
        self._clock = clock
        self._lanes: Rota[str] = Rota()
        self._running = False

    @property
    def waiting(self) -> int:
        """How many lanes are still to be erased."""
        return len(self._lanes)

    @property
    def erased(self) -> int:
        """How many are done."""
        return self._lanes.finished

    @property
    def failed(self) -> int:
        """How many steps failed."""
        return self._lanes.failed

    def add(self, lanes: Sequence[str]) -> None:
        """Erase these lanes; their tombstones are committed."""
        self._lanes.add(lanes)

    def tick(self, now: float) -> None:
        """Go on with the lane whose turn it is."""
        lane = None if self._running else self._lanes.first(now)
        if lane is None:
            return
        self._running = True
        self._io.submit(
            Task(
                TaskKind.READ,
                lambda ports: ports.store.erase(lane),
                partial(self._done, lane),
                partial(self._failed, lane),
            )
        )

    def wake_at(self) -> float:
        """Return when ``tick`` is due, by the monotonic clock."""
        return _NEVER if self._running else self._lanes.due()

    def _done(self, lane: str, finished: Any) -> None:
        self._running = False
        if finished:
            self._lanes.finish(lane)
        else:
            self._lanes.again(lane, self._clock.monotonic())

    def _failed(self, lane: str, failure: RunlaneError) -> None:
        self._running = False
        self._lanes.fail(lane, self._clock.monotonic())
        _LOG.warning("erasing lane %s failed and is tried again: %s", lane, failure.code)
