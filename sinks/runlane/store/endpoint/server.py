"""The endpoint as a thing to start and stop, inside a process that owns the embedded engine."""

from __future__ import annotations

import contextlib
import socket
import threading
from dataclasses import dataclass, field
from http.server import ThreadingHTTPServer
from types import TracebackType
from typing import Any, Final, Self

from runlane.store.endpoint.engine import MIB, Engine, Limits
from runlane.store.endpoint.handler import Handler
from runlane.store.endpoint.request import Account

HOST: Final = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class EndpointConfig:
    """How the endpoint serves: only on loopback, only with a password; port 0 lets the system choose.

    ``writable`` is for tests, where it plays a ClickHouse server that outlives a killed owner: it allows
    everything. ``body_limit`` bounds a request's bytes, before and after decompression.
    """

    password: str = field(repr=False)
    user: str = "default"
    port: int = 0
    writable: bool = False
    limits: Limits = field(default_factory=Limits)
    body_limit: int = 64 * MIB
    connections: int = 64

    def __post_init__(self) -> None:
        if not self.password:
            raise ValueError("the endpoint needs a password")


class EndpointServer(ThreadingHTTPServer):
    """The listening socket with what its connections share; at most ``connections`` are served at once."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def __init__(self, engine: Engine, config: EndpointConfig) -> None:
        self.engine = engine
        self.account = Account(config.user, config.password)
        self.body_limit = config.body_limit
        self._most = config.connections
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        super().__init__((HOST, config.port), Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a connection in a thread of its own, or close it when too many are open."""
        with self._lock:
            admitted = len(self._open) < self._most
            if admitted:
                self._open.add(request)
        if admitted:
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def shutdown_request(self, request: Any) -> None:
        """Close a connection that has ended."""
        with self._lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a connection that broke: its client knows."""

    def hang_up(self) -> None:
        """End the connections that wait for their next request."""
        with self._lock:
            for connection in self._open:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RD)


class Endpoint:
    """A ClickHouse-protocol HTTP endpoint over the embedded engine of this process.

    ``connection`` is the engine's connection string, as ``runlane.store.connection_string`` gives it. Use it
    as a context manager, or call ``start`` and ``stop``. Raises ``OSError`` when the port is taken.
    """

    def __init__(self, connection: str, config: EndpointConfig) -> None:
        self._engine = Engine(connection, config.limits, writable=config.writable)
        try:
            self._server = EndpointServer(self._engine, config)
        except OSError:
            self._engine.close()
            raise
        name = "clickhouse-endpoint"
        self._thread = threading.Thread(target=self._server.serve_forever, name=name, daemon=True)

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        """The address for ClickHouse clients; the password is not in it."""
        return f"http://{HOST}:{self.port}"

    def start(self) -> None:
        """Begin to serve."""
        self._thread.start()

    def stop(self) -> None:
        """Stop listening, wait for the query that runs, and let the engine go."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
        self._server.hang_up()
        self._engine.close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
