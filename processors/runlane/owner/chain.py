"""One assigned partition: its ownerships one after another, and what ends each of them.

An ownership ends when a block is not ours, when a delivery failed or when the log contradicts the journal.
What was decided and not committed is dropped then; the chain is taken over again, held by a typed stop, or
left.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from functools import partial
from typing import Final

from runlane.contract.errors import RunlaneError
from runlane.kafka import Message
from runlane.owner.calls import Calls
from runlane.owner.sending import Sender
from runlane.owner.shared import Shared
from runlane.owner.takeover import Claim, Takeover
from runlane.owner.tasks import Task
from runlane.owner.tenure import Tenure
from runlane.owner.writing import Writer
from runlane.store.block import BlockHeader, BlockKind, SealedBlock
from runlane.store.chain import ChainEnd, ChainTip
from runlane.store.flight import InsertReport, Verdict
from runlane.store.stops import LogShape, Stop, StopKind

_NEVER: Final = float("inf")


class Phase(StrEnum):
    """Where a partition stands."""

    LEFT = "left"
    WAITING = "waiting"
    TAKING = "taking"
    OPEN = "open"
    LEAVING = "leaving"
    STOPPED = "stopped"


class Chain:
    """A partition, stepped by the core.

    ``tag`` numbers its ownerships here: what comes for an earlier one is ignored.
    """

    def __init__(self, shared: Shared, partition: int) -> None:
        self._shared = shared
        self._calls = Calls(shared, self._faulted)
        self._stage: Takeover | Tenure | None = None
        self._troubles = 0
        self._refusals = 0
        self._wake_at = _NEVER
        self._end_seen = (0, b"")
        self.partition = partition
        self.phase = Phase.LEFT
        self.stop: Stop | None = None
        self.tag = 0

    @property
    def waiting(self) -> bool:
        """Whether progress is due: the chain is being taken over, or commands wait.

        For health, from any thread.
        """
        stage = self._stage
        return stage.waiting if isinstance(stage, Tenure) else self.phase in (Phase.WAITING, Phase.TAKING)

    def take(self) -> None:
        """Begin to take the chain over."""
        self._end(Phase.TAKING)
        stage = Takeover(self._shared, self.partition, calls=self._calls, tag=self.tag, host=self)
        self._stage = stage
        stage.begin()

    def leave(self, *, lost: bool) -> None:
        """Let the partition go, after what is in flight is settled and sent.

        At once when it is lost already.
        """
        if isinstance(self._stage, Tenure) and not lost:
            self.phase = Phase.LEAVING
            self._stage.leave()
            self._leave_if_drained()
        elif self.phase is not Phase.LEFT:
            self._release(commits=not lost)

    def tick(self, now: float) -> None:
        """Do what is due by the clock."""
        if now >= self._wake_at:
            self._wake_at = _NEVER
            if self.phase is Phase.WAITING:
                self.take()
            else:
                self._recheck()
        self._calls.tick(now)
        writer, sender = self._writer, self._sender
        if writer is not None and writer.flight is not None and not writer.flight.sends and writer.due(now):
            self._look(writer)
        if sender is not None:
            sender.tick(now)

    def wake_at(self, now: float, *, full: bool) -> float:
        """Return when ``tick`` or an attempt is due, by the monotonic clock.

        With ``full`` no insert can begin: a block to be inserted is not due then.
        """
        writer, sender = self._writer, self._sender
        flight = None if writer is None else writer.flight
        held = flight is None or (full and flight.sends)
        retry = _NEVER if writer is None or held else writer.retry_due()
        send = _NEVER if sender is None else sender.wake_at(now)
        return min(self._wake_at, self._calls.wake_at(), retry, send)

    def feed(self, messages: Sequence[Message], tag: int) -> None:
        """Take what was fetched under ``tag``."""
        if tag == self.tag and isinstance(self._stage, Tenure):
            self._stage.feed(messages)

    def fetch_failed(self, tag: int) -> None:
        """The log does not have our offset: look at it again, as a takeover does."""
        if tag == self.tag and isinstance(self._stage, Tenure):
            self.retake()

    def log_seen(self, shape: LogShape) -> None:
        """The log was looked at; one that is not the chain's any more ends the ownership."""
        if isinstance(self._stage, Tenure) and not self._stage.fits(shape):
            self.retake()

    def work(self, limit: int) -> bool:
        """Decide up to ``limit`` commands; return whether more can be decided at once."""
        return isinstance(self._stage, Tenure) and self._stage.work(limit)

    def settled(self, tag: int) -> None:
        """Something that was sent arrived, or did not."""
        sender = self._sender
        if tag != self.tag or sender is None:
            return
        sender.settle()
        if sender.failed:
            self._shared.stats.deliveries_failed += 1
            self.retake()
        elif isinstance(self._stage, Takeover) and self._stage.claim is not None:
            self._stage.settled(self._stage.claim)
        else:
            self._leave_if_drained()

    def waiting_since(self, now: float, linger: float) -> float | None:
        """Return since when a block waits to be attempted, or None when there is none to attempt now."""
        writer = self._writer
        if writer is None or writer.busy:
            return None
        if writer.flight is not None:
            return writer.since if writer.flight.sends and writer.due(now) else None
        return self._stage.batch_since(now, linger) if isinstance(self._stage, Tenure) else None

    def lingers_until(self, linger: float) -> float:
        """Return when the batch has waited ``linger`` seconds."""
        return self._stage.lingers_until(linger) if isinstance(self._stage, Tenure) else _NEVER

    def attempt(self, now: float) -> Task | None:
        """Return the insert of the block in flight, or of the batch as a block.

        None when the block cannot be dated before the chain's end is read again; that is begun.
        """
        writer = self._writer
        assert writer is not None, "only a chain that waits attempts"
        if writer.flight is None and isinstance(self._stage, Tenure):
            self._stage.launch()
        flight = writer.flight
        assert flight is not None, "only a block waits"
        if not writer.date(now):
            self._look(writer)
            return None
        writer.busy = True
        block, not_after = flight.block, flight.not_after
        assert not_after is not None, "the block is dated"

        def inserted(report: InsertReport) -> None:
            flight.note(report)
            self._look(writer)

        return self._calls.insert(lambda ports: ports.store.insert(block, not_after), inserted)

    # What the stages tell us.

    def opened(self, claim: Claim, sender: Sender) -> None:
        """The takeover is done."""
        stage = Tenure(self._shared, claim, sender=sender, calls=self._calls, host=self)
        self._stage = stage
        self.phase = Phase.OPEN
        self._shared.io.start(self.partition, stage.next_offset, self.tag)

    def stopped(self, stop: Stop) -> None:
        """Hold the partition. A stop ends by itself when somebody has changed the chain since."""
        if self.phase is Phase.LEAVING:
            self._release()
            return
        self._end(Phase.STOPPED)
        self.stop = stop
        self._wake_at = self._shared.clock.monotonic() + self._shared.bounds.recheck

    def retake(self) -> None:
        """End the ownership, and take over again after a jittered back-off; or let go if we were leaving."""
        if self.phase is Phase.LEAVING:
            self._release()
            return
        self._end(Phase.WAITING)
        delay = self._shared.bounds.backoff(self._troubles) * (0.5 + self._shared.ids.jitter())
        self._troubles += 1
        self._wake_at = self._shared.clock.monotonic() + delay

    def _look(self, writer: Writer) -> None:
        """Read the chain's end: to date the block in flight, or to see what became of it."""
        writer.busy = True
        self._calls.tip(self.partition, writer.floor(), partial(self._looked, writer))

    def _looked(self, writer: Writer, tip: ChainTip | None, begun: float) -> None:
        flight = writer.flight
        assert flight is not None, "what is looked for is in flight"
        header = flight.block.header
        match writer.looked(tip, begun, self._shared.clock.monotonic()):
            case Verdict.MINE:
                self._committed(flight.block)
            case Verdict.OPEN:
                pass
            case Verdict.LOST | Verdict.GONE:
                self._shared.stats.ownerships_lost += 1
                self.retake()
            case Verdict.REFUSED:
                self._refused(header)
            case Verdict.MISSING:
                message = f"block {header.number} or the one before was acknowledged and is not there"
                self.stopped(Stop(StopKind.BLOCK_MISSING, self.partition, message))

    def _committed(self, block: SealedBlock) -> None:
        header, stage = block.header, self._stage
        self._end_seen = (header.generation, header.hash)
        self._shared.stats.blocks += 1
        if header.kind is BlockKind.COMMIT:
            self._troubles = self._refusals = 0
        if isinstance(stage, Tenure):
            stage.committed(block)
            if stage.sender.failed:
                self.retake()
            else:
                self._leave_if_drained()
        elif stage is not None and stage.claim is not None:
            stage.committed(stage.claim, block)

    def _refused(self, header: BlockHeader) -> None:
        self._refusals += 1
        if self._refusals < self._shared.bounds.refusals:
            self.retake()
            return
        message = f"the database refuses block {header.number} of {header.rows} rows"
        self.stopped(Stop(StopKind.BLOCK_REFUSED, self.partition, message))

    def _faulted(self, failure: RunlaneError) -> None:
        self.stopped(Stop(StopKind.JOURNAL_FAULT, self.partition, failure.message))

    def _recheck(self) -> None:
        self._wake_at = self._shared.clock.monotonic() + self._shared.bounds.recheck
        self._calls.read(lambda ports: ports.store.end(self.partition), self._rechecked)

    def _rechecked(self, end: ChainEnd) -> None:
        """Take over again when the chain has changed; over a missing block only after a repair."""
        kind = None if self.stop is None else self.stop.kind
        generation, hashed = self._end_seen
        moved = hashed != (b"" if end.header is None else end.header.hash)
        if end.generation != generation or (moved and kind is not StopKind.BLOCK_MISSING):
            self.take()
        elif kind is StopKind.JOURNAL_FAULT:
            self.retake()

    def _leave_if_drained(self) -> None:
        if self.phase is Phase.LEAVING and isinstance(self._stage, Tenure) and self._stage.drained:
            self._release()

    def _release(self, *, commits: bool = True) -> None:
        sender = self._sender
        if sender is not None and commits:
            sender.commit_offset(self._shared.clock.monotonic())
        self._end(Phase.LEFT)
        self._shared.io.released(self.partition)

    def _end(self, phase: Phase) -> None:
        """End the ownership: nothing that comes for it counts any more, and nothing it decided is kept."""
        if isinstance(self._stage, Takeover):
            self._end_seen = self._stage.end_seen
        elif self._stage is not None:
            self._shared.io.pause(self.partition)
        self._calls.close()
        self._calls = Calls(self._shared, self._faulted)
        self._stage = None
        self._shared.cache.drop(self.partition)
        self._wake_at = _NEVER
        self.tag += 1
        self.phase = phase
        self.stop = None

    @property
    def _writer(self) -> Writer | None:
        return None if self._stage is None else self._stage.writer

    @property
    def _sender(self) -> Sender | None:
        return None if self._stage is None else self._stage.sender
