"""Who makes a request: by bearer token, by the page's cookie, or for a stream by ticket."""

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


def principal_of(request: Request) -> Principal:
    """Return who makes ``request``; ``NotPermitted`` (unauthorized), ``Overloaded`` after too many tries."""
    gate: Gate = request.app.state.gate
    try:
        principal = _authenticate(request)
    except NotPermitted:
        gate.wrong_token(request.client.host if request.client else "")
        raise
    if principal.role is Role.VIEWER:
        gate.request(principal)
    return principal


def _authenticate(request: Request) -> Principal:
    access: Access = request.app.state.access
    header = request.headers.get("authorization", "")
    cookie = request.cookies.get(COOKIE, "")
    if header or not cookie:
        return access.authenticate(header)
    principal = access.authenticate(f"Bearer {cookie}")
    if request.method not in _SAFE_METHODS and not _same_origin(request):
        # A browser sends a cookie along whoever asked for the request.
        raise NotPermitted("another origin may not write here", code="origin_refused")
    return principal


def _same_origin(request: Request) -> bool:
    origin = request.headers.get("origin", "")
    return bool(origin) and authority_of(origin) == request.headers.get("host", "")


def stream_principal_of(
    request: Request,
    ticket: Annotated[str, Query(description="one from `POST /v1/tickets`, instead of a token")] = "",
) -> Principal:
    """Return who opens a stream."""
    if not ticket:
        return principal_of(request)
    book: TicketBook[Principal] = request.app.state.tickets
    gate: Gate = request.app.state.gate
    try:
        return book.redeem(ticket)
    except NotPermitted:
        gate.wrong_token(request.client.host if request.client else "")
        raise


Caller = Annotated[Principal, Depends(principal_of)]
StreamCaller = Annotated[Principal, Depends(stream_principal_of)]


def _reader(request: Request, caller: Caller) -> Reader:
    return reader_for(caller, request.app.state.reader)


def _stream_reader(request: Request, caller: StreamCaller) -> Reader:
    return reader_for(caller, request.app.state.reader)


AuthorizedReader = Annotated[Reader, Depends(_reader)]
StreamReader = Annotated[Reader, Depends(_stream_reader)]
