"""Who makes a request: by bearer token, by the page's cookie, or for a stream by ticket.

The dependencies are coroutines so that they run on the event loop and not on threads: the gate has no locks.
"""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import Depends, Query, Request

from runlane.contract.errors import NotPermitted
from runlane.contract.reader import Reader
from runlane.gateway.auth import Access, Principal, Role
from runlane.gateway.caps import Gate
from runlane.gateway.guard import authority_of
from runlane.gateway.scoped import reader_for
from runlane.gateway.tickets import TicketBook

COOKIE: Final = "runlane_token"
_SAFE_METHODS: Final = frozenset({"GET", "HEAD"})


async def principal_of(request: Request) -> Principal:
    """Return who makes ``request``; ``NotPermitted`` (unauthorized), ``Overloaded`` after too many tries."""
    access: Access = request.app.state.access
    header = request.headers.get("authorization", "")
    cookie = "" if header else request.cookies.get(COOKIE, "")
    if access.open or not (header or cookie):
        # Nothing is guessed: a page without a token asks for one and must not use up its address's tries.
        return access.authenticate("")
    with _gate(request).attempt(_address(request)):
        principal = access.authenticate(header or f"Bearer {cookie}")
    if cookie and request.method not in _SAFE_METHODS and not _same_origin(request):
        # A browser sends a cookie along whoever asked for the request.
        raise NotPermitted("another origin may not write here", code="origin_refused")
    if principal.role is Role.VIEWER:
        _gate(request).request(principal)
    return principal


def _gate(request: Request) -> Gate:
    gate: Gate = request.app.state.gate
    return gate


def _address(request: Request) -> str:
    return request.client.host if request.client else ""


def _same_origin(request: Request) -> bool:
    origin = request.headers.get("origin", "")
    return bool(origin) and authority_of(origin) == request.headers.get("host", "")


async def stream_principal_of(
    request: Request,
    ticket: Annotated[str, Query(description="one from `POST /v1/tickets`, instead of a token")] = "",
) -> Principal:
    """Return who opens a stream."""
    if not ticket:
        return await principal_of(request)
    book: TicketBook[Principal] = request.app.state.tickets
    with _gate(request).attempt(_address(request)):
        return book.redeem(ticket)


Caller = Annotated[Principal, Depends(principal_of)]
StreamCaller = Annotated[Principal, Depends(stream_principal_of)]


async def _reader(request: Request, caller: Caller) -> Reader:
    return reader_for(caller, request.app.state.reader)


async def _stream_reader(request: Request, caller: StreamCaller) -> Reader:
    return reader_for(caller, request.app.state.reader)


AuthorizedReader = Annotated[Reader, Depends(_reader)]
StreamReader = Annotated[Reader, Depends(_stream_reader)]
