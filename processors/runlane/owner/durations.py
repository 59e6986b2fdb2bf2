"""How long something took, counted by buckets as Prometheus does it."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate
from typing import Final

BOUNDS: Final = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
"""Upper bounds of the buckets in seconds; what takes longer is counted behind the last."""


class Durations:
    """Counts durations: ``durations.add(0.004)``; any thread adds and reads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts = [0] * (len(BOUNDS) + 1)
        self._total = 0.0

    def add(self, seconds: float) -> None:
        """Count one."""
        with self._lock:
            self._counts[bisect_left(BOUNDS, seconds)] += 1
            self._total += seconds

    def read(self) -> tuple[Sequence[int], float]:
        """Return how many took at most each bound, then how many there are, and the sum of all in seconds."""
        with self._lock:
            return tuple(accumulate(self._counts)), self._total
