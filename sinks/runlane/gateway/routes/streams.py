"""Streams of a run, of a session, and of the list of runs, as server-sent events."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Depends, Header, Query, Request

from runlane.contract.errors import InvalidCommand
from runlane.contract.ids import session_lane
from runlane.contract.paging import parse_cursor
from runlane.contract.reader import Reader
from runlane.contract.values import SessionStatus
from runlane.gateway.auth import Principal
from runlane.gateway.caps import Gate
from runlane.gateway.identity import StreamCaller, StreamReader
from runlane.gateway.live import Live
from runlane.gateway.live.response import MEDIA_TYPE, EventStream
from runlane.gateway.live.viewing import Subject, Viewing, session_over
from runlane.gateway.problems import PROBLEM_RESPONSES
from runlane.gateway.routes.params import RunId, SessionId

_EVENTS: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": (
            "`head` first, then `record` with the cursor as its id and `delta` without one, at last `end`, "
            "`lagged` or `purged`; see docs/live.md"
        ),
        "content": {MEDIA_TYPE: {"schema": {"type": "string"}}},
    }
}
_RUN_EVENTS: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": (
            "`run` for each run of a snapshot, `sync`, then `run` for each that changed and `gone` for each "
            "session that was purged"
        ),
        "content": {MEDIA_TYPE: {"schema": {"type": "string"}}},
    }
}
router = APIRouter(prefix="/v1", tags=["streams"], responses=PROBLEM_RESPONSES)


class Start:
    """Where a stream begins: behind ``cursor``, or at the end when ``latest``."""

    def __init__(
        self,
        *,
        after: Annotated[str, Query(description="the cursor of the last record that is known")] = "",
        begin: Annotated[
            Literal["earliest", "latest"], Query(alias="from", description="where to begin without a cursor")
        ] = "earliest",
        last_event_id: Annotated[str, Header(description="wins over `after`, as a browser sends it")] = "",
    ) -> None:
        given = last_event_id or after
        self.cursor = 0 if given == "0" else parse_cursor(given)
        self.latest = not given and begin == "latest"

    def place(self, head: int) -> int:
        """Return the number to begin behind; ``InvalidCommand`` for one that nothing can have told."""
        if self.cursor > head:
            raise InvalidCommand("the cursor is ahead of all records", code="cursor_ahead")
        return head if self.latest else self.cursor


StartAt = Annotated[Start, Depends(Start)]


@router.get("/runs/stream", responses=_RUN_EVENTS, status_code=200, response_class=EventStream)
async def stream_runs(request: Request, caller: StreamCaller, reader: StreamReader) -> EventStream:
    """Tell the newest runs and each one that changes, at most four times a second each."""
    live = _live(request)
    with ExitStack() as held:
        held.enter_context(_gate(request).stream(caller))
        await live.follow()
        tap = held.enter_context(live.board.tap(caller.scope))
        held.enter_context(live.beating(tap))
        return EventStream(live.board.events(tap, reader), held.pop_all().close)


@router.get("/runs/{run_id}/stream", responses=_EVENTS, status_code=200, response_class=EventStream)
async def stream_run(
    request: Request, caller: StreamCaller, reader: StreamReader, run_id: RunId, start: StartAt
) -> EventStream:
    """Tell the records of a run, stored and to come, until it has ended."""
    live = _live(request)
    run = await reader.load_run(run_id)
    subject = Subject(run.session_id, run_id, run.status.value, 0, run.status.terminal)
    lane = session_lane(run.session_id) if run.session_id else await live.history.run_lane(run_id)
    return await _stream(_Visit(request, caller, reader), lane, subject, start)


@router.get("/sessions/{session_id}/stream", responses=_EVENTS, status_code=200, response_class=EventStream)
async def stream_session(
    request: Request, caller: StreamCaller, reader: StreamReader, session_id: SessionId, start: StartAt
) -> EventStream:
    """Tell the records of all runs of a session in commit order, until it has ended and nothing runs."""
    status = await reader.load_session_status(session_id)
    over = status is SessionStatus.ENDED and await session_over(reader, session_id)
    subject = Subject(session_id, "", status.value, 0, over)
    return await _stream(_Visit(request, caller, reader), session_lane(session_id), subject, start)


@dataclass(frozen=True, slots=True)
class _Visit:
    """Who comes, and what they may read."""

    request: Request
    caller: Principal
    reader: Reader


async def _stream(visit: _Visit, lane: str, subject: Subject, start: Start) -> EventStream:
    live = _live(visit.request)
    with ExitStack() as held:
        held.enter_context(_gate(visit.request).stream(visit.caller))
        await live.follow()
        viewing = Viewing(visit.reader)
        # First what comes, then what was: nothing lies in between.
        tap = live.hub.subscribe(lane, subject.run_id, start.cursor, viewing.wake)
        held.callback(live.hub.unsubscribe, tap)
        head = None if start.latest else live.hub.catch_up(tap)
        if head is None:
            head = await live.history.head(lane, subject.run_id)
            tap.cursor = start.place(head)
        held.enter_context(live.beating(viewing))
        return EventStream(viewing.events(tap, replace(subject, head=head)), held.pop_all().close)


def _live(request: Request) -> Live:
    live: Live = request.app.state.streams
    return live


def _gate(request: Request) -> Gate:
    gate: Gate = request.app.state.gate
    return gate
