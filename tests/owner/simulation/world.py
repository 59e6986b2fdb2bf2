"""Virtual time and the order of things: one seed, one history."""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

START = datetime(2026, 2, 28, 23, 58, 0, tzinfo=UTC)


@dataclass
class Faults:
    """Chances of each fault; all zero is a calm world."""

    unknown_insert: float = 0.0
    late_insert: float = 0.0
    busy_insert: float = 0.0
    failed_read: float = 0.0
    failed_delivery: float = 0.0
    full_queue: float = 0.0
    crash: float = 0.0
    freeze: float = 0.0
    duplicate: float = 0.0


@dataclass
class World:
    """Runs what is due in the order of virtual time. A port call may let others run before it goes on."""

    seed: int
    faults: Faults = field(default_factory=Faults)
    now: float = 0.0

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self._queue: list[tuple[float, int, Callable[[], None]]] = []
        self._count = 0
        self._depth = 0

    def after(self, delay: float, action: Callable[[], None]) -> None:
        """Run ``action`` in ``delay`` seconds."""
        self._count += 1
        heapq.heappush(self._queue, (self.now + delay, self._count, action))

    def chance(self, probability: float) -> bool:
        """Whether something of that probability happens now."""
        return probability > 0 and self.random.random() < probability

    def pause(self, seconds: float) -> None:
        """Let others run for a while, as a blocking call does; nested calls may make it longer."""
        if self._depth > 30:
            self.now += seconds
            return
        self._depth += 1
        try:
            self.run_until(self.now + seconds)
        finally:
            self._depth -= 1

    def run_until(self, until: float) -> None:
        """Run everything that is due up to that time."""
        while self._queue and self._queue[0][0] <= until:
            when, _, action = heapq.heappop(self._queue)
            self.now = max(self.now, when)
            action()
        self.now = max(self.now, until)

    def server_time(self) -> datetime:
        """The database server's clock: a day ahead of everybody else's."""
        return START + timedelta(days=1, seconds=self.now)
