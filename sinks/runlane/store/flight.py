"""A block on its way into the journal: when its bytes may be sent, and what each answer means.

A losing insert reports success, an insert without an answer may land later, and only the read-back tells;
until it does, the same bytes go again under the same token, or nothing happens at all (design, Committing).
"""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Generic, Protocol, TypeVar

from runlane.store.block import Block, BlockHeader
from runlane.store.chain import ChainTip

BlockT = TypeVar("BlockT", bound=Block)


class InsertReport(StrEnum):
    """What an insert said.

    ``ACKED`` does not mean that the block is ours: a losing insert reports success too.

    ``LATE`` wrote nothing. ``BUSY`` (too many parts) wrote nothing. ``REFUSED`` wrote nothing and never will.
    ``UNKNOWN`` may have written.
    """

    ACKED = "acked"
    LATE = "late"
    BUSY = "busy"
    REFUSED = "refused"
    UNKNOWN = "unknown"


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


class Flight(Generic[BlockT]):
    """One sealed block and what its inserts said so far. ``not_after`` is None until its bytes are dated."""

    __slots__ = ("_acked", "_late", "_refused", "_uncertain", "block", "not_after", "prev")

    def __init__(self, block: BlockT, prev: BlockHeader | None) -> None:
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


class WriteBounds(Protocol):
    """How long a writer waits for what; seconds.

    ``not_after`` and ``max_execution`` are of the server's clock: how long a block may wait before it is
    inserted, and how long one insert may run. A chain's end read more than ``proof_age`` ago is read again
    before a block is dated.
    """

    @property
    def not_after(self) -> float:
        """As above."""
        ...

    @property
    def max_execution(self) -> float:
        """As above."""
        ...

    @property
    def proof_age(self) -> float:
        """As above."""
        ...

    def backoff(self, failures: int) -> float:
        """Return how long to wait after so many failures before."""
        ...


class ChainWriter(Generic[BlockT]):
    """Writes one block after another. ``head`` is the last one that is ours or was read as the chain's end.

    ``proof`` is the server's time of the read that showed ``head`` as the end, begun at ``proven_at`` of the
    local monotonic clock; only such a read dates the next block.
    """

    def __init__(
        self, bounds: WriteBounds, head: BlockHeader | None, *, proof: datetime, proven_at: float
    ) -> None:
        self._bounds = bounds
        self._proof = proof
        self._proven_at = proven_at
        self._failures = 0
        self.head = head
        self.flight: Flight[BlockT] | None = None
        self.busy = False
        self.since = 0.0
        self.retry_at = 0.0

    def fly(self, block: BlockT, since: float) -> None:
        """Take the block after ``head``; it waits for its turn from ``since`` on."""
        assert self.flight is None, "a chain has one block in flight"
        self.flight = Flight(block, self.head)
        self.since = since
        self.retry_at = 0.0
        self._failures = 0

    def due(self, now: float) -> bool:
        """Whether the block in flight is due for its next step."""
        return self.flight is not None and not self.busy and now >= self.retry_at

    def retry_due(self) -> float:
        """Return when the block in flight is due for its next step, by the monotonic clock."""
        return self.retry_at if self.flight is not None and not self.busy else float("inf")

    def date(self, now: float) -> bool:
        """Date the block in flight, unless it is; False when the chain's end must be read (again) first."""
        flight = self.flight
        assert flight is not None, "no block to date"
        if flight.not_after is None and now - self._proven_at <= self._bounds.proof_age:
            flight.not_after = self._proof + timedelta(seconds=self._bounds.not_after)
        return flight.not_after is not None

    def floor(self) -> int:
        """Return from which number on the chain is looked at: the block's, or the last one's to date it."""
        flight = self.flight
        assert flight is not None, "no block to look for"
        if flight.not_after is not None:
            return flight.block.header.number
        return 0 if flight.prev is None else flight.prev.number

    def looked(self, tip: ChainTip | None, begun: float, now: float) -> Verdict:
        """Take a read of the chain's end, None when the database was silent.

        After ``MINE`` the block is the head. A read that shows the head is the proof that dates the next
        bytes.
        """
        flight = self.flight
        assert flight is not None, "no block to judge"
        self.busy = False
        dated = flight.not_after is not None
        if tip is None:
            verdict = Verdict.OPEN
        else:
            verdict = flight.judge(tip, self._bounds.max_execution) if dated else flight.follows(tip)
        if tip is not None and (verdict is Verdict.MINE or (verdict is Verdict.OPEN and not dated)):
            self._proof, self._proven_at = tip.time, begun
        if verdict is Verdict.MINE:
            self.head = flight.block.header
            self.flight = None
        elif verdict is Verdict.OPEN and (dated or tip is None):
            self.retry_at = now + self._bounds.backoff(self._failures)
            self._failures += 1
        return verdict
