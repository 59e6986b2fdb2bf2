"""Commands a second of one owner over a backlog, beside the bare limit: the same traffic, nothing decided.

The bare limit consumes the same commands, inserts the very rows of the owner's blocks, block by block, into a
table of the same making with as many inserts at a time, and produces the very messages. It checks nothing and
reads nothing back. An owner decides a smaller backlog first, so that both find broker and engine warm.
"""

from __future__ import annotations

import time
from base64 import b64decode
from collections import deque
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import confluent_kafka

from bench.stack import CONFIG, PATIENCE, RunningOwner, new_topics, produce
from bench.workload import encoded
from runlane.contract.codec import Headers, encode_record, outcome_headers, record_headers
from runlane.contract.topics import Topics
from runlane.kafka import KafkaConfig
from runlane.owner.journal_store import JournalStore
from runlane.store import connect, migrate
from runlane.store.block import SealedBlock
from runlane.store.engine import ClientPool
from runlane.store.flight import InsertReport
from runlane.store.rows import COLUMNS, Columns
from runlane.store.tables import JOURNAL, ChainTable
from runlane.store.values import RECORD_COLUMNS, record_of
from runlane.store.writer import BlockWriter

LANES: Final = 200
PARTITIONS: Final = 4
_BARE: Final = ChainTable("bare", JOURNAL.columns, JOURNAL.types)
_FETCH: Final = 1_000
_WARM_UP: Final = 10_000


@dataclass(frozen=True, slots=True)
class BacklogFigures:
    """Commands a second, and how many commands a block of the owner held."""

    owner_per_s: float
    bare_per_s: float
    commands_a_block: float


@dataclass(frozen=True, slots=True)
class Block:
    """One of the owner's blocks, as the bare limit writes and sends it."""

    partition: int
    commands: int
    columns: Columns
    messages: tuple[tuple[str, int, bytes | None, bytes, Headers], ...]


class KeepingStore(JournalStore):
    """A journal that keeps the columns of what is inserted."""

    def __init__(self, pool: ClientPool, journal_id: str) -> None:
        super().__init__(pool, journal_id, max_execution=CONFIG.bounds.max_execution)
        self.kept: list[tuple[int, int, Columns]] = []

    def insert(self, block: SealedBlock, not_after: datetime) -> InsertReport:
        """As ``StorePort.insert``."""
        if block.header.commands:
            self.kept.append((block.header.partition, block.header.commands, block.columns))
        return super().insert(block, not_after)


def measure(config: KafkaConfig, directory: Path, count: int) -> BacklogFigures:
    """Measure both over one backlog of ``count`` commands, on an empty journal; once a process."""
    pool = connect(f"chdb://{directory}")
    journal_id = migrate(pool)
    _warm_up(config, pool, journal_id)
    topics = _backlog(config, count)
    store = KeepingStore(pool, journal_id)
    owner = owner_pass(config, topics, store, count)
    pool.command("CREATE TABLE bare AS journal")
    blocks = [_block(topics, *kept) for kept in store.kept]
    bare = _bare_pass(config, topics, pool, blocks)
    pool.close()
    return BacklogFigures(count / owner, count / bare, count / len(blocks))


def _warm_up(config: KafkaConfig, pool: ClientPool, journal_id: str) -> None:
    """Let an owner decide a backlog first: the bare limit finds broker and engine warm, so must the owner."""
    store = JournalStore(pool, journal_id, max_execution=CONFIG.bounds.max_execution)
    owner_pass(config, _backlog(config, _WARM_UP), store, _WARM_UP)
    pool.command("TRUNCATE TABLE journal SYNC")


def _backlog(config: KafkaConfig, count: int) -> Topics:
    """Return new topics with ``count`` commands."""
    topics = new_topics(config, PARTITIONS)
    produce(config, topics, encoded(LANES, count, partitions=PARTITIONS, replies=PARTITIONS))
    return topics


def owner_pass(config: KafkaConfig, topics: Topics, store: JournalStore, count: int) -> float:
    """Return the seconds from an owner's taking over until every outcome and record has arrived."""
    running = RunningOwner(config, topics, store)
    running.wait_until_open()
    begun = time.monotonic()
    running.wait_for_commands(count)
    seconds = time.monotonic() - begun
    running.stop()
    return seconds


def _bare_pass(config: KafkaConfig, topics: Topics, pool: ClientPool, blocks: list[Block]) -> float:
    """Return the seconds that consuming, inserting and producing take by themselves."""
    consumer = confluent_kafka.Consumer(
        config.options() | {"group.id": f"{topics.prefix}bare", "enable.auto.commit": False}
    )
    name = topics.commands.name
    consumer.assign([confluent_kafka.TopicPartition(name, number, 0) for number in range(PARTITIONS)])
    producer = confluent_kafka.Producer(
        config.options()
        | {"enable.idempotence": True, "linger.ms": 1, "queue.buffering.max.messages": 1_000_000}
    )
    writer = BlockWriter(pool, "bare", table=_BARE)
    begun = time.monotonic()
    with ThreadPoolExecutor(CONFIG.bounds.inserts_in_flight) as workers:
        for block in _inserted(consumer, writer, workers, blocks):
            for topic, partition, key, value, headers in block.messages:
                producer.produce(topic, value, key, partition, headers=headers)  # type: ignore[arg-type]
            producer.poll(0)
    if producer.flush(PATIENCE):
        raise RuntimeError("the broker did not take every message")
    seconds = time.monotonic() - begun
    consumer.close()
    return seconds


def _inserted(
    consumer: confluent_kafka.Consumer, writer: BlockWriter, workers: ThreadPoolExecutor, blocks: list[Block]
) -> Iterator[Block]:
    """Yield each block once its commands are consumed and its rows are in."""
    waiting = deque(enumerate(blocks))
    consumed = [0] * PARTITIONS
    running: dict[Future[None], Block] = {}
    while waiting or running:
        while waiting and len(running) < CONFIG.bounds.inserts_in_flight:
            number, block = waiting[0]
            if consumed[block.partition] < block.commands:
                break
            waiting.popleft()
            consumed[block.partition] -= block.commands
            not_after = datetime.now(UTC) + timedelta(minutes=1)
            future = workers.submit(writer.insert_columns, block.columns, f"bare/{number}", not_after)
            running[future] = block
        for message in consumer.consume(_FETCH, 0 if running else 0.05):
            consumed[message.partition() or 0] += message.error() is None
        if running:
            done, _ = wait(running, 0.001, FIRST_COMPLETED)
            for future in done:
                future.result()
                yield running.pop(future)


def _block(topics: Topics, partition: int, commands: int, columns: Columns) -> Block:
    """Return a kept block with the messages that the owner sent of it, encoded before the clock starts."""
    messages: list[tuple[str, int, bytes | None, bytes, Headers]] = []
    for values in zip(*columns, strict=True):
        row: dict[str, Any] = dict(zip(COLUMNS, values, strict=True))
        if row["kind"] == "answer":
            headers = outcome_headers(row["correlation_id"])
            messages.append((topics.outcomes.name, row["reply"], None, b64decode(row["body"]), headers))
        elif row["kind"] == "record":
            record = record_of({name: row[name] for name in RECORD_COLUMNS} | {"body": row["body"].encode()})
            headers = record_headers(record.lane_seq)
            messages.append(
                (topics.records.name, partition, record.lane.encode(), encode_record(record), headers)
            )
    return Block(partition, commands, columns, tuple(messages))
