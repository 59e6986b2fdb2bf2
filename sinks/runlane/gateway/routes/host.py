"""What a host does: create, end and purge sessions. The gateway signs the commands; owners decide them."""

from datetime import UTC, datetime
from typing import Annotated, Protocol

from fastapi import APIRouter, Depends, Request

from runlane.contract.errors import NotPermitted, SessionNotFound
from runlane.contract.http_models import EndSessionBody, NewSessionBody, PurgedBody, SessionBody
from runlane.contract.outcomes import PurgeResult
from runlane.contract.values import Session
from runlane.gateway.auth import Role
from runlane.gateway.identity import Caller
from runlane.gateway.problems import HOST_RESPONSES
from runlane.gateway.routes.params import SessionId


class HostCommands(Protocol):
    """The host commands of the store; each may raise ``TemporaryError`` besides what it names."""

    async def create_session(self, session_id: str, at: datetime | None) -> Session:
        """Return the session, new or as it was; ``SessionEnded``, ``SessionPurged``."""
        ...

    async def end_session(self, session_id: str, at: datetime | None) -> Session:
        """Return the ended session; ``SessionNotFound``, ``SessionPurged``."""
        ...

    async def purge_session(self, session_id: str) -> PurgeResult:
        """Make away with a session; ``SessionActive``, ``SessionHasActiveRuns``, ``SessionNotFound``."""
        ...


def _host(request: Request, caller: Caller) -> HostCommands:
    if caller.role is Role.VIEWER:
        raise SessionNotFound("no such session")
    if caller.role is not Role.HOST:
        raise NotPermitted("this needs a host token")
    commands: HostCommands = request.app.state.host
    return commands


Host = Annotated[HostCommands, Depends(_host)]
router = APIRouter(prefix="/v1/sessions", tags=["host"], responses=HOST_RESPONSES)


@router.post("")
async def create_session(host: Host, body: NewSessionBody) -> SessionBody:
    """Create a session, or find the active one of this id."""
    return SessionBody.of(await host.create_session(body.id, body.at or _now()))


@router.post("/{session_id}/end")
async def end_session(host: Host, session_id: SessionId, body: EndSessionBody | None = None) -> SessionBody:
    """End a session: it starts no work any more. An ended one stays as it is."""
    at = body.at if body else None
    return SessionBody.of(await host.end_session(session_id, at or _now()))


@router.delete("/{session_id}")
async def purge_session(host: Host, session_id: SessionId) -> PurgedBody:
    """Make away with an ended session and all its runs; its id is reserved for ever."""
    return PurgedBody(session_id=(await host.purge_session(session_id)).session_id)


def _now() -> datetime:
    now = datetime.now(UTC)
    return now.replace(microsecond=now.microsecond // 1000 * 1000)
