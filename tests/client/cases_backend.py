"""The store of the pytest plugin as a backend of the behaviour cases, through the sync twin."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from runlane.client import MemoryStore, SyncRunStore
from runlane.contract.commands import Command
from runlane.contract.outcomes import Result
from runlane.contract.state import RunState, SessionState
from runlane.contract.values import Page, RunMeta, RunStatus, RunSuspension, Session, SessionStatus
from tests.contract.cases.backend import Growth

_State = RunState | SessionState | RunSuspension | None


class MemoryBackend:
    """A `MemoryStore` without `await`; counts what each command left in its lanes."""

    namespace = ""

    def __init__(self, store: MemoryStore, sync: SyncRunStore) -> None:
        self._lanes = store.lanes
        self._sync = sync
        self._records = 0
        self._states: dict[str, _State] = {}

    def execute(self, command: Command) -> Result:
        return self._sync.execute(command)

    def journal_growth(self) -> Growth:
        records, states = self._count()
        changed = sum(self._states.get(name) != state for name, state in states.items())
        growth = Growth(records - self._records, changed)
        self._records, self._states = records, states
        return growth

    def load_run(self, run_id: str) -> RunMeta:
        return self._sync.load_run(run_id)

    def load_run_suspension(self, run_id: str) -> RunSuspension:
        return self._sync.load_run_suspension(run_id)

    def load_session(self, session_id: str) -> Session:
        return self._sync.load_session(session_id)

    def load_session_status(self, session_id: str) -> SessionStatus:
        return self._sync.load_session_status(session_id)

    def list_runs_by_session(self, session_id: str, statuses: Sequence[RunStatus] = ()) -> Sequence[RunMeta]:
        return self._sync.list_runs_by_session(session_id, statuses)

    def list_run_records(self, run_id: str, cursor: str, limit: int) -> Page:
        return self._sync.list_run_records(run_id, cursor, limit)

    def list_session_run_records(self, session_id: str, cursor: str, limit: int) -> Page:
        return self._sync.list_session_run_records(session_id, cursor, limit)

    def _count(self) -> tuple[int, dict[str, _State]]:
        states: dict[str, _State] = {}
        records = 0
        for lane in self._lanes.all():
            records += lane.next_lane_seq - 1
            states[f"session {lane.lane}"] = lane.session
            for run in lane.runs():
                states[f"run {run.run_id}"] = run
                states[f"checkpoint {run.run_id}"] = self._lanes.checkpoint(run.run_id)
        return records, states


@contextmanager
def open_memory() -> Iterator[MemoryBackend]:
    store = MemoryStore()
    with SyncRunStore(store) as sync:
        yield MemoryBackend(store, sync)
