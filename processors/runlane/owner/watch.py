"""Whether the log is still the same: looked at all the time, since a consumer reads on in a topic made anew.

It reads by topic name and offset, so nothing else would tell. In the moment before the look nothing that was
acknowledged can be lost: what a new log's first messages asked for is answered by nobody, and asked again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from runlane.contract.errors import RunlaneError
from runlane.owner.ports import ClockPort
from runlane.owner.tasks import Io, Task, TaskKind
from runlane.store.stops import LogShape

_SECONDS: Final = 2.0


class LogWatch:
    """Asks what the log is every other second, and tells ``seen``."""

    def __init__(self, io: Io, clock: ClockPort, seen: Callable[[LogShape], None]) -> None:
        self._io = io
        self._clock = clock
        self._seen = seen
        self._asking = False
        self._next = clock.monotonic() + _SECONDS

    def tick(self, now: float) -> None:
        """Ask when it is time."""
        if not self._asking and now >= self._next:
            self._asking = True
            self._io.submit(Task(TaskKind.LOG, lambda ports: ports.log.shape(), self._told, self._failed))

    def wake_at(self) -> float:
        """Return when ``tick`` is due, by the monotonic clock."""
        return float("inf") if self._asking else self._next

    def _told(self, shape: LogShape) -> None:
        self._rest()
        self._seen(shape)

    def _failed(self, _: RunlaneError) -> None:
        self._rest()

    def _rest(self) -> None:
        self._asking = False
        self._next = self._clock.monotonic() + _SECONDS
