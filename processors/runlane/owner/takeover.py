"""Taking a chain over: claim it, check the log against it, send again what may not have arrived."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from runlane.owner.calls import Calls
from runlane.owner.config import LOGIC_VERSION
from runlane.owner.drafts import Survey, survey
from runlane.owner.sending import Sender
from runlane.owner.shared import Shared
from runlane.owner.writing import Writer
from runlane.store import drafts
from runlane.store.block import BlockHeader, BlockKind, SealedBlock
from runlane.store.chain import OutboxPage
from runlane.store.drafts import Adoption, Ownership
from runlane.store.stops import LogFacts, Stop, check_before_claim, check_log


@dataclass(frozen=True, slots=True)
class Claim:
    """What the claim of a chain begins with."""

    own: Ownership
    survey: Survey
    writer: Writer


class Host(Protocol):
    """The chain that an ownership belongs to."""

    def stopped(self, stop: Stop) -> None:
        """Hold the partition."""
        ...

    def retake(self) -> None:
        """End the ownership and take over again."""
        ...

    def opened(self, claim: Claim, sender: Sender) -> None:
        """The takeover is done: everything up to the head is handed to the log."""
        ...


class Takeover:
    """One takeover of one chain; ``end_seen`` names the chain's end that it saw."""

    def __init__(self, shared: Shared, partition: int, *, calls: Calls, tag: int, host: Host) -> None:
        self._shared = shared
        self._partition = partition
        self._calls = calls
        self._tag = tag
        self._host = host
        self._claim: Claim | None = None
        self._sender: Sender | None = None
        self._page_after: int | None = None
        self.end_seen = (0, b"")

    @property
    def writer(self) -> Writer | None:
        """Who writes the claim, once the chain's end is read."""
        return None if self._claim is None else self._claim.writer

    @property
    def sender(self) -> Sender | None:
        """Who sends again, once the log is checked."""
        return self._sender

    def begin(self) -> None:
        """Read the chain's end and what the log is."""
        begun = self._shared.clock.monotonic()
        self._calls.ask_log(
            lambda ports: survey(ports, self._partition), lambda found: self._surveyed(found, begun)
        )

    def committed(self, claim: Claim, block: SealedBlock) -> None:
        """The claim, or the adoption, is in the journal."""
        header = block.header
        self.end_seen = (header.generation, header.hash)
        if header.kind is BlockKind.ADOPT:
            offset = header.last + 1 - header.base
            self._calls.ask_log(
                lambda ports: ports.log.force_offset(self._partition, offset),
                lambda _: self._resend(claim, header, header.watermark),
            )
            return
        self._shared.stats.claims += 1
        tip_offset = header.last - header.base
        self._calls.ask_log(
            lambda ports: ports.log.facts(self._partition, tip_offset),
            lambda facts: self._checked(claim, header, facts),
        )

    def settled(self, claim: Claim) -> None:
        """Something sent again arrived: go on with the next page when there is room."""
        if self._page_after is not None and self._sender is not None and self._sender.roomy:
            after, self._page_after = self._page_after, None
            self._next_page(claim, self._sender, after)

    @property
    def claim(self) -> Claim | None:
        """The claim, once drafted."""
        return self._claim

    def _surveyed(self, found: Survey, begun: float) -> None:
        head = found.end.header
        self.end_seen = (found.end.generation, b"" if head is None else head.hash)
        stop = check_before_claim(
            self._partition, head, partitions=found.shape.partitions, logic_version=LOGIC_VERSION
        )
        if stop is not None:
            self._host.stopped(stop)
            return
        own = Ownership(
            partition=self._partition,
            generation=found.end.generation,
            epoch=1 if head is None else head.epoch + 1,
            nonce=self._shared.ids.nonce(),
            logic_version=LOGIC_VERSION,
            partition_count=found.partition_count,
        )
        writer = Writer(self._shared.bounds, head, proof=found.end.time, proven_at=begun)
        clock = self._shared.clock
        writer.launch(drafts.claim(own, head, found.shape.log, clock.now()), clock.monotonic())
        self._claim = Claim(own, found, writer)

    def _checked(self, claim: Claim, head: BlockHeader, facts: LogFacts) -> None:
        stop = check_log(head, facts)
        if stop is None:
            # Whoever adopted a log set the offset, so it does not tell what was sent before.
            adopted = not head.tip_digest
            known = None if adopted else facts.committed
            sent = drafts.NOTHING_DECIDED if known is None else known + head.base - 1
            self._resend(claim, head, max(head.watermark, sent))
            return
        adoption = drafts.adoption_of(stop.kind, head, facts)
        if adoption is None or stop.kind not in self._shared.config.adopts:
            self._host.stopped(stop)
            return
        self._adopt(claim, head, adoption)

    def _adopt(self, claim: Claim, head: BlockHeader, adoption: Adoption) -> None:
        clock = self._shared.clock
        self._shared.stats.positions_skipped += adoption.last - head.last
        claim.writer.launch(drafts.adopt(claim.own, head, adoption, clock.now()), clock.monotonic())

    def _resend(self, claim: Claim, head: BlockHeader, after: int) -> None:
        """Send again out of the journal what lies between ``after`` and the tip."""
        self._sender = Sender(self._shared, head, sent=min(after, head.last), tag=self._tag)
        self._next_page(claim, self._sender, after)

    def _next_page(self, claim: Claim, sender: Sender, after: int) -> None:
        head = claim.writer.head
        assert head is not None, "a claimed chain has a head"
        if after >= head.last:
            self._host.opened(claim, sender)
            return
        size = self._shared.bounds.page_bytes
        last = head.last
        self._calls.read(
            lambda ports: ports.store.outbox(self._partition, after, last, size),
            lambda page: self._page(claim, sender, page),
        )

    def _page(self, claim: Claim, sender: Sender, page: OutboxPage) -> None:
        sender.ship(page.items, page.last_position)
        if sender.failed:
            self._host.retake()
        elif sender.roomy:
            self._next_page(claim, sender, page.last_position)
        else:
            self._page_after = page.last_position
