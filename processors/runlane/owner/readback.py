"""Read-backs: one query shows the ends of all chains that are waited for, while the next ones gather."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from runlane.contract.errors import RunlaneError
from runlane.owner.ports import ClockPort
from runlane.owner.tasks import Io, Task, TaskKind
from runlane.store.chain import ChainTip

Looked = Callable[[ChainTip | None, float], None]
"""Told the tip, None when the database was silent, and when the read began by the monotonic clock."""
Faulted = Callable[[RunlaneError], None]


class ReadBacks:
    """Reads chain ends for whoever asks, one query at a time."""

    def __init__(self, io: Io, clock: ClockPort) -> None:
        self._io = io
        self._clock = clock
        self._reading = False
        self._asked: list[tuple[int, int, Looked, Faulted]] = []

    def ask(self, partition: int, floor: int, looked: Looked, faulted: Faulted) -> None:
        """Read a chain's newest block numbered ``floor`` or more, as soon as the query under way is done."""
        self._asked.append((partition, floor, looked, faulted))
        self._next()

    def _next(self) -> None:
        if self._reading or not self._asked:
            return
        asked, self._asked = self._asked, []
        self._reading = True
        begun = self._clock.monotonic()
        floors: dict[int, int] = {}
        for partition, floor, _, _ in asked:
            floors[partition] = min(floor, floors.get(partition, floor))

        def found(tips: Mapping[int, ChainTip]) -> None:
            self._reading = False
            for partition, _, looked, _ in asked:
                looked(tips[partition], begun)
            self._next()

        def failed(failure: RunlaneError) -> None:
            self._reading = False
            for _, _, looked, faulted in asked:
                if failure.retryable:
                    looked(None, begun)
                else:
                    faulted(failure)
            self._next()

        self._io.submit(Task(TaskKind.TIPS, lambda ports: ports.store.tips(floors), found, failed))
