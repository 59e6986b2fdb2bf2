"""What the benchmarks run on: a Kafka, topics of their own, the embedded engine, an owner in this process."""

from __future__ import annotations

import contextlib
import os
import threading
import time
import uuid
from collections.abc import Callable, Generator, Iterable
from pathlib import Path
from typing import Final

import confluent_kafka

from bench.workload import HOST_KEYS, RECEIPT_KEYS, Produced
from runlane.contract.topics import Topics
from runlane.kafka import PATIENT_FETCH_MS, Admin, GroupSettings, KafkaConfig
from runlane.owner.chain import Phase
from runlane.owner.config import OwnerConfig
from runlane.owner.journal_store import JournalStore
from runlane.owner.kafka_log import KafkaLog
from runlane.owner.owner import Owner, SystemClock, SystemIds
from runlane.owner.ports import Ports
from tests.harness.kafka import KafkaBroker

PATIENCE: Final = 300.0
CONFIG: Final = OwnerConfig(host_keys=HOST_KEYS, receipt_keys=RECEIPT_KEYS)


@contextlib.contextmanager
def kafka(directory: Path) -> Generator[KafkaConfig]:
    """Give the broker that ``RUNLANE_KAFKA`` names, or start one, compiled as an installation's is."""
    named = os.environ.get("RUNLANE_KAFKA")
    if named:
        yield KafkaConfig(named, fetch_wait_ms=PATIENT_FETCH_MS)
        return
    with KafkaBroker(directory, brief=False) as broker:
        yield KafkaConfig(broker.bootstrap, fetch_wait_ms=PATIENT_FETCH_MS)


def new_topics(config: KafkaConfig, partitions: int) -> Topics:
    """Make topics that nobody else uses."""
    topics = Topics(prefix=f"b{uuid.uuid4().hex[:12]}.", partitions=partitions)
    Admin(config).create_topics(topics.all(), replication_factor=1)
    return topics


def produce(config: KafkaConfig, topics: Topics, messages: Iterable[Produced]) -> None:
    """Produce commands and wait until all are there."""
    name = topics.commands.name
    producer = confluent_kafka.Producer(config.options() | {"enable.idempotence": True, "linger.ms": 5})
    for message in messages:
        while True:
            try:
                producer.produce(
                    name,
                    message.value,
                    message.key,
                    message.partition,
                    headers=message.headers,  # type: ignore[arg-type]
                )
            except BufferError:
                producer.poll(0.05)
            else:
                break
    if producer.flush(PATIENCE):
        raise RuntimeError("the broker did not take every command")


class RunningOwner:
    """An owner of all partitions, in a thread of this process."""

    def __init__(self, config: KafkaConfig, topics: Topics, store: JournalStore) -> None:
        self._log = KafkaLog(config, topics=topics, group=GroupSettings(f"{topics.prefix}owners"))
        self.owner = Owner(CONFIG, Ports(self._log, store, SystemClock(), SystemIds()))
        self._partitions = topics.partitions
        self._thread = threading.Thread(target=self.owner.run, name="owner-core")
        self._thread.start()

    def wait_until_open(self) -> None:
        """Wait until every partition is taken over."""
        phases = self.owner.phases
        wait_for(lambda: list(phases().values()).count(Phase.OPEN) == self._partitions, self._thread)

    def wait_for_commands(self, count: int) -> None:
        """Wait until ``count`` commands are committed and all that they send has arrived."""
        owner = self.owner
        wait_for(lambda: owner.stats.commands >= count and not owner.waiting, self._thread)

    def stop(self) -> None:
        """Send what is committed, then end; a refused command is a fault of the benchmark."""
        self.owner.stop()
        self._thread.join(PATIENCE)
        self._log.close()
        if self.owner.stats.refused:
            raise RuntimeError(f"{self.owner.stats.refused} commands were refused")


def wait_for(condition: Callable[[], bool], thread: threading.Thread) -> None:
    """Wait for a condition while a thread runs."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if not thread.is_alive() or time.monotonic() > deadline:
            raise RuntimeError("the owner ended, or took too long")
        # Seldom, since each look takes the interpreter from the owner.
        time.sleep(0.01)
