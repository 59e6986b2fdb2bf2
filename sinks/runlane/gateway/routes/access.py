"""How people get in: what this gateway asks for, tickets for streams, the page's cookie and its link."""

from contextlib import suppress
from typing import Final

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from runlane.contract.errors import NotPermitted
from runlane.contract.http_models import AccessBody, TicketBody
from runlane.gateway.auth import Access, Principal
from runlane.gateway.identity import COOKIE, Caller
from runlane.gateway.problems import PROBLEM_RESPONSES
from runlane.gateway.tickets import TICKET_SECONDS, TicketBook

_COOKIE_SECONDS: Final = 12 * 3600
ENTRANCE: Final = "/enter"
link_router = APIRouter()
open_router = APIRouter(prefix="/v1", tags=["access"])
router = APIRouter(prefix="/v1", tags=["access"], responses=PROBLEM_RESPONSES)


@open_router.get("/access")
async def access_mode(request: Request) -> AccessBody:
    """Say whether a token is needed; open to everyone."""
    access: Access = request.app.state.access
    return AccessBody(mode="open" if access.open else "token")


@router.post("/tickets")
async def issue_ticket(request: Request, caller: Caller) -> TicketBody:
    """Return a ticket for one connect of a stream, for those who cannot send a header."""
    book: TicketBook[Principal] = request.app.state.tickets
    return TicketBody(ticket=book.issue(caller), expires_in=TICKET_SECONDS)


@router.post("/cookie", status_code=204)
async def set_cookie(request: Request, caller: Caller) -> Response:  # noqa: ARG001 - it proves the token
    """Keep the token of this request in a cookie that no script can read."""
    _, _, token = request.headers.get("authorization", "").partition(" ")
    response = Response(status_code=204)
    if token.strip():
        _keep(request, response, token.strip())
    return response


@link_router.get(ENTRANCE, include_in_schema=False)
async def enter(request: Request, ticket: str = "") -> Response:
    """Let the holder of a link in by the cookie and show the page, which asks for a token otherwise."""
    response = RedirectResponse("/", 303)
    links: TicketBook[str] = request.app.state.links
    with suppress(NotPermitted):
        _keep(request, response, links.redeem(ticket))
    return response


def _keep(request: Request, response: Response, token: str) -> None:
    response.set_cookie(
        COOKIE,
        token,
        max_age=_COOKIE_SECONDS,
        path="/v1",
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="strict",
    )


@router.delete("/cookie", status_code=204)
async def delete_cookie() -> Response:
    """Forget the token."""
    response = Response(status_code=204)
    response.delete_cookie(COOKIE, path="/v1", httponly=True, samesite="strict")
    return response
