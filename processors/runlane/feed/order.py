"""Which records of a partition are news: each is taken once, in its lane's order, whatever the topic brings.

Pure. The topic holds every record of a partition at least once. A re-sent one comes again, a failed delivery
leaves a hole until the record is sent again; what a hole hides is read from the journal at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from runlane.contract.values import CommittedRecord

NOTHING: Final = -1
MAX_LANES: Final = 100_000
"""More are not remembered one by one: ``Order.forget`` is due."""


@dataclass(slots=True)
class _Lane:
    """The gapless row of ``lane_seq`` that was taken, and the block of its last."""

    first: int
    last: int
    block: int


@dataclass(frozen=True, slots=True)
class Hole:
    """Something is missing: read the journal from ``block`` on."""

    block: int


class Order:
    """What was taken of one partition: all of the blocks up to ``through``, and of each lane a row beyond."""

    def __init__(self, through: int) -> None:
        self.through = through
        self.newest = through
        self._lanes: dict[str, _Lane] = {}

    @property
    def full(self) -> bool:
        """Whether so many lanes are remembered that some should be forgotten."""
        return len(self._lanes) > MAX_LANES

    def take(self, record: CommittedRecord) -> bool | Hole:
        """Return whether a record is new; then it counts as taken."""
        if record.block <= self.through:
            return False
        known = self._lanes.get(record.lane)
        number = record.lane_seq
        if known is None:
            self._lanes[record.lane] = _Lane(number, number, record.block)
        elif known.first <= number <= known.last:
            return False
        elif number == known.last + 1:
            known.last, known.block = number, record.block
        else:
            # A later number hides what lies between; an earlier one was a hole when its lane was first seen.
            return Hole(min(known.block, record.block))
        self.newest = max(self.newest, record.block)
        return True

    def forget(self, through: int) -> None:
        """Take notice that everything of the blocks up to ``through`` was taken."""
        self.through = max(self.through, through)
        gone = [lane for lane, known in self._lanes.items() if known.block <= self.through]
        for lane in gone:
            del self._lanes[lane]
