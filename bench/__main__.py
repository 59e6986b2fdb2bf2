"""The main benchmark, on a real Kafka and the embedded engine; the last line is JSON (docs/benchmarks.md)."""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from collections.abc import Sequence
from multiprocessing import get_context
from pathlib import Path

from bench import backlog, live
from bench.backlog import BacklogFigures
from bench.live import LiveFigures
from bench.stack import kafka
from runlane.kafka import KafkaConfig

BACKLOG_SHARE = 0.25
LIVE_FACTOR = 4
LIVE12_FACTOR = 9


def main() -> None:
    """Run the rounds, print each one's figures, their medians beside the targets, and the JSON line."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--commands", type=int, default=30_000, help="commands of a backlog")
    parser.add_argument("--seconds", type=float, default=10.0, help="seconds of live load a round")
    parser.add_argument(
        "--settle", type=float, default=50.0, help="seconds of live load beforehand, unmeasured"
    )
    parser.add_argument("--rounds", type=int, default=3, help="rounds whose medians are taken")
    options = parser.parse_args()
    backlogs: list[BacklogFigures] = []
    four: list[LiveFigures] = []
    twelve: list[LiveFigures] = []
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        with kafka(place / "kafka") as config:
            for number in range(1, options.rounds + 1):
                backlogs.append(_backlog(config, place / f"backlog-{number}", options.commands))
                print(f"round {number}: {backlogs[-1]}", flush=True)
            live.measure(config, place / "settling", 4, options.settle)
            for number in range(1, options.rounds + 1):
                four.append(live.measure(config, place / f"four-{number}", 4, options.seconds))
                twelve.append(live.measure(config, place / f"twelve-{number}", 12, options.seconds))
                print(f"round {number}: 4 partitions {four[-1]}\n  12 {twelve[-1]}", flush=True)
    _report(backlogs, four, twelve)


def _backlog(config: KafkaConfig, directory: Path, count: int) -> BacklogFigures:
    """Measure in a process of its own, since a process holds one engine directory for good."""
    with get_context("spawn").Pool(1) as pool:
        return pool.apply(backlog.measure, (config, directory, count))


def _report(
    backlogs: Sequence[BacklogFigures], four: Sequence[LiveFigures], twelve: Sequence[LiveFigures]
) -> None:
    both = [*four, *twelve]
    figures = {
        "backlog_per_s": statistics.median(figure.owner_per_s for figure in backlogs),
        "bare_per_s": statistics.median(figure.bare_per_s for figure in backlogs),
        "live_p50_ms": statistics.median(figure.outcome_ms for figure in four),
        "live12_p50_ms": statistics.median(figure.outcome_ms for figure in twelve),
        "insert_p50_ms": statistics.median(figure.insert_ms for figure in both),
        "readback_p50_ms": statistics.median(figure.readback_ms for figure in both),
    }
    share = statistics.median(figure.owner_per_s / figure.bare_per_s for figure in backlogs)
    print(f"backlog: {share:.0%} of the bare limit (target {BACKLOG_SHARE:.0%} or more)")
    for name, rounds, factor in (("4", four, LIVE_FACTOR), ("12", twelve, LIVE12_FACTOR)):
        times = statistics.median(
            figure.outcome_ms / (figure.insert_ms + figure.readback_ms) for figure in rounds
        )
        print(f"live, {name} partitions: {times:.1f} x one insert and read-back (target {factor} or less)")
    print(json.dumps({name: round(value, 1) for name, value in figures.items()}))


if __name__ == "__main__":
    main()
