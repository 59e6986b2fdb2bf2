"""The small HTTP server of a process that has no other: `/livez`, `/readyz` and `/metrics`."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import AF_INET, AF_INET6
from types import TracebackType
from typing import Final, Self

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from runlane.service.health import Check, no_faults

_TIMEOUT_SECONDS: Final = 5
Answer = tuple[int, str, bytes]


class ProbeServer:
    """Serves probes and metrics on a thread of its own, from entering to leaving.

    ``with ProbeServer(("127.0.0.1", 9464), registry, ready=progress.faults) as probes: probes.port``
    Raises ``OSError`` when the address is taken.
    """

    def __init__(
        self, address: tuple[str, int], registry: CollectorRegistry, *, ready: Check, live: Check = no_faults
    ) -> None:
        self._routes: dict[str, Callable[[], Answer]] = {
            "/livez": lambda: _health(live),
            "/readyz": lambda: _health(ready),
            "/metrics": lambda: (200, CONTENT_TYPE_LATEST, generate_latest(registry)),
        }
        self._server = _server(address, self._routes)
        self._thread = threading.Thread(target=self._server.serve_forever, name="probes", daemon=True)

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return int(self._server.server_address[1])

    def __enter__(self) -> Self:
        """Start to answer."""
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop, and let go of the port."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _health(check: Check) -> Answer:
    faults = dict(check())
    body = json.dumps({"ok": not faults, "faults": faults}).encode()
    return (503 if faults else 200), "application/json", body


def _server(address: tuple[str, int], routes: dict[str, Callable[[], Answer]]) -> ThreadingHTTPServer:
    class Handler(BaseHTTPRequestHandler):
        timeout = _TIMEOUT_SECONDS

        def do_GET(self) -> None:
            route = routes.get(self.path.partition("?")[0])
            status, media_type, body = route() if route else (404, "text/plain", b"")
            self.send_response(status)
            self.send_header("Content-Type", media_type)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("X-Content-Type-Options", "nosniff")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's signature
            """Log no request: probes come every few seconds."""

    class Server(ThreadingHTTPServer):
        address_family = AF_INET6 if ":" in address[0] else AF_INET
        daemon_threads = True

    return Server(address, Handler)
