"""What the owner needs of the world: a log, a journal, a clock, ids.

Everything else is written against these. The real ones are ``kafka_log`` and ``journal_store``; the
simulator's misbehave on purpose.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple, Protocol

from runlane.contract.codec import Headers
from runlane.contract.decide import LaneState
from runlane.contract.errors import FatalKafkaError
from runlane.contract.state import KeyEntry
from runlane.kafka import Delivery, Polled
from runlane.store.block import SealedBlock
from runlane.store.chain import ChainEnd, ChainTip, OutboxPage
from runlane.store.flight import InsertReport
from runlane.store.stops import LogFacts, LogShape


class OutTopic(StrEnum):
    """The topics an owner writes."""

    OUTCOMES = "outcomes"
    RECORDS = "records"
    REJECTED = "rejected"


class Outgoing(NamedTuple):
    """One message to send; ``partition`` is explicit."""

    topic: OutTopic
    partition: int
    key: bytes | None
    value: bytes
    headers: Headers


class StorePort(Protocol):
    """The journal. Called from worker threads.

    A read raises ``Unavailable`` when the database does not answer, ``JournalFault`` when its answer makes no
    sense.
    """

    def end(self, partition: int) -> ChainEnd:
        """Return the end of a partition's chain."""
        ...

    def insert(self, block: SealedBlock, not_after: datetime) -> InsertReport:
        """Insert one native block under the token of its number; never raises for what the database says."""
        ...

    def tips(self, floors: Mapping[int, int]) -> Mapping[int, ChainTip]:
        """Return, per partition, its newest block numbered at least its floor."""
        ...

    def outbox(self, partition: int, after: int, to: int, max_bytes: int) -> OutboxPage:
        """Return what the next blocks with positions in (after, to] send; one at least, no erased rows."""
        ...

    def load_lanes(self, lanes: Sequence[str], max_bytes: int) -> Mapping[str, LaneState]:
        """Return each lane's committed state; one that would exceed ``max_bytes`` comes without its keys."""
        ...

    def load_keys(self, lane: str, pairs: Sequence[tuple[str, str]]) -> Mapping[tuple[str, str], KeyEntry]:
        """Return those of the (run id, event key) pairs that exist in a lane."""
        ...

    def recorded_partition_count(self) -> int | None:
        """Return the partition count that the chains were started with, None before the first block."""
        ...

    def active_parts(self) -> int:
        """Return the number of the journal's active parts."""
        ...

    def pending_erases(self, partition: int) -> Sequence[str]:
        """Return the purged lanes of a partition that still have rows to erase."""
        ...

    def erase(self, lane: str) -> bool:
        """Go on erasing a purged lane; True when nothing is left to erase, False while a mutation runs."""
        ...

    def start_generation(self, partition: int, generation: int) -> None:
        """Write a partition's next chain generation, for ``repair``."""
        ...


class LogPort(Protocol):
    """The log. ``begin`` to ``commit`` are called by the poll thread only."""

    def begin(
        self, assigned: Callable[[Sequence[int]], None], revoked: Callable[[Sequence[int], bool], None]
    ) -> None:
        """Ask for partitions.

        ``poll`` calls back when some are given, and when some are taken (True: long ago).

        Nothing is fetched from a partition before ``start``; it is another's once ``revoked`` has returned.
        """
        ...

    def poll(self, max_messages: int, timeout: float) -> Polled:
        """Return what has arrived, waiting at most ``timeout`` seconds for the first; ``TopicMismatch``."""
        ...

    def start(self, partition: int, offset: int) -> None:
        """Fetch an assigned partition from ``offset`` on; nothing fetched before is returned any more."""
        ...

    def pause(self, partition: int) -> None:
        """Stop fetching a partition."""
        ...

    def resume(self, partition: int) -> None:
        """Go on fetching a partition where it was paused."""
        ...

    def commit(self, partition: int, offset: int) -> None:
        """Commit the group's offset, without waiting for the answer."""
        ...

    def send(self, message: Outgoing, delivered: Delivery) -> bool:
        """Queue a message; False when the queue is full.

        ``delivered`` hears once, in any one thread, None if it arrived, else why it may not have.
        """
        ...

    def renew(self, failure: FatalKafkaError) -> None:
        """Make the log's clients anew because one failed for good, then wait for ``begin``.

        Called when nothing is polled or sent. Raises ``failure`` where new clients would not help.
        """
        ...

    def shape(self) -> LogShape:
        """Return what the log is; raises ``Unavailable``. Any thread."""
        ...

    def facts(self, partition: int, tip_offset: int) -> LogFacts:
        """Return a partition's facts, with the digest of the message at ``tip_offset``; any thread.

        Raises ``Unavailable``.
        """
        ...

    def force_offset(self, partition: int, offset: int) -> None:
        """Set the group's offset, for ``adopt_log``; raises ``Unavailable``. Any thread."""
        ...


class ClockPort(Protocol):
    """The owner's clocks."""

    def now(self) -> datetime:
        """Return the wall clock in UTC."""
        ...

    def monotonic(self) -> float:
        """Return seconds that never go back."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


class IdsPort(Protocol):
    """The owner's randomness."""

    def nonce(self) -> str:
        """Return a name for one ownership that nobody else ever uses."""
        ...

    def jitter(self) -> float:
        """Return a number from 0 to 1."""
        ...


@dataclass(frozen=True, slots=True)
class Ports:
    """All ports of one owner."""

    log: LogPort
    store: StorePort
    clock: ClockPort
    ids: IdsPort
