"""One partition of the records topic on its way to the stream and into activity windows.

All that it knows can be had again: the mapping needs one record only, the windows are read from the journal
when a partition is taken over. Records come from the topic; where that has a hole, from the journal.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, NamedTuple, Protocol

from runlane.contract.activity import ActivityFold, ActivityShare, window_start
from runlane.contract.errors import ContractError, InvalidCommand
from runlane.contract.payloads import SESSION_PURGED
from runlane.contract.stream import StreamEvent, may_stream, stream_events
from runlane.contract.values import CommittedRecord
from runlane.feed.history import History
from runlane.feed.order import NOTHING, Hole, Order

_NEAR_BLOCKS: Final = 20
_log = logging.getLogger(__name__)


class Outlet(Protocol):
    """Where events and shares go; both return at once, ``Deliveries.settle`` knows what arrived."""

    def event(self, event: StreamEvent) -> None:
        """Take an event on its way to the stream."""
        ...

    def share(self, share: ActivityShare) -> None:
        """Take a share on its way to the activity topic."""
        ...


@dataclass(slots=True)
class FeedCounts:
    """What a feed has done, for its metrics; what is tried again is counted again."""

    messages: int = 0
    records: int = 0
    events: int = 0
    shares: int = 0
    unmapped: int = 0
    undecodable: int = 0
    holes: int = 0


class Received(NamedTuple):
    """A message of the partition; no record when it cannot be read."""

    offset: int
    record: CommittedRecord | None


@dataclass(frozen=True, slots=True)
class Place:
    """Where a partition's feed begins: at ``offset``, the block of which is ``block`` when the topic has it.

    ``since`` is how far back the stream is kept: what was lost before that is not told again.
    """

    partition: int
    offset: int
    block: int
    since: datetime


@dataclass(slots=True)
class PartitionFeed:
    """Maps and folds the records of one partition; one thread uses it.

    After any failure it is thrown away: what it had not delivered is read again.
    """

    place: Place
    history: History
    outlet: Outlet
    counts: FeedCounts
    _order: Order | None = None
    _fold: ActivityFold = field(init=False)
    _purged: set[str] = field(default_factory=set[str])
    _next: int = field(init=False)

    def __post_init__(self) -> None:
        self._next = self.place.offset
        self._fold = ActivityFold(self.place.partition)

    @property
    def next_offset(self) -> int:
        """The offset behind the last message that was taken."""
        return self._next

    def take(self, messages: Sequence[Received]) -> None:
        """Hand on what follows from messages of the topic; raises what the journal's reads raise."""
        for offset, record in messages:
            self.counts.messages += 1
            if offset > self._next:
                self._recover_lost()
            self._next = offset + 1
            if record is not None:
                self._take(record, messages)
        order = self._order
        if order is not None and order.full:
            order.forget(self.history.sent_block(self.place.partition, order.newest))

    def recover(self, first: int, last: int) -> Order:
        """Begin anew: hand on all records of the blocks ``first`` to ``last`` as the journal has them.

        What follows in the topic is taken behind them, and the windows are whole again.
        """
        partition = self.place.partition
        self._purged = set(self.history.purged(partition))
        self._fold = self._fold_before(first)
        self._order = Order(last)
        for page in self.history.records(partition, first, last):
            for record in page:
                self._hand_on(record)
            self.tell()
        return self._order

    def tell(self) -> None:
        """Tell of the windows that changed since the last time."""
        for share in self._fold.news():
            self._share(share)

    def rest(self, now: datetime, last: int) -> None:
        """Tell of runs that go on though nothing is committed; only when the topic was read to its end.

        ``last`` is the chain's last block, looked up before that end was.
        """
        if self._order is None:
            # The last blocks may be on their way to the topic still.
            self.recover(self._unsent(last), last)
        for share in self._fold.still_running(now):
            self._share(share)

    def _take(self, record: CommittedRecord, messages: Sequence[Received]) -> None:
        order = self._order or self._begin(record.block)
        if record.lane in self._purged:
            return
        if not record.run_id and record.type == SESSION_PURGED:
            self._purged.add(record.lane)
            self._fold.take(record)
            return
        if order.unknown((record,)):
            lanes = sorted(order.unknown(one.record for one in messages if one.record is not None))
            order.learn(lanes, self.history.taken(self.place.partition, lanes, order.through))
        found = order.take(record)
        if isinstance(found, Hole):
            self._recover_from(found.block)
        elif found:
            self._hand_on(record)

    def _begin(self, block: int) -> Order:
        """Take over at a record of ``block``: what is near the chain's end comes from the journal at once.

        That record may be one that was sent again, behind those of later blocks.
        """
        last = self.history.last_block(self.place.partition)
        return self.recover(self._unsent(block), last if last - block <= _NEAR_BLOCKS else block)

    def _recover_lost(self) -> None:
        """Messages were skipped: go on from the journal, from the block where it began."""
        if self._order is not None:
            self._recover_from(self._order.newest + 1)
        elif self.place.block != NOTHING:
            self._recover_from(self.place.block)
        else:
            block = self.history.block_since(self.place.partition, self.place.since)
            if block is not None:
                self._recover_from(block)

    def _recover_from(self, block: int) -> None:
        self.counts.holes += 1
        _log.warning("records of partition %s are read from the journal", self.place.partition)
        newest = block if self._order is None else self._order.newest
        self.recover(min(block, self._unsent(newest)), self.history.last_block(self.place.partition))

    def _unsent(self, block: int) -> int:
        """Return the first block some of whose records may be missing in the topic before those of ``block``.

        A delivery may have failed; the owner sends again from there on, behind what was sent meanwhile.
        """
        return min(block, self.history.sent_block(self.place.partition, block) + 1)

    def _fold_before(self, first: int) -> ActivityFold:
        """Return the windows as they were before the block ``first``."""
        history, partition = self.history, self.place.partition
        begin = history.block_since(partition, window_start(history.time_of(partition, first)))
        begin = first if begin is None else min(begin, first)
        fold = ActivityFold(partition, history.running(partition, begin))
        for page in history.records(partition, begin, first - 1):
            for record in page:
                fold.take(record)
        return fold

    def _hand_on(self, record: CommittedRecord) -> None:
        self.counts.records += 1
        self._fold.take(record)
        if not may_stream(record.session_status):
            return
        try:
            events = stream_events(record)
        except InvalidCommand as refused:
            # It stays in the history; nothing of it may land in a log.
            self.counts.unmapped += 1
            _log.warning("a record has no stream event: %s", refused.code)
            return
        for event in events:
            self._send(event)

    def _send(self, event: StreamEvent) -> None:
        """Hand an event on; escaping may have made it larger than a message may be, as its record was not."""
        try:
            self.outlet.event(event)
        except ContractError as refused:
            if refused.code != "message_too_large":
                raise
            self.counts.unmapped += 1
            _log.warning("a stream event is left out: %s", refused.code)
        else:
            self.counts.events += 1

    def _share(self, share: ActivityShare) -> None:
        self.counts.shares += 1
        self.outlet.share(share)
