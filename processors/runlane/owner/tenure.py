"""An open ownership: messages in, blocks out, answers sent once their block is committed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from runlane.contract.values import CommittedRecord
from runlane.kafka import Message
from runlane.owner import drafts
from runlane.owner.calls import Calls
from runlane.owner.deciding import Deciding, size_of
from runlane.owner.intake import Intake
from runlane.owner.sending import Sender
from runlane.owner.shared import Shared
from runlane.owner.takeover import Claim, Host
from runlane.store.block import SealedBlock
from runlane.store.rows import Answer
from runlane.store.stops import LogFacts, LogShape, Stop, StopKind

_NEVER = float("inf")


class Tenure:
    """The time between a takeover and its end.

    A tenure that is ``leaving`` only finishes what is in flight.
    """

    def __init__(self, shared: Shared, claim: Claim, *, sender: Sender, calls: Calls, host: Host) -> None:
        head = claim.writer.head
        assert head is not None, "a claimed chain has a head"
        self._shared = shared
        self._partition = head.partition
        self._own = claim.own
        self._calls = calls
        self._host = host
        self._held: list[Message] = []
        self._held_bytes = 0
        self._purged: list[str] = []
        self._paused = False
        self._deciding = Deciding(shared, _intake(shared, claim), head, calls.read)
        self.writer = claim.writer
        self.sender = sender
        self.leaving = False
        shared.cache.promote(self._partition, head.number)
        calls.read(lambda ports: ports.store.pending_erases(self._partition), shared.eraser.add)

    @property
    def next_offset(self) -> int:
        """The offset to fetch from."""
        return self._deciding.next_offset

    @property
    def drained(self) -> bool:
        """Whether nothing is in flight and everything arrived."""
        return self.writer.flight is None and self.sender.drained

    @property
    def waiting(self) -> bool:
        """Whether there is work that is not committed and sent, so that progress is due."""
        deciding = self._deciding
        arrived = deciding.pending_bytes > 0 or self._held_bytes > 0
        return arrived or deciding.batch is not None or not self.drained

    def fits(self, shape: LogShape) -> bool:
        """Whether the log is the chain's, with all its partitions."""
        head = self.writer.head
        assert head is not None, "an open chain has a head"
        return shape.log == head.log and shape.partitions >= self._own.partition_count

    def leave(self) -> None:
        """Decide no more; what is decided and not in flight is dropped, for the next owner to decide."""
        self.leaving = True
        self._deciding.take_batch()

    def feed(self, messages: Sequence[Message]) -> None:
        """Take what was fetched; a hole in the offsets is looked into before what is behind it is decided."""
        if self.leaving:
            return
        if self._held:
            self._hold(messages)
            return
        self._hold(self._deciding.feed(messages))
        if self._held:
            expected = self._deciding.next_offset
            self._calls.ask_log(
                lambda ports: ports.log.facts(self._partition, -1),
                lambda facts: self._judge_hole(facts, expected),
            )

    def work(self, limit: int) -> bool:
        """Decide up to ``limit`` commands; return whether more can be decided at once."""
        if self.leaving or not self.sender.roomy:
            return False
        self._deciding.work(limit)
        if self._deciding.fault:
            self._stop_once_drained()
            return False
        self._throttle()
        return self._deciding.ready

    def batch_since(self, now: float, linger: float) -> float | None:
        """Return since when the batch waits to become a block; None while it should not yet."""
        batch = self._deciding.batch
        if batch is None or self.leaving:
            return None
        if self._deciding.full:
            return batch.opened
        age = now - batch.opened
        arriving = self._deciding.ready and self.sender.roomy and age < self._shared.bounds.batch_seconds
        return None if arriving or age < linger else batch.opened

    def lingers_until(self, linger: float) -> float:
        """Return when the batch has waited ``linger`` seconds."""
        batch = self._deciding.batch
        return _NEVER if batch is None else batch.opened + linger

    def launch(self) -> None:
        """Make the batch a block."""
        batch, head = self._deciding.take_batch(), self.writer.head
        assert batch is not None, "only a batch is launched"
        assert head is not None, "an open chain has a head"
        self.writer.launch(drafts.commit(self._own, head, batch, self.sender.watermark), batch.opened)
        self._purged = batch.purged

    def committed(self, block: SealedBlock) -> None:
        """A block is in the journal: only now is anything of it sent (G1, G6)."""
        shared, header = self._shared, block.header
        shared.commit_seconds.add(shared.clock.monotonic() - self.writer.since)
        shared.stats.commands += header.commands
        shared.stats.records += header.records
        shared.stats.refused += sum(answer.code != "" for answer, _ in block.draft.commands)
        shared.cache.promote(self._partition, header.number)
        shared.cache.trim()
        shared.eraser.add(self._purged)
        self._purged = []
        self.sender.ship(_items(block), header.last)

    def _stop_once_drained(self) -> None:
        """What stands before a command that cannot be decided is committed and answered first."""
        if self._deciding.batch is None and self.drained:
            self._host.stopped(Stop(StopKind.DECISION_FAILED, self._partition, self._deciding.fault))

    def _judge_hole(self, facts: LogFacts, expected: int) -> None:
        """A log skips offsets that never held a command of ours; what was deleted is another matter."""
        if facts.low > expected:
            self._host.retake()
            return
        held, self._held, self._held_bytes = self._held, [], 0
        self._deciding.skip_to(held[0].offset)
        self.feed(held)

    def _hold(self, messages: Sequence[Message]) -> None:
        """Keep what stands behind a hole; it counts as pending, since looking into the hole may take long."""
        self._held.extend(messages)
        self._held_bytes += sum(map(size_of, messages))
        self._throttle()

    def _throttle(self) -> None:
        bounds, pending = self._shared.bounds, self._deciding.pending_bytes + self._held_bytes
        if not self._paused and pending > bounds.pending_bytes:
            self._paused = True
            self._shared.io.pause(self._partition)
        elif self._paused and pending <= bounds.pending_bytes // 2:
            self._paused = False
            self._shared.io.resume(self._partition)


def _intake(shared: Shared, claim: Claim) -> Intake:
    return Intake(
        partition=claim.own.partition,
        partitions=claim.own.partition_count,
        reply_partitions=claim.survey.shape.reply_partitions,
        codec=shared.codec,
        host_keys=shared.config.host_keys,
        receipt_keys=shared.config.receipt_keys,
    )


def _items(block: SealedBlock) -> Iterator[Answer | CommittedRecord]:
    """Yield what a block sends, in the order of its rows."""
    for answer, changes in block.draft.commands:
        yield answer
        yield from changes.records
