"""An answer that is a stream of events: no buffer but the connection's, no compression, no dead peers."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Callable
from typing import Final

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from runlane.contract.errors import RunlaneError

MEDIA_TYPE: Final = "text/event-stream"
SEND_SECONDS: Final = 30.0
"""A peer that takes nothing for so long is gone."""
_log = logging.getLogger(__name__)
_HEADERS: Final = {"Cache-Control": "no-store, no-transform", "X-Accel-Buffering": "no"}


class EventStream(Response):
    """Sends what ``events`` yields until it ends or the peer goes away; ``closed`` is called in any case.

    A failure of the store ends the stream: the viewer comes back with its cursor.
    """

    media_type = MEDIA_TYPE

    def __init__(
        self, events: AsyncGenerator[bytes], closed: Callable[[], None], *, send_seconds: float = SEND_SECONDS
    ) -> None:
        super().__init__(headers=_HEADERS)
        del self.headers["content-length"]
        self._events = events
        self._closed = closed
        self._send_seconds = send_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - ASGI's signature
        """Send the stream."""
        pump = asyncio.ensure_future(self._pump(send))
        gone = asyncio.ensure_future(_disconnected(receive))
        try:
            await asyncio.wait((pump, gone), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (pump, gone):
                task.cancel()
            await asyncio.gather(pump, gone, return_exceptions=True)
            self._closed()
        if not pump.cancelled() and (fault := pump.exception()) is not None:
            raise fault

    async def _pump(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        try:
            async with contextlib.aclosing(self._events) as events:
                async for data in events:
                    if data:
                        async with asyncio.timeout(self._send_seconds):
                            await send({"type": "http.response.body", "body": data, "more_body": True})
        except TimeoutError:
            return
        except RunlaneError as error:
            _log.info("a stream broke off: %s", error.code)
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
