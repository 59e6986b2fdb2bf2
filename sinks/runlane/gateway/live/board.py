"""The runs that changed lately, kept up to date by their records, for the viewers of the runs list.

It is empty while nobody looks. A run that it does not know, or knows with a hole, is read from the store, a
batch at a time; what is committed meanwhile waits for that read.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import OrderedDict
from collections.abc import AsyncGenerator, Generator, Sequence
from typing import Final

from runlane.contract.errors import RunlaneError, RunNotFound
from runlane.contract.payloads.types import SESSION_PURGED
from runlane.contract.reader import Reader, RunQuery, SessionScope
from runlane.contract.values import CommittedRecord, RunMeta
from runlane.gateway.live import frames
from runlane.gateway.live.hub import Hub
from runlane.gateway.live.ports import History
from runlane.gateway.live.summary import DULL_TYPES, RunSummary

MAX_RUNS: Final = 2_000
_SNAPSHOT: Final = 200
_MAX_WAITING: Final = 1_000
_PAUSE_SECONDS: Final = 0.25
"""A run that changes all the time is told as often as that."""
_LAG_SECONDS: Final = 3.0
"""How far the search may lag behind: it is asked once more after that."""
_log = logging.getLogger(__name__)


class ListTap:
    """What one viewer of the list has not been told yet: ids only, so it cannot grow beyond the board."""

    def __init__(self, scope: SessionScope | None) -> None:
        self._scope = scope
        self._changed: dict[str, None] = {}
        self._purged: dict[str, None] = {}
        self.news = asyncio.Event()
        self.closed = False
        self._beat = False

    def tell(self, meta: RunMeta) -> None:
        """Take notice that a run changed; one outside the viewer's scope is none of its business."""
        if self._scope is None or self._scope.holds(meta.session_id):
            self._changed[meta.run_id] = None
            self.news.set()

    def purge(self, session_id: str) -> None:
        """Take notice that a session and its runs are gone."""
        if self._scope is None or self._scope.holds(session_id):
            self._purged[session_id] = None
            self.news.set()

    def beat(self) -> None:
        """Say something, so that nobody in between takes the connection for dead."""
        self._beat = True
        self.news.set()

    def close(self) -> None:
        """The gateway stops."""
        self.closed = True
        self.news.set()

    def take(self) -> tuple[list[str], list[str], bool]:
        """Return the runs that changed, the sessions that are gone, whether to say something anyway."""
        self.news.clear()
        changed, self._changed = list(self._changed), {}
        purged, self._purged = list(self._purged), {}
        beat, self._beat = self._beat, False
        return changed, purged, beat


