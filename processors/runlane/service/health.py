"""Whether a process lives and makes progress. Ready means progress: work that waits is being done."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

Faults = Mapping[str, str]
"""What is wrong, by component; empty when all is well. The text holds no secret and no data."""
Check = Callable[[], Faults]
PATIENCE_SECONDS: Final = 30.0


@dataclass(frozen=True, slots=True)
class Pulse:
    """What a role shows of its work: ``done`` grows, ``waiting`` says that there is more to do."""

    partitions: int
    done: int
    waiting: bool
    stops: Mapping[int, str] = field(default_factory=dict[int, str])


class Progress:
    """Judges pulses: no partition, a stopped one, or waiting work without progress is a fault.

    ``patience`` is how many seconds waiting work may make none, counted from the last look that saw some.
    ``role`` is the component that has the fault, ``stuck`` how waiting work without progress is told.
    """

    def __init__(
        self,
        pulse: Callable[[], Pulse],
        *,
        role: str = "owner",
        stuck: str = "commands wait and none is decided",
        patience: float = PATIENCE_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._pulse = pulse
        self._role = role
        self._stuck = stuck
        self._patience = patience
        self._clock = clock
        self._done = -1
        self._moved_at = clock()

    def faults(self) -> Faults:
        """Look at the role now."""
        pulse = self._pulse()
        now = self._clock()
        if pulse.done != self._done or not pulse.waiting:
            self._done = pulse.done
            self._moved_at = now
        found = {f"partition {number}": stop for number, stop in pulse.stops.items()}
        if not pulse.partitions:
            found[self._role] = "no partition is assigned"
        elif now - self._moved_at > self._patience:
            found[self._role] = self._stuck
        return found


def no_faults() -> Faults:
    """Find nothing wrong: what a process says that is alive by answering."""
    return {}
