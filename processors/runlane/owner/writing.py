"""The journal side of one ownership: the chain's end as proven, and the one block that is on its way."""

from __future__ import annotations

from datetime import datetime, timedelta

from runlane.owner.config import Bounds
from runlane.owner.flight import Attempt, Flight, Verdict, WriteReply
from runlane.store.block import BlockHeader, Draft, SealedBlock, seal


class Writer:
    """Writes one block after another. ``head`` is the last one that is ours or was read as the chain's end.

    ``proof`` is the server's time of the read that showed ``head`` as the end, begun at ``proven_at`` of the local
    monotonic clock; only such a read dates the next block.
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

    def launch(self, draft: Draft, since: float) -> SealedBlock:
        """Seal the next block; it waits for its turn from ``since`` on."""
        assert self.flight is None, "a chain has one block in flight"
        block = seal(draft, self.head)
        self.flight = Flight(block, self.head, None)
        self.since = since
        self.retry_at = 0.0
        self._failures = 0
        return block

    def retry_due(self) -> float:
        """Return when the block in flight is due for its next attempt, by the monotonic clock."""
        return self.retry_at if self.flight is not None and not self.busy else float("inf")

    def attempt(self, now: float) -> Attempt:
        """Begin the next attempt at the block in flight; it is dated once, and sent as it is ever after."""
        flight = self.flight
        assert flight is not None, "no block to attempt"
        if flight.not_after is None and now - self._proven_at <= self._bounds.proof_age:
            flight.not_after = self._proof + timedelta(seconds=self._bounds.not_after)
        self.busy = True
        return Attempt(flight.block, flight.prev, flight.not_after, flight.sends, self._bounds.not_after)

    def judge(self, reply: WriteReply, begun: float, now: float) -> Verdict:
        """Take an attempt's reply; after ``MINE`` the block is the head and its read-back the proof."""
        flight = self.flight
        assert flight is not None, "no block to judge"
        self.busy = False
        verdict = flight.judge(reply, self._bounds.max_execution)
        if verdict is Verdict.MINE:
            assert reply.tip is not None, "only a read-back shows that a block is ours"
            self.head = flight.block.header
            self._proof = reply.tip.time
            self._proven_at = begun
            self.flight = None
        elif verdict is Verdict.OPEN:
            self._failures += 1
            self.retry_at = now + self._bounds.backoff(self._failures - 1)
        return verdict
