"""Valid commands of small agent sessions, built by hand."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from runlane.contract.commands import (
    AppendRunRecord,
    ClaimReceipt,
    ClaimRun,
    RecordRunSuspension,
    RecordRunTerminal,
    StartOneShotRun,
    StartRootRun,
)
from runlane.contract.ids import session_lane
from runlane.contract.payloads import RunCompleted, RunStarted, RunSuspended
from runlane.contract.values import RunRecord, RunStart, RunStatus, RunSuspension

AT = datetime(2026, 3, 1, 9, 0, 0, tzinfo=UTC)
AGENT = "agent.sim"


def record(
    run_id: str, session_id: str, key: str, *, type_: str = "planner_note", payload: bytes = b"{}"
) -> RunRecord:
    """A record of the simulated agent."""
    return RunRecord(
        event_key=key,
        run_id=run_id,
        agent_id=AGENT,
        session_id=session_id,
        type=type_,
        payload=payload,
        timestamp=AT,
    )


def claim(run_id: str, session_id: str) -> ClaimRun:
    """The claim of a run for its session's lane."""
    return ClaimRun(run_id, session_lane(session_id))


def start_root(run_id: str, session_id: str, receipt: ClaimReceipt | None) -> StartRootRun:
    """The start of a session's root run."""
    run = RunStart(run_id=run_id, agent_id=AGENT, session_id=session_id, started_at=AT)
    started = record(run_id, session_id, "start", type_="run_started", payload=RunStarted().encode())
    canceled = record(
        run_id,
        session_id,
        "stop",
        type_="run_completed",
        payload=RunCompleted.canceled("session_ended").encode(),
    )
    return StartRootRun(run, started, canceled, receipt)


def start_one_shot(run_id: str) -> StartOneShotRun:
    """The start of a sessionless run."""
    run = RunStart(run_id=run_id, agent_id=AGENT, started_at=AT)
    return StartOneShotRun(
        run, record(run_id, "", "start", type_="run_started", payload=RunStarted().encode())
    )


def append(run_id: str, session_id: str, number: int, after_key: str = "") -> AppendRunRecord:
    """An ordinary record; the number makes key and payload."""
    payload = b'{"Note":"%d"}' % number
    return AppendRunRecord(record(run_id, session_id, f"note/{number}", payload=payload), after_key)


def complete(run_id: str, session_id: str) -> RecordRunTerminal:
    """The successful end of a run."""
    payload = RunCompleted.success().encode()
    return RecordRunTerminal(
        run_id, RunStatus.COMPLETED, record(run_id, session_id, "end", type_="run_completed", payload=payload)
    )


def suspend(run_id: str, session_id: str) -> RecordRunSuspension:
    """A checkpoint of bytes that are no text."""
    payload = RunSuspended(SuspensionID="cp").encode()
    return RecordRunSuspension(
        run_id,
        RunSuspension("cp", b"\x00\xff" + run_id.encode()),
        record(run_id, session_id, "suspend", type_="run_suspended", payload=payload),
    )


def later(seconds: int) -> datetime:
    """A time of the host."""
    return AT + timedelta(seconds=seconds)
