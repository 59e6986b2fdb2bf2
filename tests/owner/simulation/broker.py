"""A log that misbehaves as a broker does: full queues, failed and doubled deliveries, groups that overlap."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from runlane.kafka import Message
from runlane.owner.ports import Outgoing, OutTopic
from runlane.store.block import LogId, message_digest
from runlane.store.stops import LogFacts, LogShape
from tests.owner.simulation.world import World

REPLY_PARTITIONS = 3
FIRST_LOG = LogId("cluster", "topic-1")


@dataclass
class Broker:
    """All topics. ``watchers`` see every message that reaches a topic, before anybody else."""

    world: World
    partitions: int
    log: LogId = FIRST_LOG
    commands: dict[int, list[Message]] = field(default_factory=dict)
    skipped: dict[int, int] = field(default_factory=dict)
    low: dict[int, int] = field(default_factory=dict)
    committed: dict[int, int] = field(default_factory=dict)
    sent: list[Outgoing] = field(default_factory=list)
    watchers: list[Callable[[Outgoing], None]] = field(default_factory=list)
    committers: list[Callable[[int, int], None]] = field(default_factory=list)
    waiters: dict[int, list[Callable[[], None]]] = field(default_factory=dict)

    def produce(
        self, partition: int, key: bytes | None, value: bytes | None, headers: list[tuple[str, bytes]]
    ) -> int:
        """Append a command; return its offset."""
        offset = self.end(partition)
        self.skipped.pop(partition, None)
        self.commands.setdefault(partition, []).append(
            Message("commands", partition, offset, key, value, headers)
        )
        for waiter in self.waiters.pop(partition, []):
            waiter()
        return offset

    def skip(self, partition: int, count: int) -> None:
        """Use up offsets without a message, as transaction markers do."""
        self.skipped[partition] = self.skipped.get(partition, 0) + count

    def trim(self, partition: int, before: int) -> None:
        """Delete the messages before an offset."""
        kept = [message for message in self.commands.get(partition, []) if message.offset >= before]
        self.commands[partition] = kept
        self.low[partition] = before

    def end(self, partition: int) -> int:
        """Return the offset of the next message."""
        log = self.commands.get(partition, [])
        last = log[-1].offset + 1 if log else self.low.get(partition, 0)
        return last + self.skipped.get(partition, 0)

    def fetch(self, partition: int, offset: int, count: int) -> list[Message] | None:
        """Return messages from an offset on; None when the log does not have it."""
        if offset < self.low.get(partition, 0) or offset > self.end(partition):
            return None
        found = [message for message in self.commands.get(partition, []) if message.offset >= offset]
        return found[:count]

    def shape(self) -> LogShape:
        """As ``LogPort.shape``."""
        return LogShape(self.log, self.partitions, REPLY_PARTITIONS)

    def facts(self, partition: int, tip_offset: int) -> LogFacts:
        """As ``LogPort.facts``."""
        tips = [
            message_digest(message.key, message.value)
            for message in self.commands.get(partition, [])
            if message.offset == tip_offset
        ]
        return LogFacts(
            self.log,
            self.low.get(partition, 0),
            self.end(partition),
            self.committed.get(partition),
            tips[0] if tips else None,
        )

    def commit(self, partition: int, offset: int) -> None:
        """As ``LogPort.commit``."""
        for committer in self.committers:
            committer(partition, offset)
        self.committed[partition] = offset

    def arrive(self, message: Outgoing) -> None:
        """A sent message reaches its topic."""
        for watcher in self.watchers:
            watcher(message)
        self.sent.append(message)

    def outcomes(self) -> list[Outgoing]:
        """Return the outcomes in the order of their arrival."""
        return [message for message in self.sent if message.topic is OutTopic.OUTCOMES]
