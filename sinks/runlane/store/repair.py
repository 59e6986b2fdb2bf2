"""``runlane repair``: a chain whose acknowledged end is gone goes on, in a new generation of block numbers.

A block's token can outlive its part, after a power loss. Its number can then never be written again, so the
chain goes on under tokens of the next generation. The lost block's commands are decided again from the log,
where it still has them.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

from runlane.contract.errors import Unavailable
from runlane.store.chain import ChainEnd
from runlane.store.flight import WriteBounds
from runlane.store.settle import Waiting

_STEP_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Repaired:
    """The chain goes on after block ``number`` (-1: from its beginning) in ``generation``."""

    partition: int
    number: int
    generation: int


class Repairable(Protocol):
    """A table of chains."""

    def end(self, partition: int) -> ChainEnd:
        """Return the end of a partition's chain; ``Unavailable``."""
        ...

    def start_generation(self, partition: int, generation: int) -> None:
        """Write a partition's next chain generation."""
        ...


class RepairPorts(Protocol):
    """The ports of a chain's writer, as far as a repair needs them."""

    @property
    def store(self) -> Repairable:
        """The table."""
        ...

    @property
    def clock(self) -> Waiting:
        """The clock."""
        ...


def repair(ports: RepairPorts, partition: int, bounds: WriteBounds) -> Repaired:
    """Wait until nothing that is under way can still come, then begin the chain's next generation.

    No writer of the chain may run. Raises ``Unavailable`` when the chain moves meanwhile: then one does.
    """
    first = ports.store.end(partition)
    settled = first.time + timedelta(seconds=bounds.not_after + bounds.max_execution)
    end = first
    while end.time <= settled:
        ports.clock.sleep(_STEP_SECONDS)
        end = ports.store.end(partition)
        if _name(end) != _name(first):
            raise Unavailable("somebody still writes this chain; stop all its writers first")
    generation = end.generation + 1
    ports.store.start_generation(partition, generation)
    return Repaired(partition, -1 if end.header is None else end.header.number, generation)


def _name(end: ChainEnd) -> tuple[int, bytes]:
    return end.generation, b"" if end.header is None else end.header.hash
