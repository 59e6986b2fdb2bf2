"""Serve a directory of the embedded engine: ``python -m runlane.store.endpoint --path DIR --password …``."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from typing import Final

from runlane.store.endpoint.server import Endpoint, EndpointConfig
from runlane.store.engine import connection_string

_LOOK_SECONDS: Final = 1.0


def main() -> int:
    """Serve until SIGTERM or SIGINT; prints the address once it listens."""
    parser = argparse.ArgumentParser(prog="python -m runlane.store.endpoint", description=__doc__)
    parser.add_argument("--path", required=True, help="directory of the embedded engine")
    parser.add_argument("--port", type=int, default=0, help="port on 127.0.0.1, 0 for a free one")
    parser.add_argument("--user", default="default")
    parser.add_argument("--password", required=True)
    parser.add_argument("--writable", action="store_true", help="allow writes: for tests only")
    options = parser.parse_args()
    config = EndpointConfig(options.password, options.user, options.port, options.writable)
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda _number, _frame: ended.set())
    with Endpoint(connection_string(options.path), config) as endpoint:
        print(endpoint.url, flush=True)  # noqa: T201  # the caller reads the port from it
        # A signal that a thread of the engine took is heard when this one looks.
        while not ended.wait(_LOOK_SECONDS):
            pass
    return 0


if __name__ == "__main__":
    sys.exit(main())
