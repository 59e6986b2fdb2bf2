"""Following a run or a session: what is stored, then what is committed, until no record can follow."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass
from typing import Final, Protocol

from runlane.contract.errors import InvalidCommand
from runlane.contract.paging import parse_cursor
from runlane.contract.reader import Reader
from runlane.contract.values import CommittedRecord, Page, RunStatus, SessionStatus

Records = AsyncGenerator[CommittedRecord]
_PAGE: Final = 500
_POLL_SECONDS: Final = 0.5


@dataclass(frozen=True, slots=True)
class Followed:
    """One run, or all runs of a session: ``Followed.of(run="r")``."""

    run_id: str = ""
    session_id: str = ""

    @classmethod
    def of(cls, *, run: str, session: str) -> Followed:
        """Return what is named; ``InvalidCommand`` unless it is exactly one."""
        if bool(run) == bool(session):
            raise InvalidCommand("follow a run or a session", code="follow_target")
        return cls(run, session)

    def cursor(self, record: CommittedRecord) -> str:
        """Return the cursor behind ``record``."""
        return str(record.seq if self.run_id else record.lane_seq)

    async def page(self, reader: Reader, cursor: str) -> Page:
        """Return the records after ``cursor``."""
        if self.run_id:
            return await reader.list_run_records(self.run_id, cursor, _PAGE)
        return await reader.list_session_run_records(self.session_id, cursor, _PAGE)

    async def over(self, reader: Reader) -> bool:
        """Whether no record can follow: the run is over, or the session has ended and nothing of it runs."""
        if self.run_id:
            return (await reader.load_run(self.run_id)).status.terminal
        if await reader.load_session_status(self.session_id) is not SessionStatus.ENDED:
            return False
        return not await reader.list_runs_by_session(self.session_id, (RunStatus.RUNNING,))


class Follower(Protocol):
    """Yields records as they are committed."""

    def follow(self, followed: Followed, after: str = "") -> Records:
        """Yield the records after the cursor ``after``, each once, until no record can follow."""
        ...


class PagedFollower:
    """Implements ``Follower`` over any reader, by asking again and again."""

    def __init__(
        self,
        reader: Reader,
        *,
        pause: Callable[[float], Awaitable[object]] = asyncio.sleep,
        seconds: float = _POLL_SECONDS,
    ) -> None:
        self._reader = reader
        self._pause = pause
        self._seconds = seconds

    async def follow(self, followed: Followed, after: str = "") -> Records:
        """Yield the records after ``after``; raises what the reads raise."""
        parse_cursor(after)
        over = False
        while not over:
            # Asked before the pages are read: what was committed before the end is in them.
            over = await followed.over(self._reader)
            async for record in self.stored(followed, after):
                yield record
                after = followed.cursor(record)
            if not over:
                await self._pause(self._seconds)

    async def stored(self, followed: Followed, after: str = "") -> Records:
        """Yield what is stored after ``after``, and stop."""
        more = True
        while more:
            page = await followed.page(self._reader, after)
            for record in page.records:
                yield record
            after = page.next_cursor
            more = bool(after)
