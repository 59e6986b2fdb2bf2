"""The feed of `runlane up`: a process beside it, which ends when the stack does, however that ends."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import httpx2
import pytest

from runlane.client import Connection
from runlane.contract.stream import StreamEvent, decode_event
from runlane.kafka import Admin, Consumer, KafkaConfig, Partition
from runlane.service.embedded import feed_process
from runlane.service.embedded.feed_process import FeedProcess
from tests.e2e.stack import PATIENCE, wait_for
from tests.service.commands import Process

TOPIC = "runlane.stream"


def feeds(up: Process) -> list[int]:
    """The feeds of a running stack; a thread of it starts them."""
    tasks = Path(f"/proc/{up.pid}/task").iterdir()
    found = [int(one) for task in tasks for one in (task / "children").read_text().split()]
    return [one for one in found if b"feed_process" in Path(f"/proc/{one}/cmdline").read_bytes()]


def windows(connection: Connection) -> list[dict[str, Any]]:
    headers = {"Authorization": f"Bearer {connection.tokens.worker}"}
    return list(
        httpx2.get(f"{connection.api}/v1/activity", headers=headers, timeout=PATIENCE).json()["windows"]
    )


def streamed(connection: Connection) -> list[StreamEvent]:
    kafka = KafkaConfig(connection.kafka)
    with Consumer(kafka) as consumer:
        places = [Partition(TOPIC, number) for number in range(Admin(kafka).partition_counts()[TOPIC])]
        ends = {place: consumer.watermarks(place, PATIENCE)[1] for place in places}
        consumer.assign(dict.fromkeys(places, 0))
        found: list[StreamEvent] = []
        while len(found) < sum(ends.values()):
            found += [decode_event(message.value or b"") for message in consumer.poll(500, 0.2).messages]
        return found


@pytest.mark.slow
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
def test_a_stack_feeds_stream_and_page_and_leaves_no_feed_behind(tmp_path: Path, end: signal.Signals) -> None:
    with Process("up", "--demo", "--data", str(tmp_path), "--port", "0") as up:
        up.wait_for("stack runs")
        connection = Connection.load(tmp_path / "connection.json")
        wait_for(lambda: windows(connection), "the agents' windows are served")
        wait_for(lambda: {one.type for one in streamed(connection)} > {"tool_start"}, "events are there")
        ready = f"{connection.api}/readyz"
        wait_for(lambda: httpx2.get(ready, timeout=PATIENCE).json()["ok"], "the stack is ready")
        (feed,) = feeds(up)
        code = up.end(end)
        wait_for(lambda: not Path(f"/proc/{feed}").exists(), "the feed has ended")

    assert code == (0 if end is signal.SIGTERM else -signal.SIGKILL)


@pytest.mark.parametrize(
    ("lasted", "pauses"),
    [
        ([0.5] * 7, [1, 2, 4, 8, 16, 30, 30]),
        ([0.5, 0.5, 0.5, 59.9, 60.0, 0.5], [1, 2, 4, 8, 1, 2]),
    ],
)
def test_a_feed_that_keeps_dying_is_started_ever_later_until_one_has_lived(
    monkeypatch: pytest.MonkeyPatch, lasted: list[float], pauses: list[float]
) -> None:
    now, waited, lives = 0.0, [], iter(lasted)
    feed = FeedProcess({})

    def live_and_die() -> int | None:
        nonlocal now
        seconds = next(lives, None)
        now += seconds or 0.0
        return None if seconds is None else 4

    monkeypatch.setattr(feed_process.time, "monotonic", lambda: now)
    monkeypatch.setattr(feed, "_run_once", live_and_die)
    monkeypatch.setattr(feed._leaving, "wait", waited.append)
    feed._keep()

    assert waited == pauses
    assert feed.faults() == {"feed": "it ended with exit code 4"}
