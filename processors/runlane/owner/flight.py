"""A block on its way into the journal: when its bytes may be sent, and what each answer means.

A losing insert reports success, an insert without an answer may land later, and only the read-back tells;
until it does, the same bytes go again under the same token, or nothing happens at all (design, Committing).
"""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum

from runlane.owner.ports import InsertReport
from runlane.store.block import BlockHeader, SealedBlock
from runlane.store.chain import ChainTip


class Verdict(StrEnum):
    """What is known about a block in flight.

    ``MINE``: it is the chain's end. ``LOST``: another's block has its number, or the chain went on. ``OPEN``:
    not known yet. ``GONE``: absent, and it can never come. ``REFUSED``: gone, since the database will not
    take it. ``MISSING``: acknowledged, yet absent for good.
    """

    MINE = "mine"
    LOST = "lost"
    OPEN = "open"
    GONE = "gone"
    REFUSED = "refused"
    MISSING = "missing"


class Flight:
    """One sealed block and what its inserts said so far. ``not_after`` is None until its bytes are dated."""

    __slots__ = ("_acked", "_late", "_refused", "_uncertain", "block", "not_after", "prev")

    def __init__(self, block: SealedBlock, prev: BlockHeader | None) -> None:
        self.block = block
        self.prev = prev
        self.not_after: datetime | None = None
        self._acked = False
        self._late = False
        self._refused = False
        self._uncertain = False

    @property
    def sends(self) -> bool:
        """Whether its bytes are sent (again); one that was acknowledged or came late is only looked for."""
        return not (self._acked or self._late)

    def follows(self, tip: ChainTip) -> Verdict:
        """Judge a read of the chain's end before anything was sent.

        Only one that shows ``prev`` dates the block.

        ``OPEN`` when it does. Else the chain went on, or ``prev`` itself is gone.
        """
        header, prev = self.block.header, self.prev
        if tip.generation != header.generation or tip.number >= header.number:
            return Verdict.LOST
        if prev is None:
            return Verdict.OPEN
        if tip.number < prev.number:
            return Verdict.MISSING
        return Verdict.OPEN if tip.hash == prev.hash else Verdict.LOST

    def note(self, report: InsertReport) -> None:
        """Take what an insert said."""
        match report:
            case InsertReport.ACKED:
                self._acked = True
            case InsertReport.LATE:
                self._late = True
            case InsertReport.REFUSED:
                self._refused = self._uncertain = True
            case InsertReport.UNKNOWN:
                self._uncertain = True
            case InsertReport.BUSY:
                pass

    def judge(self, tip: ChainTip, max_execution: float) -> Verdict:
        """Judge a read-back.

        ``max_execution`` is how long an insert may run, in seconds of the server's clock.
        """
        header = self.block.header
        assert self.not_after is not None, "what is read back was dated"
        if tip.generation != header.generation or tip.number > header.number:
            return Verdict.LOST
        if tip.number == header.number:
            return Verdict.MINE if tip.hash == header.hash else Verdict.LOST
        if tip.time <= self.not_after + timedelta(seconds=max_execution):
            never = self._late and not (self._acked or self._uncertain)
            return Verdict.GONE if never else Verdict.OPEN
        if self._acked:
            return Verdict.MISSING
        return Verdict.REFUSED if self._refused else Verdict.GONE
