"""The owner on its real parts: the embedded broker and the embedded engine, in this process."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from runlane.contract.codec import command_headers, decode_outcome, encode_command
from runlane.contract.commands import Command, CreateSession, EndSession, PurgeSession
from runlane.contract.outcomes import Outcome
from runlane.contract.partitioner import partition_for
from runlane.contract.topics import Topics
from runlane.kafka import Consumer, EmbeddedBroker, GroupSettings, KafkaConfig, Message, Partition, Producer
from runlane.owner.config import OwnerConfig
from runlane.owner.journal_store import JournalStore
from runlane.owner.kafka_log import KafkaLog
from runlane.owner.owner import Owner, SystemClock, SystemIds
from runlane.owner.ports import Ports
from runlane.store.block import LogId
from runlane.store.engine import ClientPool, connect
from runlane.store.migrate import migrate
from runlane.store.stops import StopKind
from tests.owner.simulation.clients import HOST_KEYS, RECEIPT_KEYS, Script

TOPICS = Topics(partitions=2)
EMBEDDED = frozenset({StopKind.LOG_REPLACED, StopKind.LOG_TRIMMED, StopKind.LOG_BEGINS_LATE})
CONFIG = OwnerConfig(host_keys=HOST_KEYS, receipt_keys=RECEIPT_KEYS, adopts=EMBEDDED)
PATIENCE = 120.0


@dataclass
class Running:
    """An owner in a thread of its own."""

    owner: Owner
    log: KafkaLog
    thread: threading.Thread
    ports: Ports

    def stop(self) -> None:
        """Stop it cleanly."""
        self.owner.stop()
        self.thread.join(PATIENCE)
        assert not self.thread.is_alive()
        self.log.close()


@dataclass
class Journal:
    """One directory of the embedded engine."""

    pool: ClientPool
    id: str


@contextmanager
def journal(path: Path) -> Iterator[Journal]:
    """Open and migrate a directory."""
    pool = connect(f"chdb://{path}")
    try:
        yield Journal(pool, migrate(pool))
    finally:
        pool.close()


@contextmanager
def broker() -> Iterator[KafkaConfig]:
    """Start an empty broker with every topic."""
    with EmbeddedBroker({topic.name: topic.partitions for topic in TOPICS.all()}) as running:
        yield KafkaConfig(running.bootstrap)


def open_log(kafka: KafkaConfig, topics: Topics, log_name: str) -> KafkaLog:
    """Connect to the log, as a member of the group when it has no name."""
    return KafkaLog(
        kafka,
        topics=topics,
        group=GroupSettings(f"{topics.prefix}owners"),
        log=LogId("embedded", log_name) if log_name else None,
    )


def open_ports(log: KafkaLog, held: Journal) -> Ports:
    """Return the real ports."""
    store = JournalStore(held.pool, held.id, max_execution=CONFIG.bounds.max_execution)
    return Ports(log, store, SystemClock(), SystemIds())


def start_owner(
    kafka: KafkaConfig,
    held: Journal,
    log_name: str,
    *,
    topics: Topics = TOPICS,
    config: OwnerConfig = CONFIG,
) -> Running:
    """Run an owner: of all partitions of the embedded broker known as ``log_name``.

    Else as a group's member.
    """
    return start_over(open_log(kafka, topics, log_name), held, config)


def start_over(log: KafkaLog, held: Journal, config: OwnerConfig = CONFIG) -> Running:
    """Run an owner over this log."""
    ports = open_ports(log, held)
    owner = Owner(config, ports)
    thread = threading.Thread(target=owner.run, daemon=True)
    thread.start()
    return Running(owner, log, thread, ports)


@dataclass
class Worker:
    """Sends commands and waits for their outcomes; reads everything that the owner sends."""

    kafka: KafkaConfig
    topics: Topics = TOPICS
    messages: dict[str, list[Message]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._count = 0
        self._outcomes: dict[str, Outcome] = {}
        self._producer = Producer(self.kafka)
        self._consumer = Consumer(self.kafka, group=GroupSettings(f"{self.topics.prefix}worker"))
        topics = (self.topics.outcomes, self.topics.records, self.topics.rejected)
        self._next = {
            Partition(topic.name, number): 0 for topic in topics for number in range(topic.partitions)
        }
        self._consumer.assign(self._next)

    def close(self) -> None:
        """Let the connections go."""
        self._producer.close()
        self._consumer.close()

    def play(self, script: Script) -> None:
        """Run a client script of the simulation to its end."""
        asked = next(script)
        while True:
            names = [self.send(lane, command) for lane, command in asked]
            found = [self.outcome(name) for name in names]
            try:
                asked = script.send(found)
            except StopIteration:
                return

    def send(self, lane: str, command: Command) -> str:
        """Produce a command; return its correlation id."""
        self._count += 1
        name = f"{id(self)}-{self._count}"
        key, body = lane.encode(), encode_command(command)
        host = isinstance(command, CreateSession | EndSession | PurgeSession)
        signature = HOST_KEYS.sign_host(key, body) if host else None
        self.produce(key, body, command_headers(name, self._count % self.topics.partitions, signature))
        return name

    def produce(self, key: bytes, body: bytes | None, headers: list[tuple[str, bytes]]) -> None:
        """Produce raw bytes into the key's partition."""
        partition = partition_for(key, self.topics.partitions)
        self._producer.produce(self.topics.commands.name, body, key=key, headers=headers, partition=partition)

    def drain(self) -> None:
        """Wait until the broker has everything."""
        assert self._producer.drain(PATIENCE)

    def outcome(self, name: str) -> Outcome:
        """Wait for a command's outcome."""
        deadline = time.monotonic() + PATIENCE
        while name not in self._outcomes:
            assert time.monotonic() < deadline, f"no outcome of {name}"
            self.listen(0.1)
        return self._outcomes[name]

    def hear_all(self) -> None:
        """Take everything that the owner has sent by now."""
        for place in self._next:
            end = self._consumer.watermarks(place, PATIENCE)[1]
            deadline = time.monotonic() + PATIENCE
            while self._next[place] < end:
                assert time.monotonic() < deadline, place
                self.listen(0.1)

    def listen(self, seconds: float) -> None:
        """Take what has arrived, waiting for a first message."""
        for message in self._consumer.poll(1_000, seconds).messages:
            self._next[Partition(message.topic, message.partition)] = message.offset + 1
            self.messages.setdefault(message.topic, []).append(message)
            if message.topic == self.topics.outcomes.name:
                outcome = decode_outcome(message.value)
                self._outcomes[outcome.correlation_id] = outcome


def plain() -> OwnerConfig:
    """Return the config of an owner that adopts nothing by itself."""
    return replace(CONFIG, adopts=frozenset())
