"""What the memory sink needs of the world; everything else of it is written against these."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from runlane.contract.codec import Headers
from runlane.contract.errors import FatalKafkaError
from runlane.kafka import Polled
from runlane.store.block import Block
from runlane.store.chain import ChainEnd, ChainTip
from runlane.store.flight import InsertReport
from runlane.store.stops import LogFacts, LogShape

Named = tuple[str, str, str]
"""Agent, run and key of an append or deletion."""
Run = tuple[str, str]
"""Agent and run."""


class MemoryLogPort(Protocol):
    """The memory topic. One thread uses it."""

    def begin(
        self, assigned: Callable[[Sequence[int]], None], revoked: Callable[[Sequence[int], bool], None]
    ) -> None:
        """Ask for partitions; ``poll`` calls back when some are given, and when some are taken.

        ``revoked`` hears True where they long are another's.

        Nothing is fetched from a partition before ``start``; it is another's once ``revoked`` has returned.
        """
        ...

    def poll(self, max_messages: int, timeout: float) -> Polled:
        """Return what has arrived, waiting at most ``timeout`` seconds for the first; ``TopicMismatch``."""
        ...

    def start(self, partition: int, offset: int) -> None:
        """Fetch an assigned partition from ``offset`` on; nothing fetched before is returned any more."""
        ...

    def commit(self, partition: int, offset: int) -> None:
        """Commit the group's offset, without waiting: it only shows how far behind the sink is."""
        ...

    def answer(self, reply_partition: int, value: bytes, headers: Headers) -> None:
        """Send an outcome, without waiting: whoever does not get it asks again."""
        ...

    def renew(self, failure: FatalKafkaError) -> None:
        """Make the log's clients anew because one failed for good, then wait for ``begin``.

        Raises ``failure`` where new clients would not help.
        """
        ...

    def shape(self) -> LogShape:
        """Return what the log is; ``Unavailable``."""
        ...

    def facts(self, partition: int, tip_offset: int) -> LogFacts:
        """Return a partition's facts, with the digest of the message at ``tip_offset``; ``Unavailable``."""
        ...


class MemoryStorePort(Protocol):
    """The table of memory. A read raises ``Unavailable``, or ``JournalFault`` for an answer without sense."""

    def end(self, partition: int) -> ChainEnd:
        """Return the end of a partition's chain."""
        ...

    def recorded_partition_count(self) -> int | None:
        """Return the partition count that the chains were started with, None before the first block."""
        ...

    def insert(self, block: Block, not_after: datetime) -> InsertReport:
        """Insert one native block under the token of its number; never raises for what the database says."""
        ...

    def tips(self, floors: Mapping[int, int]) -> Mapping[int, ChainTip]:
        """Return, per partition, its newest block numbered at least its floor."""
        ...

    def known(self, named: Sequence[Named]) -> Mapping[Named, tuple[int, bytes]]:
        """Return position and digest of those appends and deletions that are stored."""
        ...

    def pending_erases(self, partition: int) -> Sequence[Run]:
        """Return the runs of a partition whose deleted events still have rows."""
        ...

    def erase(self, run: Run) -> bool:
        """Go on erasing a run's deleted events; True when none is left, False while a mutation runs."""
        ...

    def start_generation(self, partition: int, generation: int) -> None:
        """Write a partition's next chain generation, for ``repair``."""
        ...


class ClockPort(Protocol):
    """The sink's clocks."""

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
    """The sink's randomness."""

    def nonce(self) -> str:
        """Return a name for one ownership that nobody else ever uses."""
        ...

    def jitter(self) -> float:
        """Return a number from 0 to 1."""
        ...


@dataclass(frozen=True, slots=True)
class MemoryPorts:
    """All ports of one sink."""

    log: MemoryLogPort
    store: MemoryStorePort
    clock: ClockPort
    ids: IdsPort
