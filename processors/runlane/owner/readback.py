"""Read-backs: one query shows the ends of all chains that are waited for.

A read costs as much as a small insert, so it also waits, for a moment, for the inserts that are in flight and
for those that begin meanwhile; what is asked for while it runs is the next one's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from runlane.contract.errors import RunlaneError
from runlane.owner.ports import ClockPort
from runlane.owner.tasks import Io, Task, TaskKind
from runlane.store.chain import ChainTip

_NEVER: Final = float("inf")

Looked = Callable[[ChainTip | None, float], None]
"""Told the tip, None when the database was silent, and when the read began by the monotonic clock."""
Faulted = Callable[[RunlaneError], None]


class ReadBacks:
    """Reads chain ends for whoever asks, one query at a time.

    ``gather`` is how long, in seconds, it waits for inserts to end.
    """

    def __init__(self, io: Io, clock: ClockPort, gather: float) -> None:
        self._io = io
        self._clock = clock
        self._gather = gather
        self._reading = False
        self._inserting: set[Task] = set()
        self._awaited: set[Task] = set()
        self._wait_until = _NEVER
        self._asked: list[tuple[int, int, Looked, Faulted]] = []

    def ask(self, partition: int, floor: int, looked: Looked, faulted: Faulted) -> None:
        """Read a chain's newest block numbered ``floor`` or more, as soon as the query under way is done."""
        if not self._asked:
            self._awaited = set(self._inserting)
            self._wait_until = self._clock.monotonic() + self._gather
        self._asked.append((partition, floor, looked, faulted))
        self._next()

    @property
    def inserting(self) -> int:
        """How many inserts are in flight."""
        return len(self._inserting)

    def insert_began(self, task: Task) -> None:
        """Note an insert: who has asked, or asks from now on, waits for its end."""
        self._inserting.add(task)
        if self._asked:
            self._awaited.add(task)

    def insert_ended(self, task: Task) -> None:
        """Note the end of an insert, after its own read was asked for."""
        self._inserting.discard(task)
        self._awaited.discard(task)
        self._next()

    def tick(self, now: float) -> None:
        """Read without the inserts that take too long."""
        if now >= self._wait_until:
            self._awaited.clear()
            self._next()

    def wake_at(self) -> float:
        """Return when ``tick`` is due, by the monotonic clock."""
        return self._wait_until if self._awaited and not self._reading else _NEVER

    def _next(self) -> None:
        if self._reading or self._awaited or not self._asked:
            return
        asked, self._asked = self._asked, []
        self._reading = True
        self._wait_until = _NEVER
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
