"""Memory sinks killed at each of their port calls on a real Kafka: every event once, in order.

The list of calls is that of the ports: a port method that no point covers fails the first test.
"""

from __future__ import annotations

import asyncio
import itertools
import signal
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import get_type_hints

import pytest

from runlane.client import ClientOptions, KafkaTarget, KafkaTransport, RunStore
from runlane.client.memory_lanes import MemoryLanes
from runlane.client.memory_reader import MemoryReader
from runlane.contract.memory import PlannerNoteData, read_data
from runlane.contract.topics import Topics
from runlane.kafka import Admin, KafkaConfig
from runlane.owner.owner import SystemClock
from runlane.store.block import LogId
from runlane.store.chain import Chains
from runlane.store.engine import ClientPool, connect
from runlane.store.memory import MEMORY, MemoryPorts, MemoryTableReader
from runlane.store.migrate import migrate
from tests.e2e.stack import PATIENCE, PROCESSES, ClickHouse
from tests.harness.kafka import Kafka
from tests.memory.sink_main import Kill, SinkSpec, main
from tests.memory.stack import notes

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

RUNS = ("r0", "r1", "r2")
APPENDS = 12


@dataclass(frozen=True, slots=True)
class Point:
    """Where a sink is killed. ``after``: only there; ``member``: as a member of the group."""

    call: str
    nth: int = 1
    of: str = ""
    after: bool = False
    member: bool = False


POINTS = (
    Point("begin", member=True),
    Point("poll", member=True),
    Point("poll", of="messages", after=True),
    Point("poll", of="messages", nth=3, after=True),
    Point("shape"),
    Point("end"),
    Point("recorded_partition_count"),
    Point("insert", of="claim"),
    Point("insert", of="claim", nth=2),
    Point("tips"),
    Point("facts"),
    Point("pending_erases"),
    Point("start", member=True),
    Point("known"),
    Point("insert", of="commit"),
    Point("insert", of="commit", nth=4),
    Point("tips", nth=4),
    Point("answer"),
    Point("answer", nth=5),
    Point("commit", member=True),
    Point("commit", nth=2),
    Point("erase"),
)
KILLS = [
    (point, Kill(point.call, before=before, nth=point.nth, of=point.of))
    for point in POINTS
    for before in (True, False)
    if not (before and point.after)
]
NOT_KILLED_AT = {"start_generation", "renew", "now", "monotonic", "sleep", "nonce", "jitter"}
"""Repair alone calls the first, without a sink; the second makes clients; the others read this process."""


def test_every_port_call_is_a_point() -> None:
    ports = get_type_hints(MemoryPorts).values()
    calls = {name for port in ports for name in vars(port) if not name.startswith("_")}
    assert {"now", "nonce"} <= calls
    assert {point.call for point in POINTS} | NOT_KILLED_AT == calls


@pytest.fixture(scope="module")
def clickhouse(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClickHouse]:
    with ClickHouse(tmp_path_factory.mktemp("clickhouse")) as running:
        yield running


class Sinks:
    """Topics and a database of its own, and the sinks that serve them."""

    def __init__(self, kafka: Kafka, clickhouse: ClickHouse, directory: Path) -> None:
        self.kafka = KafkaConfig(kafka.bootstrap)
        self.topics = Topics(f"t{uuid.uuid4().hex[:12]}.", 2)
        admin = Admin(self.kafka)
        topics = [self.topics.memory, self.topics.commands, self.topics.outcomes]
        admin.create_topics(topics, replication_factor=1)
        self.log = LogId(*admin.identity(self.topics.memory.name))
        self.dsn = clickhouse.create_database()
        self.pool: ClientPool = connect(self.dsn)
        self.journal_id = migrate(self.pool)
        self.output = directory / "sinks.log"
        self.output.touch()
        self._controls: list[Connection] = []

    def start(self, kill: Kill | None = None, *, member: bool = False) -> PROCESSES.Process:
        """Start a sink."""
        log = None if member else self.log
        spec = SinkSpec(self.kafka.bootstrap, self.topics, self.dsn, self.journal_id, self.output, log, kill)
        control, theirs = PROCESSES.Pipe()
        process = PROCESSES.Process(target=main, args=(spec, theirs), daemon=True)
        process.start()
        theirs.close()
        self._controls.append(control)
        return process

    def close(self) -> None:
        """Tell every sink to end."""
        for control in self._controls:
            control.close()
        self.pool.close()


@pytest.fixture
def sinks(kafka_broker: Kafka, clickhouse: ClickHouse, tmp_path: Path) -> Iterator[Sinks]:
    made = Sinks(kafka_broker, clickhouse, tmp_path)
    yield made
    made.close()


async def remember(sinks: Sinks) -> None:
    """Append to three runs at once, to each in order; delete one in the middle."""
    options = ClientOptions(timeout=90.0, answer_wait=1.0)
    target = KafkaTarget(sinks.kafka, sinks.topics.prefix)
    runs = MemoryReader(MemoryLanes(SystemClock().now, host=True))
    async with RunStore(KafkaTransport(lambda: target, options=options), runs, options=options) as store:

        async def one(run: str) -> None:
            for number in range(APPENDS):
                if run == "r2" and number == APPENDS // 2:
                    await store.memory.delete_run("a", run)
                await store.memory.append_events("a", run, notes(f"{number}.0", f"{number}.1"))

        await asyncio.gather(*map(one, RUNS))


@contextmanager
def remembering(sinks: Sinks) -> Iterator[None]:
    """Let a product work beside what the body does; when it ends every call has been answered."""
    failures: list[BaseException] = []

    def run() -> None:
        try:
            asyncio.run(remember(sinks))
        except BaseException as failure:  # noqa: BLE001 - the test's thread raises it
            failures.append(failure)

    thread = threading.Thread(target=run)
    thread.start()
    yield
    thread.join()
    if failures:
        raise failures[0]


@pytest.mark.parametrize(
    ("point", "kill"), KILLS, ids=lambda value: value.call if isinstance(value, Point) else None
)
def test_a_sink_killed_at_a_port_call_loses_and_doubles_nothing(
    sinks: Sinks, point: Point, kill: Kill
) -> None:
    with remembering(sinks):
        doomed = sinks.start(kill, member=point.member)
        doomed.join(PATIENCE)
        assert doomed.exitcode == -signal.SIGKILL, sinks.output.read_text()
        healer = sinks.start(member=point.member)
    check(sinks)
    assert healer.is_alive(), sinks.output.read_text()


def check(sinks: Sinks) -> None:
    """Every event once and in order, by what a product reads and by what the table holds; whole chains."""
    reader = MemoryTableReader(sinks.pool)
    for run in RUNS:
        first = APPENDS // 2 if run == "r2" else 0
        expected = [f"{number}.{index}" for number in range(first, APPENDS) for index in range(2)]
        events = reader.page("a", run, limit=1_000).events
        assert [read_data(event, PlannerNoteData).note for event in events] == expected
    reader.close()
    appends = sinks.pool.query(
        "SELECT count(), uniqExact(append_key), sum(count) FROM memory_events WHERE kind = 'append'"
    )
    assert [tuple(row) for row in appends] == [(36, 36, 72)]
    for partition in range(sinks.topics.partitions):
        headers = Chains(sinks.pool, MEMORY).headers(partition, 0, 10_000)
        assert [header.number for header in headers] == list(range(len(headers)))
        assert all(after.prev_hash == before.hash for before, after in itertools.pairwise(headers))
