"""The read API on a thread of its own: what `gateway` serves, and `up` beside everything else."""

from __future__ import annotations

import ipaddress
import socket
import threading
from types import TracebackType
from typing import Final, Self

import uvicorn
from starlette.types import ASGIApp

from runlane.contract.errors import SettingsError, Unavailable
from runlane.contract.reader import SessionScope
from runlane.gateway import Access, Role, Token
from runlane.service.settings import Settings, parse_listen

_MAX_CONNECTIONS: Final = 2_048
_BACKLOG: Final = 512
_MAX_HEAD_BYTES: Final = 32 * 1024
_GRACE_SECONDS: Final = 5
_START_SECONDS: Final = 30.0
_DEAD_PEER_MS: Final = 45_000
"""A peer that acknowledges nothing, or keeps its window shut, for so long is cut off by the kernel."""


def access_of(settings: Settings) -> Access:
    """Return who may read by these settings.

    ``SettingsError`` when there is no token and the gateway would listen beyond this machine: without tokens
    everyone who reaches it reads everything.
    """
    tokens = (
        *(Token(token.get_secret_value(), Role.WORKER) for token in settings.worker_token),
        *(Token(token.get_secret_value(), Role.HOST) for token in settings.host_token),
        *(
            Token(
                viewer.token.get_secret_value(),
                Role.VIEWER,
                SessionScope(viewer.sessions, viewer.prefixes),
            )
            for viewer in settings.viewers
        ),
    )
    access = Access(tokens, settings.hosts)
    if access.open and not is_loopback(parse_listen(settings.listen)[0]):
        raise SettingsError("without a token the gateway listens on loopback only: set RUNLANE_WORKER_TOKEN")
    return access


def is_loopback(host: str) -> bool:
    """Whether an address is this machine's alone."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class ApiServer:
    """Serves an ASGI application from entering to leaving: ``with ApiServer(app, ("127.0.0.1", 0)) as api:``.

    Raises ``Unavailable`` when the address cannot be listened on.
    """

    def __init__(self, app: ASGIApp, address: tuple[str, int]) -> None:
        self._socket = _listen(address)
        config = uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            server_header=False,
            lifespan="on",
            limit_concurrency=_MAX_CONNECTIONS,
            h11_max_incomplete_event_size=_MAX_HEAD_BYTES,
            timeout_graceful_shutdown=_GRACE_SECONDS,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._serve, name="read-api", daemon=True)

    @property
    def url(self) -> str:
        """Where it answers."""
        host, port = self._socket.getsockname()[:2]
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    def __enter__(self) -> Self:
        """Start; requests are accepted from now on."""
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let running requests end, then stop."""
        self._server.should_exit = True
        self._thread.join(_START_SECONDS)
        self._socket.close()

    def _serve(self) -> None:
        self._server.run(sockets=[self._socket])


def _listen(address: tuple[str, int]) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        server = socket.create_server(address, family=family, backlog=_BACKLOG)
    except OSError as error:
        reason = f"cannot listen on {address[0]}:{address[1]} ({error.strerror})"
        raise Unavailable(reason, code="address_unusable") from None
    # Each connection inherits what is set here. asyncio sends without delay only where the protocol is named,
    # which it is not here, and a small answer, or event, then waits 40 ms for the peer's acknowledgement.
    server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        # The server gives up a viewer, but not the bytes that wait for it.
        server.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _DEAD_PEER_MS)
    return server
