"""Viewers of one session in a process of their own: plain sockets, so that they cost little themselves."""

from __future__ import annotations

import asyncio
import random
import re
import socket
import time
from dataclasses import dataclass, field
from multiprocessing.connection import Connection as Pipe
from typing import Final
from urllib.parse import quote

_ID: Final = re.compile(rb"id: (\d+)\nevent: record\n")
_LAGGED: Final = b"event: lagged"
_OPENING: Final = 20
"""Viewers that connect at once."""
_PATIENCE: Final = 120.0
_PAUSE: Final = 0.05


@dataclass(frozen=True, slots=True)
class Plan:
    """How many watch, how many more ask and never read, and how often one leaves and returns."""

    viewers: int = 200
    stalled: int = 0
    reconnects: int = 0
    seconds: float = 10.0


@dataclass(slots=True)
class Report:
    """When each number reached each viewer first, and all that each viewer saw."""

    arrivals: list[tuple[int, float]] = field(default_factory=list[tuple[int, float]])
    histories: list[list[int]] = field(default_factory=list[list[int]])
    reconnects: int = 0
    lagged: int = 0


class Viewer(asyncio.Protocol):
    """One viewer: asks, notes what comes and when, and comes back behind the last number."""

    def __init__(self, request: bytes, report: Report) -> None:
        self._request = request
        self._report = report
        self._rest = b""
        self.history: list[int] = []
        self.transport: asyncio.Transport | None = None
        report.histories.append(self.history)

    @property
    def last(self) -> int:
        """The last number seen."""
        return self.history[-1] if self.history else 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ask for what follows."""
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self._rest = b""
        transport.write(self._request % self.last)

    def data_received(self, data: bytes) -> None:
        """Note every number."""
        now = time.time()
        text = self._rest + data
        end = 0
        for match in _ID.finditer(text):
            number, end = int(match[1]), match.end()
            self.history.append(number)
            self._report.arrivals.append((number, now))
        self._report.lagged += _LAGGED in data
        self._rest = text[max(end, len(text) - 64) :]

    def leave(self) -> None:
        """Break the connection."""
        if self.transport is not None:
            self.transport.abort()
            self.transport = None


@dataclass(frozen=True, slots=True)
class Audience:
    """All viewers of a round: `serve` runs in a process of its own and talks through a pipe.

    They are ready once each has seen the number ``known``; only what comes later is timed.
    """

    plan: Plan
    port: int
    token: str
    session: str
    known: int

    def serve(self, pipe: Pipe) -> None:
        """Connect, say so, watch until the pipe names the last number, report."""
        asyncio.run(self._serve(pipe))

    async def _serve(self, pipe: Pipe) -> None:
        report = Report()
        viewers = [Viewer(self._request(), report) for _ in range(self.plan.viewers)]
        for start in range(0, len(viewers), _OPENING):
            await asyncio.gather(*map(self._connect, viewers[start : start + _OPENING]))
        stalled = [self._stall() for _ in range(self.plan.stalled)]
        await self._reach(viewers, self.known)
        report.arrivals.clear()
        pipe.send("ready")
        coming = asyncio.create_task(self._come_and_go(viewers, report))
        last = await asyncio.to_thread(pipe.recv)
        await coming
        await self._reach(viewers, last)
        pipe.send(report)
        for one in stalled:
            one.close()

    async def _reach(self, viewers: list[Viewer], number: int) -> None:
        deadline = time.monotonic() + _PATIENCE
        while any(viewer.last < number for viewer in viewers) and time.monotonic() < deadline:  # noqa: ASYNC110
            await asyncio.sleep(_PAUSE)

    async def _connect(self, viewer: Viewer) -> None:
        await asyncio.get_running_loop().create_connection(lambda: viewer, "127.0.0.1", self.port)

    async def _come_and_go(self, viewers: list[Viewer], report: Report) -> None:
        times = sorted(random.uniform(0, self.plan.seconds) for _ in range(self.plan.reconnects))
        begun = time.monotonic()
        for at in times:
            await asyncio.sleep(max(0.0, begun + at - time.monotonic()))
            viewer = random.choice(viewers)
            viewer.leave()
            await self._connect(viewer)
            report.reconnects += 1

    def _stall(self) -> socket.socket:
        """Ask and never read."""
        peer = socket.socket()
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        peer.connect(("127.0.0.1", self.port))
        peer.sendall(self._request() % 0)
        return peer

    def _request(self) -> bytes:
        path = f"/v1/sessions/{quote(self.session, safe='')}/stream"
        head = f"Host: 127.0.0.1:{self.port}\r\nAuthorization: Bearer {self.token}\r\n\r\n"
        return f"GET {path}?after=%d HTTP/1.1\r\n{head}".encode()
