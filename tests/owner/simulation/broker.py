"""A log that misbehaves as a broker does: full queues, failed and doubled deliveries, groups that overlap."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from runlane.kafka import Message
from runlane.owner.batch import message_digest
from runlane.owner.ports import LogFacts, LogShape, Outgoing, OutTopic
from runlane.store.block import LogId
from tests.owner.simulation.world import World

REPLY_PARTITIONS = 3


@dataclass
class Broker:
    """All topics. ``watchers`` see every message that reaches a topic, before anybody else."""

    world: World
    partitions: int
    log: LogId = LogId("cluster", "topic-1")
    commands: dict[int, list[Message]] = field(default_factory=dict)
    low: dict[int, int] = field(default_factory=dict)
    committed: dict[int, int] = field(default_factory=dict)
    sent: list[Outgoing] = field(default_factory=list)
    watchers: list[Callable[[Outgoing], None]] = field(default_factory=list)
    committers: list[Callable[[int, int], None]] = field(default_factory=list)
    waiters: dict[int, list[Callable[[], None]]] = field(default_factory=dict)

    def produce(self, partition: int, key: bytes | None, value: bytes | None, headers: list[tuple[str, bytes]]) -> int:
        """Append a command; return its offset."""
        log = self.commands.setdefault(partition, [])
        offset = self.low.get(partition, 0) + len(log)
        log.append(Message("commands", partition, offset, key, value, headers))
        for waiter in self.waiters.pop(partition, []):
            waiter()
        return offset

    def trim(self, partition: int, before: int) -> None:
        """Delete the messages before an offset."""
        low = self.low.get(partition, 0)
        del self.commands.setdefault(partition, [])[: before - low]
        self.low[partition] = before

    def fetch(self, partition: int, offset: int, count: int) -> list[Message] | None:
        """Return messages from an offset on; None when the log does not have it."""
        low = self.low.get(partition, 0)
        log = self.commands.get(partition, [])
        if offset < low or offset > low + len(log):
            return None
        return log[offset - low : offset - low + count]

    def shape(self) -> LogShape:
        """As ``LogPort.shape``."""
        return LogShape(self.log, self.partitions, REPLY_PARTITIONS)

    def facts(self, partition: int, tip_offset: int) -> LogFacts:
        """As ``LogPort.facts``."""
        low = self.low.get(partition, 0)
        log = self.commands.get(partition, [])
        digest = None
        if low <= tip_offset < low + len(log):
            tip = log[tip_offset - low]
            digest = message_digest(tip.key, tip.value)
        return LogFacts(self.log, low, low + len(log), self.committed.get(partition), digest)

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
