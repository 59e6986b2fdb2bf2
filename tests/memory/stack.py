"""The memory sink on the embedded broker and the embedded engine, in this process."""

from __future__ import annotations

import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import timedelta
from pathlib import Path

from runlane.client import ClientOptions, KafkaTarget, KafkaTransport, RunStore
from runlane.client.memory_lanes import MemoryLanes
from runlane.client.memory_reader import MemoryReader
from runlane.contract.memory import MemoryEvent, PlannerNoteData
from runlane.contract.topics import Topics
from runlane.kafka import EmbeddedBroker, GroupSettings, KafkaConfig
from runlane.owner.owner import SystemClock, SystemIds
from runlane.store.block import LogId
from runlane.store.engine import ClientPool, connect
from runlane.store.memory import KafkaMemoryLog, MemoryPorts, MemorySink, MemoryTable, MemoryTableReader
from runlane.store.memory.chain import SinkBounds
from runlane.store.migrate import migrate
from runlane.store.stops import StopKind
from tests.stream.records import T0

TOPICS = Topics(partitions=2)
EMBEDDED = frozenset({StopKind.LOG_REPLACED, StopKind.LOG_TRIMMED, StopKind.LOG_BEGINS_LATE})
PATIENCE = 60.0


def note(text: str, second: int = 0) -> MemoryEvent:
    """An event to remember."""
    return PlannerNoteData(text).event(T0 + timedelta(seconds=second))


def notes(*texts: str) -> list[MemoryEvent]:
    return [note(text, second) for second, text in enumerate(texts)]


@contextmanager
def table(path: Path) -> Iterator[tuple[ClientPool, MemoryTable]]:
    """Open and migrate a directory."""
    pool = connect(f"chdb://{path}")
    try:
        yield pool, MemoryTable(pool, migrate(pool), max_execution=SinkBounds().max_execution)
    finally:
        pool.close()


@contextmanager
def broker(topics: Topics = TOPICS) -> Iterator[KafkaConfig]:
    """Start an empty broker with every topic."""
    with EmbeddedBroker({topic.name: topic.partitions for topic in topics.all()}) as running:
        yield KafkaConfig(running.bootstrap)


@contextmanager
def sink(
    kafka: KafkaConfig,
    store: MemoryTable,
    log_name: str = "one",
    adopts: frozenset[StopKind] = EMBEDDED,
    topics: Topics = TOPICS,
) -> Iterator[MemorySink]:
    """Run a sink in a thread until the end of the body."""
    log = KafkaMemoryLog(kafka, topics=topics, group=GroupSettings("memory"), log=LogId("embedded", log_name))
    running = MemorySink(MemoryPorts(log, store, SystemClock(), SystemIds()), adopts=adopts)
    failures: list[BaseException] = []

    def run() -> None:
        try:
            running.run()
        except BaseException as failure:  # noqa: BLE001 - the test's thread raises it
            failures.append(failure)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield running
    finally:
        running.stop()
        thread.join(PATIENCE)
        log.close()
    assert not failures, failures


@asynccontextmanager
async def client(kafka: KafkaConfig, pool: ClientPool) -> AsyncIterator[RunStore]:
    """A store that reads memory out of the table itself."""
    options = ClientOptions(timeout=PATIENCE, answer_wait=1.0)
    transport = KafkaTransport(lambda: KafkaTarget(kafka), options=options)
    reader = MemoryTableReader(pool)
    runs = MemoryReader(MemoryLanes(SystemClock().now, host=True))
    try:
        async with RunStore(transport, runs, memory=reader, options=options) as store:
            yield store
    finally:
        reader.close()


def wait_for(condition: object, what: str) -> None:
    """Wait until the callable ``condition`` holds."""
    assert callable(condition)
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)
