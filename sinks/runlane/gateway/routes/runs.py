"""Runs, their records, their checkpoint, and the search over all of them."""

from dataclasses import replace
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Query

from runlane.contract.http_models import RecordPageBody, RunBody, RunPageBody, SuspensionBody
from runlane.contract.reader import RunQuery
from runlane.contract.values import RunStatus
from runlane.gateway.identity import AuthorizedReader
from runlane.gateway.problems import PROBLEM_RESPONSES
from runlane.gateway.routes.params import Bounds, RunId, Within, aware, parse_labels

router = APIRouter(prefix="/v1/runs", tags=["runs"], responses=PROBLEM_RESPONSES)


def _run_filter(
    *,
    status: Annotated[list[RunStatus] | None, Query(description="in one of these states")] = None,
    agent: Annotated[str, Query(description="of this agent")] = "",
    session: Annotated[str, Query(description="of this session")] = "",
    label: Annotated[list[str] | None, Query(description="`key=value`; all must match")] = None,
    started_from: Annotated[datetime | None, Query(alias="from", description="started then or later")] = None,
    started_until: Annotated[datetime | None, Query(alias="until", description="started before then")] = None,
) -> RunQuery:
    return RunQuery(
        statuses=tuple(status or ()),
        agent_id=agent,
        session_id=session,
        labels=parse_labels(label or []),
        started_from=aware(started_from, "from"),
        started_until=aware(started_until, "until"),
    )


@router.get("")
async def search_runs(
    reader: AuthorizedReader,
    wanted: Annotated[RunQuery, Depends(_run_filter)],
    within: Within,
    bounds: Bounds,
) -> RunPageBody:
    """Find runs, newest first. The search may lag by a moment: `as_of` is the commit time it reflects."""
    query = replace(wanted, scope=within, cursor=bounds.cursor, limit=bounds.limit)
    return RunPageBody.of(await reader.search_runs(query))


@router.get("/{run_id}")
async def load_run(reader: AuthorizedReader, run_id: RunId) -> RunBody:
    """Return one run."""
    return RunBody.of(await reader.load_run(run_id))


@router.get("/{run_id}/suspension")
async def load_run_suspension(reader: AuthorizedReader, run_id: RunId) -> SuspensionBody:
    """Return the checkpoint of a suspended run, to a worker token only."""
    return SuspensionBody.of(await reader.load_run_suspension(run_id))


@router.get("/{run_id}/records")
async def list_run_records(reader: AuthorizedReader, run_id: RunId, bounds: Bounds) -> RecordPageBody:
    """Return a page of a run's records, oldest first."""
    return RecordPageBody.of(await reader.list_run_records(run_id, bounds.cursor, bounds.limit))
