"""An engine, a sink, a bus and a store that lie or fail as told."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from runlane.client import MemoryStore
from runlane.client.recovery import EngineCompletion, EngineOutput, EngineStatus, Patience
from runlane.contract.commands import StartChildRun, StartRootRun
from runlane.contract.outcomes import RunRepairResult
from runlane.contract.payloads import ChildRunLinked, RunCompleted, RunStarted
from runlane.contract.stream import Stream, StreamEvent
from runlane.contract.values import (
    CommittedRecord,
    Page,
    RunMeta,
    RunRecord,
    RunStart,
    RunStatus,
    RunSuspension,
    SessionStatus,
)
from tests.client.scripted import NOW

COMPLETED = EngineCompletion(EngineStatus.COMPLETED, NOW, EngineOutput())
RUNNING = EngineCompletion(EngineStatus.RUNNING)


class Sink:
    """Keeps events; raises the next of `failures` first."""

    def __init__(self, *failures: Exception) -> None:
        self.events: list[StreamEvent] = []
        self.failures = list(failures)

    async def send(self, event: StreamEvent) -> None:
        if self.failures:
            raise self.failures.pop(0)
        self.events.append(event)

    def types(self) -> list[str]:
        return [event.type.value for event in self.events]


class Listener:
    """A bus that keeps what it hears; may fail each time."""

    def __init__(self, failure: Exception | None = None) -> None:
        self.records: list[RunRecord] = []
        self.failure = failure

    async def publish(self, record: RunRecord) -> None:
        self.records.append(record)
        if self.failure is not None:
            raise self.failure


class Workflow:
    """An engine that says one thing of every run, or fails."""

    def __init__(self, answer: EngineCompletion | Exception = COMPLETED) -> None:
        self.answer = answer
        self.asked: list[str] = []

    async def query_run_completion(self, run_id: str) -> EngineCompletion:
        self.asked.append(run_id)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@dataclass
class Pauses:
    """Sleeps without waiting, and remembers how long."""

    slept: list[float] = field(default_factory=list)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)

    @property
    def patience(self) -> Patience:
        return Patience(sleep=self.sleep)


Edit = Callable[[list[CommittedRecord]], list[CommittedRecord]]


class Meddled:
    """A store whose reads and repairs can be changed on the way, and which can fail first."""

    def __init__(self, store: MemoryStore) -> None:
        self.store = store
        self.edits: dict[str, Edit] = {}
        self.metas: dict[str, Callable[[RunMeta], RunMeta]] = {}
        self.repair: Callable[[RunRepairResult], RunRepairResult] = lambda result: result
        self.failures: dict[str, list[Exception]] = {}
        self.before_repair: Callable[[], Any] | None = None
        self.repairs = 0
        self.lose_answers = False

    def _fail(self, operation: str) -> None:
        if self.failures.get(operation):
            raise self.failures[operation].pop(0)

    async def load_run(self, run_id: str) -> RunMeta:
        self._fail("load_run")
        meta = await self.store.load_run(run_id)
        return self.metas.get(run_id, lambda same: same)(meta)

    async def load_run_suspension(self, run_id: str) -> RunSuspension:
        self._fail("load_run_suspension")
        return await self.store.load_run_suspension(run_id)

    async def load_session_status(self, session_id: str) -> SessionStatus:
        self._fail("load_session_status")
        return await self.store.load_session_status(session_id)

    async def list_run_records(self, run_id: str, cursor: str = "", limit: int = 100) -> Page:
        self._fail("list_run_records")
        assert limit == 500
        page = await self.store.list_run_records(run_id, cursor, limit)
        records = self.edits.get(run_id, lambda same: same)(list(page.records))
        return Page(tuple(records), page.next_cursor)

    async def ensure_run_terminal(
        self, run_id: str, status: RunStatus | str, *, record: RunRecord | None
    ) -> RunRepairResult:
        await self._before()
        result = await self.store.ensure_run_terminal(run_id, status, record=record)
        self._fail("answer")
        return self.repair(result)

    async def ensure_run_suspension(
        self, run_id: str, suspension: RunSuspension, *, record: RunRecord | None
    ) -> RunRepairResult:
        await self._before()
        result = await self.store.ensure_run_suspension(run_id, suspension, record=record)
        self._fail("answer")
        return self.repair(result)

    async def _before(self) -> None:
        self.repairs += 1
        self._fail("repair")
        meddle, self.before_repair = self.before_repair, None
        if meddle is not None:
            await meddle()


def without(record_type: str) -> Edit:
    return lambda records: [record for record in records if record.type != record_type]


def doubled(record_type: str) -> Edit:
    return lambda records: [*records, *(r for r in records if r.type == record_type)]


def changed(record_type: str, **fields: Any) -> Edit:
    return lambda records: [r._replace(**fields) if r.type == record_type else r for r in records]


def root(run: str = "run", session: str = "session", **options: Any) -> StartRootRun:
    start = RunStart(run, "agent", session, started_at=NOW, **options)
    return StartRootRun(start, _started(start), _canceled(start))


def child(run: str = "child", parent: str = "run", session: str = "session") -> StartChildRun:
    start = RunStart(run, "child-agent", session, parent_run_id=parent, started_at=NOW)
    return StartChildRun(start, linked(start), _started(start), _canceled(start))


def linked(start: RunStart) -> RunRecord:
    payload = ChildRunLinked(
        tool_name="t", tool_call_id="c", child_run_id=start.run_id, child_agent_id=start.agent_id
    )
    key = f"link/{start.run_id}"
    return RunRecord(
        key, start.parent_run_id, "agent", start.session_id, "", "child_run_linked", payload.encode(), NOW
    )


def _started(start: RunStart) -> RunRecord:
    payload = RunStarted(
        parent_run_id=start.parent_run_id,
        predecessor_run_id=start.predecessor_run_id,
        labels=dict(start.labels),
    )
    return _record(start, "started", "run_started", payload.encode())


def _canceled(start: RunStart) -> RunRecord:
    payload = RunCompleted.canceled("session_ended", labels=start.labels)
    return _record(start, "canceled", "run_completed", payload.encode())


def _record(start: RunStart, key: str, record_type: str, payload: bytes) -> RunRecord:
    return RunRecord(key, start.run_id, start.agent_id, start.session_id, "", record_type, payload, NOW)


def note(key: str, run: str = "run", session: str = "session", agent: str = "agent") -> RunRecord:
    return RunRecord(key, run, agent, session, "", "planner_note", b'{"Note":"n"}', NOW)


def streams(sink: Sink) -> Stream:
    return Stream(sink)


async def types_of(store: MemoryStore, run: str = "run") -> Sequence[str]:
    return [record.type for record in (await store.list_run_records(run)).records]
