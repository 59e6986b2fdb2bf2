"""Following over the gateway's streams, through every break of the connection (docs/live.md)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Final

import httpx2
from pydantic import ValidationError

from runlane.client.endpoints import Api
from runlane.client.follow import Followed, PagedFollower, Records
from runlane.client.http_reader import is_loopback, problem_of, resource_path
from runlane.client.options import ClientOptions
from runlane.client.sse import EventParser, ServerEvent
from runlane.contract.errors import InvalidCommand, SessionPurged, TemporaryError, Unavailable
from runlane.contract.http_models import RecordBody
from runlane.contract.paging import parse_cursor
from runlane.contract.reader import Reader
from runlane.contract.values import CommittedRecord

_SILENCE_SECONDS: Final = 45.0
"""The gateway says something every 15 seconds."""
_CONNECT_SECONDS: Final = 15.0
_OK: Final = 200
_NO_STREAMS: Final = "unknown_path"


class HttpFollower:
    """Implements ``Follower``: ``HttpFollower(lambda: Api("http://127.0.0.1:8080", token), reader)``.

    ``api`` is asked before each connect. A break is answered with a new connect after the last record; only
    when nothing can be reached for ``options.timeout`` does the failure come out. ``reader`` serves where the
    gateway has no streams.
    """

    def __init__(
        self,
        api: Callable[[], Api],
        reader: Reader,
        *,
        options: ClientOptions | None = None,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        self._api = api
        self._reader = reader
        self._options = options or ClientOptions()
        self._transport = transport

    async def follow(self, followed: Followed, after: str = "") -> Records:
        """Yield the records after ``after``.

        ``InvalidCommand`` for the cursor, ``RunNotFound``, ``SessionNotFound``, ``SessionPurged`` (also for a
        run whose session is purged meanwhile), ``TemporaryError`` when nothing is reached for too long.
        """
        parse_cursor(after)
        clock = asyncio.get_running_loop().time
        failures, reached = 0, clock()
        while True:
            try:
                async with aclosing(self._events(followed, after)) as events:
                    async for event in events:
                        failures, reached = 0, clock()
                        match event.name:
                            case "record":
                                record = _record(event)
                                yield record
                                after = followed.cursor(record)
                            case "end":
                                return
                            case "purged":
                                raise SessionPurged("the session was purged")
                            case _:
                                pass
            except InvalidCommand as error:
                if error.code != _NO_STREAMS:
                    raise
                break
            except TemporaryError:
                if clock() - reached > self._options.timeout:
                    raise
            failures += 1
            await asyncio.sleep(self._options.retry_pause(failures))
        async with aclosing(PagedFollower(self._reader).follow(followed, after)) as records:
            async for record in records:
                yield record

    async def _events(self, followed: Followed, after: str) -> AsyncGenerator[ServerEvent]:
        api = self._api()
        headers = {"accept": "text/event-stream"}
        if api.token:
            headers["authorization"] = f"Bearer {api.token}"
        url = api.url.rstrip("/") + _path(followed)
        timeout = httpx2.Timeout(_CONNECT_SECONDS, read=_SILENCE_SECONDS)
        parser = EventParser()
        try:
            async with (
                httpx2.AsyncClient(
                    transport=self._transport, timeout=timeout, trust_env=not is_loopback(api.url)
                ) as http,
                http.stream(
                    "GET", url, params={"after": after} if after else {}, headers=headers
                ) as response,
            ):
                if response.status_code != _OK:
                    await response.aread()
                    raise problem_of(response)
                async for piece in response.aiter_bytes():
                    for event in parser.feed(piece):
                        yield event
        except (httpx2.TransportError, httpx2.InvalidURL) as error:
            raise Unavailable(f"the stream: {type(error).__name__}", code="api_unavailable") from None


def _path(followed: Followed) -> str:
    if followed.run_id:
        return resource_path("runs", followed.run_id, "stream")
    return resource_path("sessions", followed.session_id, "stream")


def _record(event: ServerEvent) -> CommittedRecord:
    try:
        return RecordBody.model_validate_json(event.data).value()
    except ValidationError:
        raise Unavailable("the stream told an unknown record", code="api_body") from None
