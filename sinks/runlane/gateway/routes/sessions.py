"""Sessions, their runs and their records."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query

from runlane.contract.http_models import (
    RecordPageBody,
    RunBody,
    RunsBody,
    SessionBody,
    SessionPageBody,
    SessionStatusBody,
)
from runlane.contract.values import RunStatus, SessionStatus
from runlane.gateway.identity import AuthorizedReader
from runlane.gateway.problems import PROBLEM_RESPONSES
from runlane.gateway.routes.params import Bounds, SessionId, Within

router = APIRouter(prefix="/v1/sessions", tags=["sessions"], responses=PROBLEM_RESPONSES)


@router.get("")
async def list_sessions(
    reader: AuthorizedReader,
    within: Within,
    bounds: Bounds,
    status: Annotated[Literal["active", "ended"] | None, Query(description="in this state")] = None,
) -> SessionPageBody:
    """Return a page of sessions, by id."""
    wanted = SessionStatus(status) if status else None
    return SessionPageBody.of(await reader.list_sessions(wanted, bounds.cursor, bounds.limit, within))


@router.get("/{session_id}")
async def load_session(reader: AuthorizedReader, session_id: SessionId) -> SessionBody:
    """Return one session."""
    return SessionBody.of(await reader.load_session(session_id))


@router.get("/{session_id}/status")
async def load_session_status(reader: AuthorizedReader, session_id: SessionId) -> SessionStatusBody:
    """Return whether a session is active or ended."""
    return SessionStatusBody(status=await reader.load_session_status(session_id))


@router.get("/{session_id}/runs")
async def list_runs_by_session(
    reader: AuthorizedReader,
    session_id: SessionId,
    status: Annotated[list[RunStatus] | None, Query(description="in one of these states")] = None,
) -> RunsBody:
    """Return the runs of a session, in any order."""
    runs = await reader.list_runs_by_session(session_id, tuple(status or ()))
    return RunsBody(runs=[RunBody.of(run) for run in runs])


@router.get("/{session_id}/records")
async def list_session_run_records(
    reader: AuthorizedReader, session_id: SessionId, bounds: Bounds
) -> RecordPageBody:
    """Return a page of the records of all runs of a session, in commit order."""
    return RecordPageBody.of(await reader.list_session_run_records(session_id, bounds.cursor, bounds.limit))
