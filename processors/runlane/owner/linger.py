"""How long a batch waits for company: not at all, unless the database has too many parts."""

from __future__ import annotations

from typing import Any, Final

from runlane.contract.errors import RunlaneError
from runlane.owner.config import Bounds
from runlane.owner.ports import ClockPort
from runlane.owner.tasks import Io, Task, TaskKind
from runlane.store.flight import InsertReport

_CHECK_SECONDS: Final = 1.0
_FIRST: Final = 0.05
_NEVER: Final = float("inf")


class Linger:
    """``seconds`` is zero while the journal has few parts.

    It doubles on code 252 and grows with active parts.
    """

    def __init__(self, bounds: Bounds, io: Io, clock: ClockPort) -> None:
        self._bounds = bounds
        self._io = io
        self._clock = clock
        self._wrote = False
        self._checking = False
        self._check_at = 0.0
        self.seconds = 0.0

    def inserted(self, report: InsertReport) -> None:
        """Note an insert; one that met too many parts makes every batch wait longer."""
        self._wrote = True
        if report is InsertReport.BUSY:
            self.seconds = min(max(_FIRST, 2 * self.seconds), self._bounds.max_linger)

    def tick(self, now: float) -> None:
        """Count the parts once a second while something is written."""
        if self._checking or not (self._wrote or self.seconds) or now < self._check_at:
            return
        self._checking = True
        self._wrote = False
        self._check_at = now + _CHECK_SECONDS
        self._io.submit(
            Task(TaskKind.READ, lambda ports: ports.store.active_parts(), self._counted, self._failed)
        )

    def wake_at(self) -> float:
        """Return when ``tick`` is due, by the monotonic clock."""
        return self._check_at if self.seconds and not self._checking else _NEVER

    def _counted(self, parts: Any) -> None:
        """Follow the parts: as much above the bound, as long; halve what too many parts had made of it."""
        self._checking = False
        excess = max(0, parts - self._bounds.busy_parts) / self._bounds.busy_parts
        wanted = min(excess * _FIRST, self._bounds.max_linger)
        eased = self.seconds / 2 if self.seconds > _FIRST else 0.0
        self.seconds = max(wanted, eased)

    def _failed(self, _: RunlaneError) -> None:
        self._checking = False
