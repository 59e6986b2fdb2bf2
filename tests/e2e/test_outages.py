"""The database and the broker go away under load and come back: nothing is lost or doubled, memory is bound.

Nobody helps: the owner that was there before goes on by itself.
"""

from __future__ import annotations

import asyncio
import itertools
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from runlane.client import ClientOptions, RunStore
from runlane.contract.codec import command_headers, encode_command
from runlane.contract.commands import AppendRunRecord
from runlane.contract.ids import run_lane
from runlane.owner.config import MIB
from tests.e2e.checks import check_acknowledged, check_world
from tests.e2e.operating import Stranger
from tests.e2e.stack import FAST, ClickHouse, World, wait_for
from tests.e2e.workload import Ledger, note, one_shot, start_of
from tests.harness.kafka import Kafka, KafkaBroker

pytestmark = [pytest.mark.kafka, pytest.mark.long, pytest.mark.guarantee("G1")]

PARTITIONS = 2
OUTAGE_SECONDS = 30.0
SECONDS = 180.0
WORKERS = 20
FLOODED = "flooded"
FLOOD = 2_500
FLOOD_BYTES = 40_000
SMALL = replace(FAST, cache_bytes=32 * MIB, pending_bytes=8 * MIB, outbox_bytes=8 * MIB, batch_bytes=4 * MIB)
FETCHED_BYTES = 16 * MIB
"""What the consumer holds before it is polled."""
CAPS = (
    SMALL.cache_bytes
    + FETCHED_BYTES
    + PARTITIONS * (SMALL.pending_bytes + SMALL.outbox_bytes + SMALL.batch_bytes)
)
ALLOWANCE = 100 * MIB
PATIENT = ClientOptions(timeout=180.0, answer_wait=2.0)


@contextmanager
def load(world: World) -> Iterator[Ledger]:
    """Let clients work until the body has ended; then each of them has been answered."""
    ending = threading.Event()
    failures: list[BaseException] = []
    ledger = Ledger()

    async def worker(store: RunStore, number: int) -> None:
        for count in itertools.count():
            if ending.is_set():
                return
            await one_shot(store, ledger, f"w-{number}-{count}")

    async def everyone() -> None:
        asyncio.get_running_loop().set_exception_handler(ledger.hear)
        async with world.client(options=PATIENT) as store:
            run, started, _ = start_of(FLOODED)
            result = await store.start_one_shot_run(run, started=started)
            ledger.note((FLOODED, "start"), result.record)
            await asyncio.gather(*(worker(store, number) for number in range(WORKERS)))

    def run() -> None:
        try:
            asyncio.run(everyone())
        except BaseException as failure:  # noqa: BLE001 - the test's thread raises it
            failures.append(failure)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield ledger
    finally:
        ending.set()
        thread.join()
    if failures:
        raise failures[0]


def goes_on(ledger: Ledger, what: str) -> None:
    """Wait until clients have been told of so many more records that all of them must be at work."""
    known = len(ledger.records)
    wait_for(lambda: len(ledger.records) > known + 10 * WORKERS, what, seconds=SECONDS)


def flood(world: World, ledger: Ledger) -> None:
    """Send appends without waiting for their answers, far more than an owner may hold in memory."""
    key = run_lane(FLOODED).encode()
    stranger = Stranger(world)
    for number in range(FLOOD):
        record = note(FLOODED, f"flood-{number}", size=FLOOD_BYTES)
        stranger.queue(key, encode_command(AppendRunRecord(record)), command_headers(f"flood-{number}", 0))
        ledger.records[FLOODED, record.event_key] = number + 2
    stranger.flush()


def flood_answered(world: World) -> bool:
    """Whether the flood is all in the journal."""
    ((count,),) = world.pool.query(
        "SELECT count() FROM journal WHERE kind = 'answer' AND correlation_id LIKE 'flood-%'"
    )
    return int(count) == FLOOD


@contextmanager
def at_work(kafka: Kafka, clickhouse: ClickHouse, directory: Path) -> Iterator[tuple[World, Ledger]]:
    """A world with an owner and clients at work, all of whose answers are in the journal in the end."""
    with World(kafka.bootstrap, clickhouse, directory, partitions=PARTITIONS) as world:
        world.owner(bounds=SMALL)
        with load(world) as ledger:
            goes_on(ledger, "the clients are at work")
            yield world, ledger
        owner = world.owners[-1]
        peak = owner.ask("peak_rss")
        owner.stop()
        assert peak <= CAPS + ALLOWANCE
        check_acknowledged(world, ledger)
        check_world(world)


def test_clickhouse_is_away_for_half_a_minute(
    kafka_broker: Kafka, clickhouse: ClickHouse, tmp_path: Path
) -> None:
    with at_work(kafka_broker, clickhouse, tmp_path) as (world, ledger):
        clickhouse.kill()
        back_at = time.monotonic() + OUTAGE_SECONDS
        flood(world, ledger)
        time.sleep(max(0.0, back_at - time.monotonic()))
        assert set(world.owners[-1].ask("phases").values()) == {"open"}
        clickhouse.start()
        goes_on(ledger, "the owner resumes")
        wait_for(lambda: flood_answered(world), "the flood is decided", seconds=SECONDS)


def test_the_broker_is_restarted_and_killed(
    own_kafka_broker: KafkaBroker, clickhouse: ClickHouse, tmp_path: Path
) -> None:
    with at_work(own_kafka_broker, clickhouse, tmp_path) as (_, ledger):
        own_kafka_broker.restart()
        goes_on(ledger, "the owner resumes after a restart")
        own_kafka_broker.kill()
        own_kafka_broker.start()
        goes_on(ledger, "the owner resumes after a kill")


def test_an_owner_that_is_stopped_while_the_broker_is_away_ends(
    own_kafka_broker: KafkaBroker, clickhouse: ClickHouse, tmp_path: Path
) -> None:
    with at_work(own_kafka_broker, clickhouse, tmp_path) as (world, ledger):
        own_kafka_broker.kill()
        world.owners[-1].stop()
        own_kafka_broker.start()
        world.owner(bounds=SMALL)
        goes_on(ledger, "another owner goes on")
