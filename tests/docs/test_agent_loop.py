"""The agent loop of the documentation: killed in a tool call, it goes on and repeats nothing."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from runlane.client import SyncRunStore
from runlane.contract.values import CommittedRecord, RunStatus
from tests.service.commands import PATIENCE, Process, environment, runlane_json

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "agent_loop.py"
pytestmark = pytest.mark.slow


class Trip:
    """The example's processes for one run, and the desk that they share."""

    def __init__(self, data: Path, run_id: str) -> None:
        self.run_id = run_id
        self.desk = data / f"{run_id}.jsonl"
        self._command = [sys.executable, str(EXAMPLE), str(data / "connection.json"), run_id]
        self._command += ["--desk", str(self.desk)]

    def start(self, *more: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*self._command, *more],
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def finish(self) -> str:
        """Run it to its end and return what it prints."""
        process = self.start()
        output, _ = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, output
        return output

    def did(self, what: str) -> list[dict[str, object]]:
        """What the desk noted of one kind."""
        lines = self.desk.read_text().splitlines() if self.desk.exists() else []
        return [line for line in map(json.loads, lines) if line["did"] == what]

    def kill_when(self, what: str, times: int) -> None:
        """Start it with a slow desk, and kill it once the desk has noted this so often."""
        process = self.start("--seconds", "600")
        deadline = time.monotonic() + PATIENCE
        while len(self.did(what)) < times:
            assert process.poll() is None, process.communicate()[0]
            assert time.monotonic() < deadline
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=PATIENCE)
        assert process.returncode == -signal.SIGKILL


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The data folder of a running stack."""
    folder = tmp_path_factory.mktemp("stack")
    with Process("up", "--data", str(folder), "--port", "0") as stack:
        stack.wait_for("Ctrl-C")
        yield folder
        assert runlane_json("verify", "--data", str(folder))["faults"] == []


def records(data: Path, run_id: str) -> tuple[CommittedRecord, ...]:
    with SyncRunStore.from_connection(data / "connection.json") as store:
        assert store.load_run(run_id).status is RunStatus.COMPLETED
        return store.list_run_records(run_id, "", 100).records


def told(data: Path, run_id: str) -> list[tuple[str, str, bytes]]:
    """A run's history without its times, its id read as any other."""
    return [
        (record.type, record.event_key, record.payload.replace(run_id.encode(), b"RUN"))
        for record in records(data, run_id)
    ]


@pytest.mark.parametrize("lives", [2, 3])
def test_a_loop_killed_in_a_tool_call_goes_on_and_repeats_nothing(data: Path, lives: int) -> None:
    trip, whole = Trip(data, f"killed-{lives}"), Trip(data, f"whole-{lives}")
    # In the second call, with its order placed; in later lives again, in the middle of the same call.
    trip.kill_when("order", 1)
    for life in range(2, lives):
        trip.kill_when("call", 1 + life)
    output = trip.finish()

    assert output == whole.finish()
    assert "order 4711" in output
    assert [line["results"] for line in trip.did("model")] == [0, 1, 2]
    assert trip.did("order") == [{"did": "order", "id": f"{trip.run_id}/m-2"}]
    calls = [str(line["id"]) for line in trip.did("call")]
    assert calls.count(f"{trip.run_id}/m-1") == 1
    assert set(calls) == {f"{trip.run_id}/m-1", f"{trip.run_id}/m-2"}
    kept = records(data, trip.run_id)
    assert [record.seq for record in kept] == list(range(1, len(kept) + 1))
    assert len({record.event_key for record in kept}) == len(kept)
    assert told(data, trip.run_id) == told(data, whole.run_id)


def test_a_loop_that_is_done_does_nothing_more(data: Path) -> None:
    trip = Trip(data, "done")
    output = trip.finish()
    before = trip.desk.read_text(), records(data, trip.run_id)
    assert trip.finish() == output
    assert (trip.desk.read_text(), records(data, trip.run_id)) == before


def test_the_page_names_the_example_as_it_is() -> None:
    page = (ROOT / "docs" / "agent-loop.md").read_text()
    assert str(EXAMPLE.relative_to(ROOT)) in page
    assert "--seconds" in EXAMPLE.read_text()
    assert "--seconds" in page
