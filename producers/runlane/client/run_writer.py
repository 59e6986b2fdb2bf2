"""Writing the records of one run in order, waiting for each or not."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING

from runlane.client.router import expect
from runlane.client.run_values import Payload, now, payload_bytes
from runlane.contract.commands import AppendRunRecord
from runlane.contract.outcomes import AppendResult
from runlane.contract.values import RunRecord, RunStart

if TYPE_CHECKING:
    from runlane.client.store import RunStore


class RunWriter:
    """Appends to one run; record keys count up, ``<type>/<n>``."""

    def __init__(self, store: RunStore, start: RunStart) -> None:
        self.start = start
        self._store = store
        self._records = 0
        self._posted: list[asyncio.Task[AppendResult]] = []
        self._last: tuple[str, asyncio.Task[AppendResult]] | None = None

    @property
    def run_id(self) -> str:
        """The run's id."""
        return self.start.run_id

    async def append(
        self,
        type: str,  # noqa: A002 - the contract's own word
        payload: Payload,
        *,
        event_key: str = "",
        turn_id: str = "",
        timestamp: datetime | None = None,
    ) -> AppendResult:
        """Append a record and wait for its answer: ``await run.append("planner_note", {"Note": "hm"})``.

        ``event_key`` is ``<type>/<n>`` unless given. Errors as of ``RunStore.append_run_record``.
        """
        record = self._record(type, payload, event_key=event_key, turn_id=turn_id, timestamp=timestamp)
        return await self._send(AppendRunRecord(record, self._after()))

    async def post(
        self,
        type: str,  # noqa: A002
        payload: Payload,
        *,
        event_key: str = "",
        turn_id: str = "",
        timestamp: datetime | None = None,
    ) -> asyncio.Task[AppendResult]:
        """Append a record without waiting for its answer; it is stored after all that was posted before.

        Returns once the record is on its way, which takes as long as too many bytes are in flight. The task
        answers for this record; ``flush`` and the end of the run raise what went wrong.
        """
        record = self._record(type, payload, event_key=event_key, turn_id=turn_id, timestamp=timestamp)
        sent = asyncio.Event()
        command = AppendRunRecord(record, self._after())
        task = asyncio.create_task(self._send(command, sent.set))
        # A failure counts as seen: the end of the run raises it, unless something else ended the run.
        task.add_done_callback(_look_at)
        task.add_done_callback(lambda _: sent.set())
        self._posted = [posted for posted in self._posted if not _stored(posted)]
        self._posted.append(task)
        self._last = (record.event_key, task)
        await sent.wait()
        return task

    async def flush(self) -> None:
        """Wait until every posted record is answered; raises the first failure in their order."""
        await self._settle()
        posted, self._posted = self._posted, []
        for task in posted:
            task.result()

    async def _send(
        self, command: AppendRunRecord, on_sent: Callable[[], None] | None = None
    ) -> AppendResult:
        return expect(await self._store.execute(command, on_sent=on_sent), AppendResult)

    def _after(self) -> str:
        """The key of the last posted record while it is not answered."""
        return "" if self._last is None or self._last[1].done() else self._last[0]

    async def _settle(self) -> None:
        """Wait for every posted record, whatever its answer."""
        if self._posted:
            await asyncio.wait(self._posted)

    def _record(
        self,
        type: str,  # noqa: A002
        payload: Payload,
        *,
        event_key: str = "",
        turn_id: str = "",
        timestamp: datetime | None = None,
    ) -> RunRecord:
        if not event_key:
            self._records += 1
            event_key = f"{type}/{self._records}"
        return RunRecord(
            event_key=event_key,
            run_id=self.run_id,
            agent_id=self.start.agent_id,
            session_id=self.start.session_id,
            turn_id=turn_id,
            type=type,
            payload=payload_bytes(payload),
            timestamp=timestamp or now(),
        )


def _look_at(task: asyncio.Task[AppendResult]) -> None:
    if not task.cancelled():
        task.exception()


def _stored(task: asyncio.Task[AppendResult]) -> bool:
    return task.done() and not task.cancelled() and task.exception() is None
