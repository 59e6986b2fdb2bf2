"""Records and starts for the tests of the client."""

from __future__ import annotations

from runlane.client import RunStore
from runlane.contract.payloads import ChildRunLinked, RunCompleted, RunStarted
from runlane.contract.values import RunRecord, RunStart
from tests.client.scripted import NOW


def record(key: str, *, run: str = "run", session: str = "session", payload: bytes = b"{}") -> RunRecord:
    """An ordinary record."""
    return RunRecord(key, run, "agent", session, "", "planner_note", payload, NOW)


def start_of(run: str = "run", *, session: str = "session", parent: str = "") -> RunStart:
    return RunStart(run, "agent", session, parent_run_id=parent, started_at=NOW)


def started(run: RunStart) -> RunRecord:
    payload = RunStarted(parent_run_id=run.parent_run_id).encode()
    return RunRecord("started", run.run_id, "agent", run.session_id, "", "run_started", payload, NOW)


def canceled(run: RunStart) -> RunRecord:
    payload = RunCompleted.canceled("session_ended").encode()
    return RunRecord("canceled", run.run_id, "agent", run.session_id, "", "run_completed", payload, NOW)


def linked(run: RunStart) -> RunRecord:
    payload = ChildRunLinked(
        tool_name="tool", tool_call_id="call", child_run_id=run.run_id, child_agent_id="agent"
    ).encode()
    return RunRecord(
        f"link-{run.run_id}", run.parent_run_id, "agent", run.session_id, "", "child_run_linked", payload, NOW
    )


async def begin(store: RunStore, run: str = "run", *, session: str = "session") -> None:
    """Create the session and start a root run in it."""
    await store.create_session(session, NOW)
    start = start_of(run, session=session)
    await store.start_root_run(start, started=started(start), canceled=canceled(start))


async def one_shot(store: RunStore, run: str) -> None:
    """Start a sessionless root run."""
    start = start_of(run, session="")
    await store.start_one_shot_run(start, started=started(start))


async def one_shot_child(store: RunStore, run: str, parent: str) -> None:
    """Start a sessionless child run."""
    start = start_of(run, session="", parent=parent)
    await store.start_one_shot_child_run(start, parent_linked=linked(start), started=started(start))
