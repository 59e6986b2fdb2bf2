"""Free loopback ports."""

import contextlib
import socket


def free_ports(count: int) -> list[int]:
    """`count` different TCP ports of 127.0.0.1 that nothing listens on now."""
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for sock in sockets:
            sock.bind(("127.0.0.1", 0))
        return [int(sock.getsockname()[1]) for sock in sockets]
