"""An owner's memory after a million commands, beside the same inserts without an owner.

Both run in new processes: one owns four partitions of a real Kafka, the other writes blocks of the same size
with such rows and keeps nothing. Resident memory is sampled in the process itself. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final

from bench.fill import Filler
from bench.stack import CONFIG, RunningOwner, kafka, new_topics, produce
from bench.workload import append, commands, produced
from runlane.contract.commands import Command
from runlane.contract.topics import Topics
from runlane.kafka import KafkaConfig
from runlane.owner.journal_store import JournalStore
from runlane.store import connect, migrate

COMMANDS: Final = 1_000_000
TARGET_MB: Final = 300
TARGET_GROWTH: Final = 0.05
PARTITIONS: Final = 4
_LANES: Final = 200
_RECORDS: Final = 500
_AHEAD: Final = 50_000
_SAMPLE_SECONDS: Final = 0.25
_MB: Final = 1024 * 1024


@dataclass
class Samples:
    """Resident megabytes over the commands done so far."""

    points: list[tuple[int, float]] = field(default_factory=list[tuple[int, float]])

    def at(self, first: float, last: float) -> float:
        """Return the median between two shares of the commands, 0 to 1."""
        total = self.points[-1][0]
        return statistics.median(mb for done, mb in self.points if first * total <= done <= last * total)

    @property
    def growth(self) -> float:
        """How much more the last quarter holds than the one before, as a share."""
        return self.at(0.75, 1.0) / self.at(0.5, 0.75) - 1


def main() -> None:
    """Run both and print the memory of each; an owner's is that of its last tenth."""
    parser = argparse.ArgumentParser(prog="python -m bench.memory", description=__doc__)
    parser.add_argument("--commands", type=int, default=COMMANDS, help="commands, in steps of 50,000")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        with kafka(place / "kafka") as config:
            owner, blocks = _owned(config, str(place / "owner"), options.commands)
        bare = _bare(str(place / "bare"), options.commands, options.commands // blocks)
    owner_mb, bare_mb = owner.at(0.9, 1.0), bare.at(0.9, 1.0)
    print(f"the owner wrote {blocks} blocks; targets: {TARGET_MB} MB above the bare inserts or less,")
    print(f"the last half flat within {TARGET_GROWTH:.0%}")
    print(
        json.dumps(
            {
                "owner_mb": round(owner_mb, 1),
                "bare_mb": round(bare_mb, 1),
                "above_mb": round(owner_mb - bare_mb, 1),
                "last_half_growth": round(owner.growth, 3),
            }
        )
    )


def traffic(count: int) -> Iterator[tuple[str, Command]]:
    """Yield ``count`` commands: lanes come, write their records side by side, and go."""
    wave = 0
    while count > 0:
        size = min(count, _LANES * _RECORDS)
        yield from commands(_LANES, size, prefix=f"wave-{wave:04d}")
        wave, count = wave + 1, count - size


def _owned(config: KafkaConfig, directory: str, count: int) -> tuple[Samples, int]:
    topics = new_topics(config, PARTITIONS)
    ours, process = _start(_own, config, topics, directory)
    todo = (
        produced(lane, command, number, partitions=PARTITIONS, replies=PARTITIONS)
        for number, (lane, command) in enumerate(traffic(count))
    )
    sent = 0
    while step := list(islice(todo, _AHEAD)):
        produce(config, topics, step)
        sent += len(step)
        # The next step is produced while the last half of this one is decided.
        ours.send(sent - _AHEAD // 2)
        ours.recv()
    ours.send(count)
    ours.recv()
    ours.send(None)
    samples, blocks = ours.recv()
    process.join()
    return samples, blocks


def _own(config: KafkaConfig, topics: Topics, directory: str, pipe: Connection) -> None:
    """Own until told otherwise; answer each number of commands when that many are committed."""
    pool = connect(f"chdb://{directory}")
    store = JournalStore(pool, migrate(pool), max_execution=CONFIG.bounds.max_execution)
    running = RunningOwner(config, topics, store)
    stats = running.owner.stats
    with _Sampler(lambda: stats.commands) as samples:
        while (wanted := pipe.recv()) is not None:
            running.wait_for_commands(wanted)
            pipe.send(True)
    running.stop()
    pipe.send((samples, stats.blocks))
    pool.close()


def _bare(directory: str, count: int, block: int) -> Samples:
    ours, process = _start(_insert, directory, count, block)
    samples: Samples = ours.recv()
    process.join()
    return samples


def _insert(directory: str, count: int, block: int, pipe: Connection) -> None:
    """Write as many rows in blocks of the same size."""
    filler = Filler(directory)
    done = 0

    def rows() -> Iterator[tuple[str, Command]]:
        for number, (lane, _) in enumerate(traffic(count)):
            yield lane, append(lane[2:], number)

    todo = rows()
    with _Sampler(lambda: done) as samples:
        while step := list(islice(todo, block)):
            filler.append(step)
            done += len(step)
    filler.pool.close()
    pipe.send(samples)


class _Sampler:
    """Samples this process's resident memory in a thread, until left."""

    def __init__(self, done: Callable[[], int]) -> None:
        self._done = done
        self._samples = Samples()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Samples:
        self._thread.start()
        return self._samples

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._ended.is_set():
            self._samples.points.append((self._done(), _resident_mb()))
            self._ended.wait(_SAMPLE_SECONDS)


def _resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * 4096 / _MB


def _start(target: Callable[..., None], *arguments: Any) -> tuple[Connection, Any]:
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=target, args=(*arguments, theirs))
    process.start()
    return ours, process


if __name__ == "__main__":
    main()
