"""What each agent did, minute by minute: to be asked for, and as a stream of changes."""

from __future__ import annotations

from contextlib import ExitStack
from datetime import datetime, timedelta
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException

from runlane.contract.activity import WINDOW_SECONDS, ActivityWindow
from runlane.gateway.auth import Principal
from runlane.gateway.caps import Gate
from runlane.gateway.identity import Caller, StreamCaller
from runlane.gateway.live.activity import Activity
from runlane.gateway.live.response import MEDIA_TYPE, EventStream
from runlane.gateway.problems import PROBLEM_RESPONSES

_MAX_MINUTES: Final = 60
_NOT_FOUND: Final = 404
_EVENTS: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "`window` for each of the last hour, `sync`, then `window` for each that changed",
        "content": {MEDIA_TYPE: {"schema": {"type": "string"}}},
    }
}
router = APIRouter(prefix="/v1/activity", tags=["activity"], responses=PROBLEM_RESPONSES)


class ActivityWindowBody(BaseModel):
    """What one agent did within one window; latencies are null without a tool result."""

    model_config = ConfigDict(frozen=True, from_attributes=True)

    agent_id: str
    window_start: datetime
    starts: int
    completions: int
    failures: int
    cancellations: int
    suspensions: int
    running: Annotated[int, Field(description="runs that were running at its end, or are now")]
    tokens: int
    tool_calls: int
    tool_failures: int
    tool_latency_ms_p50: int | None
    tool_latency_ms_p95: int | None
    tool_latency_ms_max: int | None

    @classmethod
    def of(cls, window: ActivityWindow) -> ActivityWindowBody:
        """Return the body of ``window``."""
        return cls.model_validate(window)


class ActivityBody(BaseModel):
    """Windows by agent and then time."""

    model_config = ConfigDict(frozen=True)

    window_seconds: int
    windows: list[ActivityWindowBody]


@router.get("")
async def list_activity(
    request: Request,
    caller: Caller,
    agent: Annotated[str, Query(description="of this agent")] = "",
    minutes: Annotated[int, Query(ge=1, le=_MAX_MINUTES, description="of the last so many")] = _MAX_MINUTES,
) -> ActivityBody:
    """Return what each agent did lately, to those who may see every session."""
    windows = await _activity(request, caller).windows(agent, timedelta(minutes=minutes))
    return ActivityBody(
        window_seconds=WINDOW_SECONDS, windows=[ActivityWindowBody.of(one) for one in windows]
    )


@router.get("/stream", responses=_EVENTS, status_code=200, response_class=EventStream)
async def stream_activity(request: Request, caller: StreamCaller) -> EventStream:
    """Tell what each agent does, each window at most once a second, to those who may see every session."""
    activity = _activity(request, caller)
    gate: Gate = request.app.state.gate
    with ExitStack() as held:
        held.enter_context(gate.stream(caller))
        await activity.follow()
        tap = held.enter_context(activity.tap())
        return EventStream(activity.events(tap), held.pop_all().close)


def _activity(request: Request, caller: Principal) -> Activity:
    if caller.scope is not None and "" not in caller.scope.prefixes:
        # Counts over all sessions tell of hidden ones; what a token may not see looks like what is not there.
        raise HTTPException(_NOT_FOUND)
    activity: Activity = request.app.state.activity
    return activity
