"""200 viewers of one session at 50 records a second: `python -m bench.viewers` (docs/benchmarks.md).

An embedded stack, one gateway and the viewers are processes of their own. Times run from the moment the owner
hands a committed record to Kafka, which stamps it, to the arrival of its bytes. The last line is JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import urlsplit

import confluent_kafka

from bench.audience import Audience, Plan, Report
from runlane.client import Connection, RunStore
from runlane.contract.codec import record_lane_seq
from runlane.contract.ids import session_lane

RUNS: Final = 5
RATE: Final = 50.0
PAIRS: Final = 5
TOKEN: Final = "bench-token-0123456789"
READY_SECONDS: Final = 120.0
_COMMAND: Final = "from runlane.service.cli import main; main()"


@dataclass(frozen=True, slots=True)
class Round:
    """Milliseconds from commit to viewer, viewers with a wrong history, the gateway's peak memory."""

    p50: float
    p99: float
    wrong: int
    reconnects: int
    lagged: int
    peak_mib: float


@dataclass
class Bench:
    """A running stack and gateway."""

    connection: Connection
    file: Path
    port: int
    gateway: int
    rounds: int = field(default=0)

    def round(self, plan: Plan) -> Round:
        """Write while an audience watches, then compare what each viewer saw with the store."""
        self.rounds += 1
        with Stamps(self.connection, f"viewed-{self.rounds}") as stamps:
            expected, report = asyncio.run(self._round(plan, f"viewed-{self.rounds}"))
            stamps.wait_for(expected[-1])
        times = [(at - stamps.times[number]) * 1000 for number, at in report.arrivals]
        cuts = statistics.quantiles(times, n=100)
        wrong = sum(seen != expected for seen in report.histories)
        peak = memory(self.gateway, "VmHWM")
        return Round(cuts[49], cuts[98], wrong, report.reconnects, report.lagged, peak)

    async def _round(self, plan: Plan, session: str) -> tuple[list[int], Report]:
        async with RunStore.from_connection(self.file) as store:
            await store.create_session(session, datetime.now(UTC).replace(microsecond=0))
            names = [f"{session}-{number}" for number in range(RUNS)]
            runs = [await store.run(name, "agent", session_id=session).__aenter__() for name in names]
            known = await _numbers(store, session)
            ours, theirs = get_context("spawn").Pipe()
            audience = Audience(plan, self.port, TOKEN, session, known[-1])
            process = get_context("spawn").Process(target=audience.serve, args=(theirs,))
            process.start()
            ready = await asyncio.to_thread(ours.recv)
            assert ready == "ready"
            begun = time.monotonic()
            for number in range(int(plan.seconds * RATE)):
                await asyncio.sleep(max(0.0, begun + number / RATE - time.monotonic()))
                await runs[number % RUNS].post("planner_note", {"Note": f"note {number} " + "x" * 200})
            for run in runs:
                await run.__aexit__(None, None, None)
            expected = await _numbers(store, session)
            ours.send(expected[-1])
            report: Report = await asyncio.to_thread(ours.recv)
            process.join()
            return expected, report


async def _numbers(store: RunStore, session: str) -> list[int]:
    """Return every ``lane_seq`` that the session's history holds."""
    numbers: list[int] = []
    cursor = ""
    while not numbers or cursor:
        page = await store.list_session_run_records(session, cursor, 1000)
        numbers += [record.lane_seq for record in page.records]
        cursor = page.next_cursor
    return numbers


class Stamps:
    """When the owner handed each record of a session to Kafka."""

    def __init__(self, connection: Connection, session: str) -> None:
        self.times: dict[int, float] = {}
        self._lane = session_lane(session).encode()
        self._topic = f"{connection.topic_prefix}records"
        options: dict[str, Any] = {"bootstrap.servers": connection.kafka, "group.id": "stamps"}
        self._consumer = confluent_kafka.Consumer(options | {"fetch.wait.max.ms": 50})
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._read)

    def __enter__(self) -> Self:
        topic = self._consumer.list_topics(self._topic, 10).topics[self._topic]
        places = [confluent_kafka.TopicPartition(self._topic, number, 0) for number in topic.partitions]
        self._consumer.assign(places)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()
        self._consumer.close()

    def wait_for(self, number: int) -> None:
        """Wait until the stamp of ``number`` is there."""
        wait_for(lambda: number in self.times)

    def _read(self) -> None:
        while not self._stop.is_set():
            for message in self._consumer.consume(500, 0.1):
                if message.error() is None and message.key() == self._lane:
                    headers: Any = message.headers()
                    number = record_lane_seq(headers)
                    assert number is not None
                    self.times.setdefault(number, message.timestamp()[1] / 1000)


