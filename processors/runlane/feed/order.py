"""Which records of a partition are news: each is taken once, in its lane's order, whatever the topic brings.

Pure. A record may come again, and one may be missing: what a hole hides is read from the journal at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from runlane.contract.values import CommittedRecord

NOTHING: Final = -1
MAX_LANES: Final = 100_000
"""More are not remembered one by one: ``Order.forget`` is due."""


@dataclass(slots=True)
class _Lane:
    """The last ``lane_seq`` that was taken, and its block."""

    last: int
    block: int


@dataclass(frozen=True, slots=True)
class Hole:
    """Something is missing: read the journal from ``block`` on."""

    block: int


class Order:
    """What was taken of one partition: all of the blocks up to ``through``, and each lane up to a number."""

    def __init__(self, through: int) -> None:
        self.through = through
        self.newest = through
        self._lanes: dict[str, _Lane] = {}

    @property
    def full(self) -> bool:
        """Whether so many lanes are remembered that some should be forgotten."""
        return len(self._lanes) > MAX_LANES

    def unknown(self, records: Iterable[CommittedRecord]) -> set[str]:
        """Return the lanes that records go on with and of which it is not known how far they were taken."""
        return {
            one.lane
            for one in records
            if one.block > self.through and one.lane_seq > 1 and one.lane not in self._lanes
        }

    def learn(self, lanes: Iterable[str], taken: Mapping[str, int]) -> None:
        """Take notice of the last ``lane_seq`` of lanes in the blocks up to ``through``; none is 0."""
        for lane in lanes:
            self._lanes[lane] = _Lane(taken.get(lane, 0), self.through)

    def take(self, record: CommittedRecord) -> bool | Hole:
        """Return whether a record is new; then it counts as taken. Its lane must not be ``unknown``."""
        if record.block <= self.through:
            return False
        known = self._lanes.setdefault(record.lane, _Lane(0, self.through))
        if record.lane_seq <= known.last:
            return False
        if record.lane_seq > known.last + 1:
            return Hole(known.block)
        if record.block < self.newest:
            # What was missing comes at last, behind later blocks, when the windows may be of another minute.
            return Hole(record.block)
        known.last, known.block = record.lane_seq, record.block
        self.newest = record.block
        return True

    def forget(self, through: int) -> None:
        """Take notice that everything of the blocks up to ``through`` was taken."""
        self.through = max(self.through, through)
        gone = [lane for lane, known in self._lanes.items() if known.block <= self.through]
        for lane in gone:
            del self._lanes[lane]
