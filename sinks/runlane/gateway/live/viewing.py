"""What one viewer is sent, from the first event to the last: history, then what is committed meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Final

from runlane.contract.errors import RunNotFound, SessionNotFound, SessionPurged
from runlane.contract.reader import Reader
from runlane.contract.values import CommittedRecord, Page, RunStatus, SessionStatus
from runlane.gateway.live import frames
from runlane.gateway.live.frames import RecordFrame
from runlane.gateway.live.tap import Tap, Then

_FIRST_PAGE: Final = 200
_PAGE: Final = 1_000
_STEP: Final = 100
"""Records made into events in one go, so that no other viewer waits long."""
_LAST_WORDS: Final = {Then.LAGGED: frames.LAGGED, Then.PURGED: frames.PURGED, Then.LEAVE: b""}


@dataclass(frozen=True, slots=True)
class Subject:
    """A session, or one run when ``run_id`` is given, as it was when the viewer came.

    ``over`` says that no record can follow.
    """

    session_id: str
    run_id: str
    status: str
    head: int
    over: bool


class Viewing:
    """The events of one viewer: ``async for data in viewing.events(tap, subject)``; ``reader`` is its own."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._news = asyncio.Event()
        self._beat = False

    def wake(self) -> None:
        """Take notice that the tap has news."""
        self._news.set()

    def beat(self) -> None:
        """Say something, so that nobody in between takes the connection for dead."""
        self._beat = True
        self._news.set()

    async def events(self, tap: Tap, subject: Subject) -> AsyncGenerator[bytes]:
        """Yield what to send, in order, until there is nothing more to say. ``Unavailable`` breaks it off."""
        yield frames.RETRY + frames.head(subject.head, subject.status)
        try:
            async for data in self._told(tap, subject):
                yield data
        except (RunNotFound, SessionNotFound, SessionPurged):
            yield frames.PURGED

    async def _told(self, tap: Tap, subject: Subject) -> AsyncGenerator[bytes]:
        over, then = subject.over, Then.READ if tap.is_reading or subject.over else Then.WAIT
        while True:
            if then is Then.READ:
                reading = _Reading(self._reader, subject)
                async for data in reading.pages(tap):
                    yield data
                if not tap.ended:
                    if over or reading.run_over:
                        yield frames.END
                        return
                    if reading.session_may_be_over and await self._session_over(subject):
                        # What came between that reading and this answer is read before the end is told.
                        over = True
                        continue
            self._news.clear()
            taken = tap.take()
            if taken.data:
                yield taken.data
            if taken.run_over:
                yield frames.END
                return
            if taken.session_may_be_over and await self._session_over(subject):
                over, then = True, Then.READ
                continue
            then = taken.then
            if then in _LAST_WORDS:
                yield _LAST_WORDS[then]
                return
            if then is Then.WAIT:
                await self._news.wait()
                if self._beat:
                    self._beat = False
                    yield frames.HEARTBEAT

    async def _session_over(self, subject: Subject) -> bool:
        return await session_over(self._reader, subject.session_id)


class _Reading:
    """One look into history."""

    def __init__(self, reader: Reader, subject: Subject) -> None:
        self._reader = reader
        self._subject = subject
        self._last: CommittedRecord | None = None

    async def pages(self, tap: Tap) -> AsyncGenerator[bytes]:
        """Yield what is stored after the tap's cursor, until the tap's queue follows on."""
        tap.reading()
        limit = _FIRST_PAGE
        while not tap.ended:
            page = await self._page(str(tap.cursor or ""), limit)
            limit = _PAGE
            for start in range(0, len(page.records), _STEP):
                if start:
                    await asyncio.sleep(0)
                made = [RecordFrame(record) for record in page.records[start : start + _STEP]]
                tap.cursor = made[-1].seq if tap.run_id else made[-1].lane_seq
                yield b"".join(frame.of_run() if tap.run_id else frame.of_session() for frame in made)
            self._last = page.records[-1] if page.records else self._last
            if not page.next_cursor and tap.read_up():
                return

    @property
    def run_over(self) -> bool:
        """Whether what was read ends the run."""
        return bool(self._subject.run_id) and self._last is not None and RecordFrame(self._last).ends_run

    @property
    def session_may_be_over(self) -> bool:
        """Whether what was read was written in an ended session."""
        last = self._last
        return not self._subject.run_id and last is not None and last.session_status is SessionStatus.ENDED

    async def _page(self, cursor: str, limit: int) -> Page:
        subject = self._subject
        if subject.run_id:
            return await self._reader.list_run_records(subject.run_id, cursor, limit)
        return await self._reader.list_session_run_records(subject.session_id, cursor, limit)


async def session_over(reader: Reader, session_id: str) -> bool:
    """Whether no record of a session can follow: it has ended and none of its runs is running."""
    if await reader.load_session_status(session_id) is not SessionStatus.ENDED:
        return False
    return not await reader.list_runs_by_session(session_id, (RunStatus.RUNNING,))
