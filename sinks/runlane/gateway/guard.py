"""What holds for every request, before any route: path, Host and Origin, size, headers, unforeseen faults."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Sequence
from typing import Final
from urllib.parse import quote, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from runlane.contract.errors import InvalidCommand, NotPermitted, RunlaneError
from runlane.contract.limits import KIB
from runlane.gateway.problems import error_problem, internal_problem

MAX_BODY_BYTES: Final = 64 * KIB
"""No request of the read API needs a body; this bounds what one may send all the same."""
SECURITY_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_log = logging.getLogger(__name__)


class Guard:
    """ASGI middleware, the outermost one.

    The path is routed as it was sent, still percent-encoded, since a decoded "/" inside an id would look like
    the path's own. A route decodes its ids itself.
    """

    def __init__(self, app: ASGIApp, hosts: Sequence[str]) -> None:
        self._app = app
        self._hosts = frozenset(hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answer = _Answer(send)
        try:
            headers = Headers(scope=scope)
            self._check_hosts(headers)
            _check_size(headers)
            inner = {**scope, "path": _raw_path(scope)}
            await self._app(inner, _limited(receive), answer)
        except RunlaneError as error:
            await error_problem(error)(scope, receive, answer)
        except Exception as fault:  # noqa: BLE001 - the client gets an answer and the log a trace, whatever it is
            _log.error("request failed: %s\n%s", type(fault).__name__, _frames(fault))
            if not answer.started:
                await internal_problem()(scope, receive, answer)

    def _check_hosts(self, headers: Headers) -> None:
        if not self._hosts:
            return
        authority = headers.get("host", "")
        if _host_name(authority) not in self._hosts:
            raise NotPermitted("this host name is not served here", code="host_refused")
        origin = headers.get("origin")
        if origin is not None and authority_of(origin) != authority:
            raise NotPermitted("another origin may not read here", code="origin_refused")


class _Answer:
    """A ``send`` that adds the headers and knows whether the answer has begun."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.started = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started = True
            headers = MutableHeaders(scope=message)
            for name, value in SECURITY_HEADERS.items():
                headers.setdefault(name, value)
        await self._send(message)


def _raw_path(scope: Scope) -> str:
    raw: bytes = scope.get("raw_path") or quote(scope["path"]).encode()
    if not raw.isascii():
        raise InvalidCommand("the path is not percent-encoded", code="path_not_encoded")
    return raw.decode("ascii")


def authority_of(origin: str) -> str:
    """Return host and port of an origin, empty when it is none."""
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return ""


def _host_name(authority: str) -> str:
    try:
        return urlsplit(f"//{authority}").hostname or ""
    except ValueError:
        return ""


def _check_size(headers: Headers) -> None:
    length = headers.get("content-length", "0")
    if not length.isdecimal() or int(length) > MAX_BODY_BYTES:
        raise _too_large()


def _limited(receive: Receive) -> Receive:
    taken = 0

    async def counted() -> Message:
        nonlocal taken
        message = await receive()
        taken += len(message.get("body", b""))
        if taken > MAX_BODY_BYTES:
            raise _too_large()
        return message

    return counted


def _too_large() -> InvalidCommand:
    return InvalidCommand(f"a body may hold {MAX_BODY_BYTES} bytes", code="body_too_large")


def _frames(fault: BaseException) -> str:
    """Return where it happened, without the exception's own text, which may quote data."""
    return "".join(traceback.format_tb(fault.__traceback__))
