"""Whether a process lives and makes progress. Ready means progress: work that waits is being done."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

Faults = Mapping[str, str]
"""What is wrong, by component; empty when all is well. The text holds no secret and no data."""
Check = Callable[[], Faults]
PATIENCE_SECONDS: Final = 30.0


@dataclass(frozen=True, slots=True)
class Pulse:
    """What an owner shows of its work: ``done`` only grows, ``waiting`` says that there is more to do."""

    partitions: int
    done: int
    waiting: bool
    stops: Mapping[int, str]


class Progress:
    """Judges pulses: no partition, a stopped one, or waiting work without progress is a fault.

    ``patience`` is how many seconds waiting work may make none, counted from the last look that saw some.
    """

    def __init__(
        self,
        pulse: Callable[[], Pulse],
        *,
        patience: float = PATIENCE_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._pulse = pulse
        self._patience = patience
        self._clock = clock
        self._done = -1
        self._moved_at = clock()

    def faults(self) -> Faults:
        """Look at the owner now."""
        pulse = self._pulse()
        now = self._clock()
        if pulse.done != self._done or not pulse.waiting:
            self._done = pulse.done
            self._moved_at = now
        found = {f"partition {number}": stop for number, stop in pulse.stops.items()}
        if not pulse.partitions:
            found["owner"] = "no partition is assigned"
        elif now - self._moved_at > self._patience:
            found["owner"] = "commands wait and none is decided"
        return found


def no_faults() -> Faults:
    """Find nothing wrong: what a process says that is alive by answering."""
    return {}
