"""Loopback ports that stay ours."""

import contextlib
import secrets
import socket

# The system gives the ports above these to whoever connects or binds to any: one that is free now is
# somebody's a moment later, for one while a server of ours is down and its clients knock.
_BEGIN, _END = 15_000, 32_000


def free_ports(count: int) -> list[int]:
    """`count` TCP ports of 127.0.0.1 that nothing listens on now, and that nobody else is given meanwhile."""
    return [_reserved() for _ in range(count)]


def _reserved() -> int:
    while True:
        port = _BEGIN + secrets.randbelow(_END - _BEGIN)
        with contextlib.suppress(OSError), _bound(port, socket.SOCK_STREAM):
            # The UDP port of the same number is the mark for others; it stays open until this process ends.
            _bound(port, socket.SOCK_DGRAM).detach()
            return port


def _bound(port: int, kind: socket.SocketKind) -> socket.socket:
    made = socket.socket(type=kind)
    try:
        made.bind(("127.0.0.1", port))
    except OSError:
        made.close()
        raise
    return made
