"""The journal side of one ownership: the chain's end as proven, and the one block that is on its way."""

from __future__ import annotations

from datetime import datetime, timedelta

from runlane.owner.config import Bounds
from runlane.owner.flight import Flight, Verdict
from runlane.store.block import BlockHeader, Draft, seal
from runlane.store.chain import ChainTip


class Writer:
    """Writes one block after another. ``head`` is the last one that is ours or was read as the chain's end.

    ``proof`` is the server's time of the read that showed ``head`` as the end, begun at ``proven_at`` of the
    local monotonic clock; only such a read dates the next block.
    """

    def __init__(
        self, bounds: Bounds, head: BlockHeader | None, *, proof: datetime, proven_at: float
    ) -> None:
        self._bounds = bounds
        self._proof = proof
        self._proven_at = proven_at
        self._failures = 0
        self.head = head
        self.flight: Flight | None = None
        self.busy = False
        self.since = 0.0
        self.retry_at = 0.0

    def launch(self, draft: Draft, since: float) -> None:
        """Seal the next block; it waits for its turn from ``since`` on."""
        assert self.flight is None, "a chain has one block in flight"
        self.flight = Flight(seal(draft, self.head), self.head)
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