class Board:
    """A ``Watcher`` of the hub while somebody looks. ``reader`` sees all; viewers bring their own."""

    def __init__(self, hub: Hub, history: History, reader: Reader) -> None:
        self._hub = hub
        self._history = history
        self._reader = reader
        self._runs: OrderedDict[str, RunSummary] = OrderedDict()
        self._frames: dict[str, bytes] = {}
        self._waiting: dict[str, list[CommittedRecord]] = {}
        self._gone: OrderedDict[str, None] = OrderedDict()
        self._taps: dict[ListTap, None] = {}
        self._loading: asyncio.Task[None] | None = None

    @contextlib.contextmanager
    def tap(self, scope: SessionScope | None) -> Generator[ListTap]:
        """Lend a tap; the board is empty again when the last one is back."""
        tap = ListTap(scope)
        self._taps[tap] = None
        self._hub.watcher = self
        try:
            yield tap
        finally:
            del self._taps[tap]
            if not self._taps:
                self._rest()

    async def events(self, tap: ListTap, reader: Reader) -> AsyncGenerator[bytes]:
        """Yield the newest runs that ``reader`` shows, `sync`, then for ever `run` and `gone`."""
        yield frames.RETRY + frames.head(0, "")
        async for data in self._snapshot(reader):
            yield data
        yield frames.SYNC
        again: float | None = asyncio.get_running_loop().time() + _LAG_SECONDS
        while not tap.closed:
            if again is not None and asyncio.get_running_loop().time() >= again:
                again = None
                async for data in self._snapshot(reader, only_unknown=True):
                    yield data
            changed, purged, beat = tap.take()
            data = b"".join((*map(self._frame, changed), *map(frames.gone, purged)))
            if data or beat:
                yield data or frames.HEARTBEAT
            await asyncio.sleep(_PAUSE_SECONDS)
            if again is None:
                await tap.news.wait()

    def record(self, record: CommittedRecord) -> None:
        """Take a committed record of any lane."""
        if not record.run_id:
            if record.type == SESSION_PURGED:
                self._forget(record.session_id)
            return
        waiting = self._waiting.get(record.run_id)
        if waiting is not None:
            if len(waiting) < _MAX_WAITING:
                waiting.append(record)
            return
        known = self._runs.get(record.run_id)
        summary = self._next(known, record)
        if summary is None:
            self._load(record)
        elif summary is not known:
            self._put(summary)

    def lose(self) -> None:
        """Read every run anew, since something may have been missed."""
        for run_id in self._runs:
            self._waiting.setdefault(run_id, [])
        self._start_loading()

    def leave(self) -> None:
        """The gateway stops: every viewer closes."""
        for tap in self._taps:
            tap.close()

    def _next(self, known: RunSummary | None, record: CommittedRecord) -> RunSummary | None:
        """Return the summary with ``record``: ``known`` itself for an old one, None behind a hole."""
        if known is None:
            return RunSummary.begun(record)
        if record.seq <= known.records:
            return known
        return known.after(record) if record.seq == known.records + 1 else None

    def _put(self, summary: RunSummary, *, tell: bool = True) -> None:
        run_id = summary.meta.run_id
        if summary.meta.session_id in self._gone:
            # It was read from the store before its purge was, and nobody may be told after that.
            return
        self._runs[run_id] = summary
        self._runs.move_to_end(run_id)
        self._frames.pop(run_id, None)
        if len(self._runs) > MAX_RUNS:
            gone, _ = self._runs.popitem(last=False)
            self._frames.pop(gone, None)
        for tap in self._taps if tell else ():
            tap.tell(summary.meta)

    def _frame(self, run_id: str) -> bytes:
        summary = self._runs.get(run_id)
        if summary is None:
            return b""
        frame = self._frames.get(run_id)
        if frame is None:
            frame = self._frames[run_id] = summary.frame()
        return frame

    async def _snapshot(self, reader: Reader, *, only_unknown: bool = False) -> AsyncGenerator[bytes]:
        page = await reader.search_runs(RunQuery(limit=_SNAPSHOT))
        unknown = [run for run in page.runs if run.run_id not in self._runs]
        await self._learn(unknown, tell=False)
        shown = unknown if only_unknown else page.runs
        yield b"".join(self._frame(run.run_id) for run in reversed(shown))

    async def _learn(self, runs: Sequence[RunMeta], *, tell: bool) -> None:
        for run in runs:
            self._waiting.setdefault(run.run_id, [])
        try:
            facts = await self._history.facts(runs, DULL_TYPES)
        finally:
            late = {run.run_id: self._waiting.pop(run.run_id, []) for run in runs}
        for run in runs:
            self._settle(RunSummary.of(run, facts.get(run.run_id)), late[run.run_id], tell=tell)

    def _settle(self, summary: RunSummary, late: Sequence[CommittedRecord], *, tell: bool) -> None:
        """Put what was read, and what was committed meanwhile on top of it."""
        known = self._runs.get(summary.meta.run_id)
        if known is not None and known.records > summary.records:
            summary = known
        read = summary
        for record in late:
            summary = self._next(summary, record) or summary
        self._put(summary, tell=tell or summary is not read)

    def _load(self, record: CommittedRecord) -> None:
        self._waiting[record.run_id] = [record]
        self._start_loading()

    def _start_loading(self) -> None:
        if self._waiting and (self._loading is None or self._loading.done()):
            self._loading = asyncio.create_task(self._read_waiting(), name="runs-board")

    async def _read_waiting(self) -> None:
        while self._waiting and self._taps:
            runs = [run for run_id in list(self._waiting) if (run := await self._run(run_id)) is not None]
            try:
                await self._learn(runs, tell=True)
            except RunlaneError as error:
                _log.info("the runs list waits: %s", error.code)
            await asyncio.sleep(_PAUSE_SECONDS)

    async def _run(self, run_id: str) -> RunMeta | None:
        try:
            return await self._reader.load_run(run_id)
        except RunNotFound:
            self._waiting.pop(run_id, None)
            known = self._runs.get(run_id)
            if known is not None and known.meta.session_id:
                # Only a purge takes a run away, with its session: the record that told of it was missed.
                self._forget(known.meta.session_id)
        except RunlaneError as error:
            _log.info("the runs list waits: %s", error.code)
        return None

    def _forget(self, session_id: str) -> None:
        self._gone[session_id] = None
        if len(self._gone) > MAX_RUNS:
            self._gone.popitem(last=False)
        gone = [run_id for run_id, one in self._runs.items() if one.meta.session_id == session_id]
        for run_id in gone:
            del self._runs[run_id]
            self._frames.pop(run_id, None)
        for tap in self._taps:
            tap.purge(session_id)

    def _rest(self) -> None:
        self._hub.watcher = None
        self._runs.clear()
        self._frames.clear()
        self._waiting.clear()
        self._gone.clear()
        if self._loading is not None:
            self._loading.cancel()
            self._loading = None