@contextmanager
def bench(directory: Path) -> Generator[Bench]:
    """Run an embedded stack, and a gateway over its broker and its engine."""
    file = directory / "data" / "connection.json"
    with running("up", "--data", str(file.parent), "--port", "0"):
        wait_for(file.exists)
        connection = Connection.load(file)
        with socket.create_server(("127.0.0.1", 0)) as free:
            port: int = free.getsockname()[1]
        engine = urlsplit(connection.clickhouse).netloc
        settings = {
            "RUNLANE_KAFKA": connection.kafka,
            "RUNLANE_CLICKHOUSE": f"http://default:{connection.clickhouse_password}@{engine}/default",
            "RUNLANE_WORKER_TOKEN": TOKEN,
            "RUNLANE_LISTEN": f"127.0.0.1:{port}",
        }
        with running("gateway", **settings) as gateway:
            wait_for(lambda: answers(port))
            yield Bench(connection, file, port, gateway)


@contextmanager
def running(*command: str, **settings: str) -> Generator[int]:
    """Run one `runlane` command; yields its process id."""
    arguments = [sys.executable, "-c", _COMMAND, *command]
    process = subprocess.Popen(arguments, env={**os.environ, **settings}, stderr=subprocess.DEVNULL)
    try:
        yield process.pid
    finally:
        process.terminate()
        process.wait()


def wait_for(condition: Callable[[], bool]) -> None:
    """Wait for something that must become true."""
    deadline = time.monotonic() + READY_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            raise RuntimeError("a part did not start, or took too long")
        time.sleep(0.05)


def answers(port: int) -> bool:
    """Whether somebody listens."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def memory(process: int, name: str) -> float:
    """Return a process's memory in MiB: `VmRSS` now, `VmHWM` at its most."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name)) / 1024


def main() -> None:
    """Run the rounds, print each one's figures and the JSON line."""
    parser = argparse.ArgumentParser(prog="python -m bench.viewers", description=__doc__)
    parser.add_argument("--viewers", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=10.0, help="seconds of load a round")
    parser.add_argument("--pairs", type=int, default=PAIRS, help="pairs without and with a stalled viewer")
    parser.add_argument("--reconnects", type=int, default=1000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory, bench(Path(directory)) as running_bench:
        watching = Plan(options.viewers, seconds=options.seconds)
        running_bench.round(Plan(1, seconds=1.0))
        base = memory(running_bench.gateway, "VmRSS")
        pairs: list[tuple[Round, Round]] = []
        for number in range(options.pairs):
            stalled = Plan(options.viewers, stalled=1, seconds=options.seconds)
            pairs.append((running_bench.round(watching), running_bench.round(stalled)))
            print(f"pair {number + 1}: {pairs[-1][0]}\n  beside a stalled viewer {pairs[-1][1]}", flush=True)
        leaving = Plan(options.viewers, reconnects=options.reconnects, seconds=2 * options.seconds)
        returned = running_bench.round(leaving)
        print(f"reconnects: {returned}")
    _report(pairs, returned, base)


def _report(pairs: Sequence[tuple[Round, Round]], returned: Round, base: float) -> None:
    calm = [round_ for round_, _ in pairs]
    figures = {
        "viewers_p50_ms": statistics.median(one.p50 for one in calm),
        "viewers_p99_ms": statistics.median(one.p99 for one in calm),
        "stalled_ratio": statistics.median(stalled.p99 / one.p99 for one, stalled in pairs),
        "wrong": sum(one.wrong + stalled.wrong for one, stalled in pairs),
        "wrong_after_reconnects": returned.wrong,
        "memory_mib": returned.peak_mib - base,
    }
    print(json.dumps({name: round(value, 2) for name, value in figures.items()}))


if __name__ == "__main__":
    main()
