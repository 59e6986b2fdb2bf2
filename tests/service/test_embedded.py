"""`runlane up` and `demo` as processes: other processes connect, Ctrl-C is clean, a restart goes on."""

import asyncio
import json
import signal
import stat
from pathlib import Path

import pytest

from runlane.client import Connection, RunStore
from runlane.contract.errors import ContractError, SessionNotFound
from runlane.contract.values import RunRecord, RunStatus
from tests.service.commands import PATIENCE, Process, runlane, runlane_json

pytestmark = pytest.mark.slow


def up(data: Path, *more: str) -> Process:
    return Process("up", "--data", str(data), "--port", "0", *more)


def test_the_demo_on_its_own_parts_is_sound() -> None:
    proof = runlane_json("demo")

    assert proof["sound"] is True
    assert proof["second"] == {"written": 0, "repeated": proof["first"]["written"], "known": 1}
    assert [run["status"] for run in proof["runs"]] == [
        "suspended",
        "completed",
        "completed",
        "canceled",
        "canceled",
    ]
    assert proof["verify"]["faults"] == []
    assert proof["verify"]["records"] == proof["first"]["written"] + 2


def test_a_demo_for_people_shows_progress_and_what_was_stored() -> None:
    done = runlane("demo")

    assert "the child run completes" in done.stderr
    assert "28 exact retries, 0 records written" in done.stdout
    assert "0 faults" in done.stdout


async def test_a_stack_serves_other_processes_and_goes_on_after_a_restart(tmp_path: Path) -> None:
    file = tmp_path / "connection.json"
    with up(tmp_path) as stack:
        stack.wait_for("Ctrl-C")
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        async with RunStore.from_connection(file) as store:
            run = await store.run("r1", "agent").__aenter__()
            stored = await run.append("note", {"n": 1})
        first = Connection.load(file)
        assert runlane_json("verify", "--data", str(tmp_path))["faults"] == []
        assert stack.end(signal.SIGINT) == 0
    assert not file.exists()
    offline = runlane_json("verify", "--data", str(tmp_path))
    assert offline["faults"] == []
    assert offline["records"] == 2

    with up(tmp_path) as stack:
        stack.wait_for("Ctrl-C")
        assert Connection.load(file).log_id != first.log_id
        async with RunStore.from_connection(file) as store:
            again = await store.append_run_record(await _record(store, "r1", 2))
            assert (again.id, again.inserted) == (stored.id, False)
            await store.load_run("r1")
        chains = runlane_json("inspect", "chains", "--data", str(tmp_path))
        assert {chain["kind"] for chain in chains} <= {"adopt", "commit"}
        assert runlane_json("verify", "--data", str(tmp_path))["faults"] == []
        assert stack.end(signal.SIGTERM) == 0


async def _record(store: RunStore, run_id: str, seq: int) -> RunRecord:
    page = await store.list_run_records(run_id, str(seq - 1), 1)
    (found,) = page.records
    return RunRecord(
        event_key=found.event_key,
        run_id=found.run_id,
        agent_id=found.agent_id,
        session_id=found.session_id,
        type=found.type,
        payload=found.payload,
        timestamp=found.timestamp,
    )


async def test_a_killed_stack_lost_nothing_it_had_acknowledged(tmp_path: Path) -> None:
    file = tmp_path / "connection.json"
    with up(tmp_path) as stack:
        stack.wait_for("Ctrl-C")
        async with RunStore.from_connection(file) as store:
            async with store.run("r1", "agent") as run:
                for number in range(20):
                    await run.append("note", {"n": number})
            assert stack.end(signal.SIGKILL) == -signal.SIGKILL

    with up(tmp_path) as stack:
        stack.wait_for("Ctrl-C")
        async with RunStore.from_connection(file) as store:
            assert (await store.load_run("r1")).status is RunStatus.COMPLETED
            page = await store.list_run_records("r1", "", 100)
            assert [record.seq for record in page.records] == list(range(1, 23))
        assert runlane_json("verify", "--data", str(tmp_path))["faults"] == []


def test_one_folder_has_one_stack(tmp_path: Path) -> None:
    with up(tmp_path) as stack:
        stack.wait_for("Ctrl-C")

        second = runlane("up", "--data", str(tmp_path), "--port", "0", expect=4)

    assert "data_folder_in_use" in second.stderr


def test_reads_of_a_running_stack(tmp_path: Path) -> None:
    data = ("--data", str(tmp_path))
    with up(tmp_path) as stack:
        stack.wait_for("Ctrl-C")
        proof = runlane_json("demo", *data)
        late = proof["runs"][-1]["run"]
        session = late.rpartition("/")[0]

        tail = runlane("tail", late, *data, "--json").stdout.splitlines()
        whole = runlane("tail", "--session", session, *data).stdout.splitlines()
        rejected = runlane_json("rejected", *data)
        run = runlane_json("inspect", "run", late, *data)
        found = runlane_json("inspect", "session", session, *data)
        blocks = runlane_json("inspect", "blocks", "0", "--from", "0", *data)
        runlane("inspect", "erases", *data)

    assert [json.loads(line)["type"] for line in tail] == ["run_started", "run_completed"]
    assert len(whole) == proof["first"]["written"]
    # A client that waits too long for an answer asks again, and gets another one.
    assert {(one["operation"], one["code"]) for one in rejected} == {("create_session", "session_ended")}
    assert (run["start_outcome"], run["cancellation_reason"]) == ("stop", "session_ended")
    assert len(found["runs"]) == 5
    assert blocks[0]["kind"] == "claim"


async def until_known(file: Path, session: str) -> None:
    """Wait until a session that was announced is created."""
    async with RunStore.from_connection(file) as store, asyncio.timeout(PATIENCE):
        while True:
            try:
                await store.load_session(session)
            except SessionNotFound:
                await asyncio.sleep(0.1)
            else:
                return


async def test_a_told_session_goes_on_until_the_stack_ends(tmp_path: Path) -> None:
    with up(tmp_path, "--demo") as stack:
        line = stack.wait_for("demo: session")
        session = line.rpartition(" ")[2]
        stack.wait_for("Ctrl-C")
        await until_known(tmp_path / "connection.json", session)

        assert stack.end(signal.SIGINT) == 0

    assert "Traceback" not in stack.output
    found = runlane_json("inspect", "session", session, "--data", str(tmp_path))
    assert found["id"] == session


async def test_no_log_line_holds_a_payload(tmp_path: Path) -> None:
    secret = "SECRET-PAYLOAD"
    with Process("up", "--data", str(tmp_path), "--port", "0", LOG_LEVEL="debug") as stack:
        stack.wait_for("Ctrl-C")
        async with RunStore.from_connection(tmp_path / "connection.json") as store:
            async with store.run("r1", "agent") as run:
                await run.append("note", {"text": secret}, event_key="k")
                with pytest.raises(ContractError):
                    await run.append("note", {"text": f"{secret}-other"}, event_key="k")
                await run.suspend("cp", secret.encode())
            await store.load_run_suspension("r1")
        assert stack.end(signal.SIGINT) == 0

    assert secret not in stack.output
    assert '"level":' in stack.output
