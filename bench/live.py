"""Outcome latency at a steady rate, beside one bare insert and its read-back into the same table.

The owner, the engine and the bare inserts are in one process, the load comes from another. They take turns,
so that the bare figure is taken on the same table, in the same minute, while nothing else runs.
"""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import islice
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final

from bench.stack import CONFIG, RunningOwner, new_topics
from bench.workload import Produced, encoded
from runlane.contract.codec import Codec, outcome_correlation
from runlane.contract.outcomes import AppendResult, Outcome
from runlane.contract.state import NO_CHANGES
from runlane.contract.topics import Topics
from runlane.kafka import Consumer, KafkaConfig, Partition, Producer
from runlane.owner.journal_store import JournalStore
from runlane.store import connect, migrate
from runlane.store.block import BlockHeader, BlockKind, Draft, LogId, seal
from runlane.store.chain import ChainReader
from runlane.store.rows import Answer
from runlane.store.writer import BlockWriter

LANES: Final = 60
RATE: Final = 200
TURNS: Final = 5
WARM_UP: Final = 4.0
_PROBES: Final = 20
_MOST_COMMANDS: Final = 1_000_000
_OTHER_CHAIN: Final = 1_000
"""A partition number that no topic of a benchmark has: the bare inserts' own chain in the same table."""


@dataclass(frozen=True, slots=True)
class LiveFigures:
    """Medians in milliseconds: of outcomes as a client sees them, of a bare insert, of its read-back."""

    outcome_ms: float
    insert_ms: float
    readback_ms: float


@dataclass
class _Load:
    """One client: commands at a steady rate, and how long each outcome took. It has one reply partition."""

    config: KafkaConfig
    topics: Topics
    seconds: list[float] = field(default_factory=list[float])

    def __post_init__(self) -> None:
        self._commands = encoded(LANES, _MOST_COMMANDS, partitions=self.topics.partitions)
        self._waiting: dict[str, float] = {}
        self._producer = Producer(self.config)
        self._consumer = Consumer(self.config)
        self._consumer.assign({Partition(self.topics.outcomes.name, 0): 0})
        self._ended = threading.Event()
        self._listener = threading.Thread(target=self._listen)
        self._listener.start()

    def run(self, seconds: float) -> None:
        """Send commands for a while, each at its time, then wait for the outcomes."""
        commands = list(islice(self._commands, int(seconds * RATE)))
        begun = time.monotonic()
        for number, command in enumerate(commands):
            time.sleep(max(0.0, begun + number / RATE - time.monotonic()))
            self._send(command)
        deadline = time.monotonic() + 30.0
        while self._waiting:
            if time.monotonic() > deadline:
                raise RuntimeError(f"{len(self._waiting)} commands got no outcome")
            time.sleep(0.01)

    def close(self) -> None:
        """End the listener."""
        self._ended.set()
        self._listener.join()
        self._consumer.close()
        self._producer.close()

    def _send(self, command: Produced) -> None:
        self._waiting[outcome_correlation(command.headers)] = time.monotonic()
        self._producer.produce(
            self.topics.commands.name,
            command.value,
            key=command.key,
            headers=command.headers,
            partition=command.partition,
        )
        self._producer.poll()

    def _listen(self) -> None:
        while not self._ended.is_set():
            for message in self._consumer.poll(1_000, 0.05).messages:
                begun = self._waiting.pop(outcome_correlation(message.headers), None)
                if begun is not None:
                    self.seconds.append(time.monotonic() - begun)


def measure(config: KafkaConfig, directory: Path, partitions: int, seconds: float) -> LiveFigures:
    """Measure over ``partitions``, on an empty journal: a warm-up, then turns of load and bare inserts."""
    topics = new_topics(config, partitions)
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(config, topics, str(directory), theirs))
    process.start()
    ours.recv()
    load = _Load(config, topics)
    try:
        load.run(WARM_UP)
        load.seconds.clear()
        _probe(ours)
        probes: list[tuple[float, float]] = []
        for _ in range(TURNS):
            load.run(seconds / TURNS)
            probes += _probe(ours)
    finally:
        load.close()
        ours.send(False)
        process.join()
    return LiveFigures(
        1_000 * statistics.median(load.seconds),
        1_000 * statistics.median(insert for insert, _ in probes),
        1_000 * statistics.median(readback for _, readback in probes),
    )


def _probe(pipe: Connection) -> Sequence[tuple[float, float]]:
    pipe.send(True)
    probes: Sequence[tuple[float, float]] = pipe.recv()
    return probes


def _serve(config: KafkaConfig, topics: Topics, directory: str, pipe: Connection) -> None:
    """Run an owner; do bare inserts when asked to."""
    pool = connect(f"chdb://{directory}")
    journal_id = migrate(pool)
    store = JournalStore(pool, journal_id, max_execution=CONFIG.bounds.max_execution)
    running = RunningOwner(config, topics, store)
    running.wait_until_open()
    pipe.send(None)
    writer, reader = BlockWriter(pool, journal_id), ChainReader(pool)
    head: BlockHeader | None = None
    while pipe.recv():
        probes: list[tuple[float, float]] = []
        for _ in range(_PROBES):
            head, *seconds = _bare(writer, reader, head)
            probes.append((seconds[0], seconds[1]))
        pipe.send(probes)
    running.stop()
    pool.close()


def _bare(
    writer: BlockWriter, reader: ChainReader, head: BlockHeader | None
) -> tuple[BlockHeader, float, float]:
    """Insert a block of one command and read it back; return its header and the seconds that each took."""
    end = reader.end(_OTHER_CHAIN)
    number = 0 if head is None else head.number + 1
    name = f"{number:08d}"
    outcome = Outcome(name, _OTHER_CHAIN, number, number, AppendResult("1", True), None)
    answer = Answer(number, "r/bare", name, 0, "append_run_record", "", Codec().encode_outcome(outcome))
    block = seal(
        Draft(
            partition=_OTHER_CHAIN,
            generation=0,
            kind=BlockKind.COMMIT,
            epoch=1,
            nonce="bare",
            logic_version=1,
            log=LogId("bare", "bare"),
            base=0,
            partition_count=1,
            last=number,
            tip_digest=b"",
            watermark=-1,
            time=end.time,
            commands=((answer, NO_CHANGES),),
        ),
        head,
    )
    begun = time.monotonic()
    writer.insert(block, end.time + timedelta(minutes=1))
    inserted = time.monotonic()
    tip = reader.tips({_OTHER_CHAIN: number})[_OTHER_CHAIN]
    seen = time.monotonic()
    if tip.hash != block.header.hash:
        raise RuntimeError("a bare block is not in the journal")
    return block.header, inserted - begun, seen - inserted
