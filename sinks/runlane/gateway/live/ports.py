"""What the live part needs from outside: a source of what happens, and reads of what happened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from runlane.contract.delta import Delta
from runlane.contract.values import CommittedRecord, RunMeta
from runlane.store.live import RunFacts


@dataclass(frozen=True, slots=True)
class LaneDelta:
    """A delta and the lane it was sent to."""

    lane: str
    delta: Delta


Happened = CommittedRecord | LaneDelta


class Sink(Protocol):
    """Takes what a source finds; every method may be called from the source's own thread."""

    def wants(self, lane: str) -> bool:
        """Whether anybody looks at this lane; what nobody wants need not be decoded."""
        ...

    def take(self, happened: Sequence[Happened]) -> None:
        """Take what happened, in the order of each lane; waits when too much is on its way."""
        ...

    def ready(self) -> None:
        """From now on nothing is missed."""
        ...

    def lose(self) -> None:
        """Something may have been missed; from now on nothing is."""
        ...


class Source(Protocol):
    """Follows records and deltas from now on."""

    def start(self, sink: Sink) -> None:
        """Begin, in a thread of its own."""
        ...

    def close(self) -> None:
        """End; no call of the sink follows."""
        ...


class History(Protocol):
    """Reads beside those of ``Reader``; each is linearisable and may raise ``Unavailable``."""

    async def run_lane(self, run_id: str) -> str:
        """Return the lane that holds a run; ``RunNotFound``."""
        ...

    async def head(self, lane: str, run_id: str = "") -> int:
        """Return the last ``seq`` of a run, or the last ``lane_seq`` of all runs of a lane; 0 for none."""
        ...

    async def facts(self, runs: Sequence[RunMeta], dull: Sequence[str]) -> Mapping[str, RunFacts]:
        """Return what is known of each run, by its id; a record of a ``dull`` type is not worth telling."""
        ...
