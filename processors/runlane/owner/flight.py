"""A block on its way into the journal: when its bytes may be sent, and what each answer means (design, Committing).

A losing insert reports success, an insert without an answer may land later, and only the read-back tells; until it does,
the same bytes go again under the same token, or nothing happens at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from runlane.contract.errors import TemporaryError
from runlane.owner.ports import InsertReport, StorePort
from runlane.store.block import BlockHeader, SealedBlock
from runlane.store.chain import ChainTip


class Verdict(StrEnum):
    """What is known about a block in flight.

    ``MINE``: it is the chain's end. ``LOST``: another's block has its number, or the chain went on. ``OPEN``: not
    known yet. ``GONE``: absent, and it can never come. ``REFUSED``: gone, since the database will not take it.
    ``MISSING``: acknowledged, yet absent for good.
    """

    MINE = "mine"
    LOST = "lost"
    OPEN = "open"
    GONE = "gone"
    REFUSED = "refused"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class WriteReply:
    """What one attempt found: the insert's report (None: not inserted), the tip read after it (None: unread).

    ``not_after`` is that of the bytes sent, None when none were, since the chain's end could not be shown.
    """

    report: InsertReport | None
    tip: ChainTip | None
    not_after: datetime | None


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt to write a block: ``sends`` is whether its bytes are inserted before the tip is read.

    Without ``not_after`` the end is read first: only a read that shows ``prev`` as the end dates the block, and
    ``margin`` seconds of the server's clock later it is too late.
    """

    block: SealedBlock
    prev: BlockHeader | None
    not_after: datetime | None
    sends: bool
    margin: float

    def run(self, store: StorePort) -> WriteReply:
        """Make the attempt; both insert and reads are port calls. Never raises ``TemporaryError``."""
        header = self.block.header
        not_after = self.not_after
        if not_after is None:
            tip = read_tip(store, header.partition, 0 if self.prev is None else self.prev.number)
            if tip is None or not _ends_with(tip, self.prev, header):
                return WriteReply(None, tip, None)
            not_after = tip.time + timedelta(seconds=self.margin)
        report = store.insert(self.block, not_after) if self.sends else None
        return WriteReply(report, read_tip(store, header.partition, header.number), not_after)


def read_tip(store: StorePort, partition: int, floor: int) -> ChainTip | None:
    """Return the chain's newest block numbered ``floor`` or more, or None when the database does not answer."""
    try:
        return store.tips({partition: floor})[partition]
    except TemporaryError:
        return None


def _ends_with(tip: ChainTip, prev: BlockHeader | None, header: BlockHeader) -> bool:
    if tip.generation != header.generation:
        return False
    if prev is None:
        return tip.number < 0
    return tip.number == prev.number and tip.hash == prev.hash


class Flight:
    """One sealed block and what its attempts said so far. ``not_after`` is None until its bytes were dated."""

    __slots__ = ("_acked", "_late", "_refused", "_uncertain", "block", "not_after", "prev")

    def __init__(self, block: SealedBlock, prev: BlockHeader | None, not_after: datetime | None) -> None:
        self.block = block
        self.prev = prev
        self.not_after = not_after
        self._acked = False
        self._late = False
        self._refused = False
        self._uncertain = False

    @property
    def sends(self) -> bool:
        """Whether the next attempt sends the bytes; one that was acknowledged or came late is only looked for."""
        return not (self._acked or self._late)

    def judge(self, reply: WriteReply, max_execution: float) -> Verdict:
        """Return what ``reply``, together with the ones before, says about the block.

        ``max_execution`` is how long an insert may run, in seconds of the server's clock.
        """
        tip = reply.tip
        if reply.not_after is None:
            return self._unproven(tip)
        self.not_after = reply.not_after
        self._note(reply.report)
        header = self.block.header
        if tip is None:
            return Verdict.OPEN
        if tip.generation != header.generation or tip.number > header.number:
            return Verdict.LOST
        if tip.number == header.number:
            return Verdict.MINE if tip.hash == header.hash else Verdict.LOST
        return self._absent(tip.time > reply.not_after + timedelta(seconds=max_execution))

    def _unproven(self, tip: ChainTip | None) -> Verdict:
        """The chain did not end with ``prev``: it went on, or ``prev`` itself is gone. Nothing was sent."""
        if tip is None:
            return Verdict.OPEN
        went = tip.generation != self.block.header.generation or self.prev is None
        if went or tip.number >= self.block.header.number - 1:
            return Verdict.LOST
        return Verdict.MISSING

    def _note(self, report: InsertReport | None) -> None:
        match report:
            case InsertReport.ACKED:
                self._acked = True
            case InsertReport.LATE:
                self._late = True
            case InsertReport.REFUSED:
                self._refused = self._uncertain = True
            case InsertReport.UNKNOWN:
                self._uncertain = True
            case InsertReport.BUSY | None:
                pass

    def _absent(self, expired: bool) -> Verdict:  # noqa: FBT001 - the one thing that is asked
        if not expired:
            certain = self._late and not (self._acked or self._uncertain)
            return Verdict.GONE if certain else Verdict.OPEN
        if self._acked:
            return Verdict.MISSING
        return Verdict.REFUSED if self._refused else Verdict.GONE
