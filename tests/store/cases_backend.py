"""The journal as a backend of the behaviour cases: every command is a block, decided on lanes loaded cold."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from runlane.contract.commands import Command
from runlane.contract.decide import LaneState, named_keys
from runlane.contract.errors import from_info
from runlane.contract.ids import lane_fault
from runlane.contract.outcomes import Result
from runlane.contract.partitioner import partition_for
from runlane.contract.values import Page, RunMeta, RunStatus, RunSuspension, Session, SessionStatus
from runlane.store.engine import connect
from runlane.store.reader import JournalReader
from tests.contract.cases.decide_backend import DecideBackend
from tests.store.world import PARTITIONS, World

_NO_ROOM = 1
_ROOM = 10**9


class JournalBackend(DecideBackend):
    """Every other command finds its lane too large to load, so that the keys it names are read one by one."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self._world = world
        self._reader = JournalReader(world.pool)

    def lane(self, name: str) -> LaneState:
        return LaneState(name) if lane_fault(name) else self._world.lanes.load(name, max_bytes=_ROOM)

    def load_run(self, run_id: str) -> RunMeta:
        return self._reader.load_run(run_id)

    def load_run_suspension(self, run_id: str) -> RunSuspension:
        return self._reader.load_run_suspension(run_id)

    def load_session(self, session_id: str) -> Session:
        return self._reader.load_session(session_id)

    def load_session_status(self, session_id: str) -> SessionStatus:
        return self._reader.load_session_status(session_id)

    def list_runs_by_session(self, session_id: str, statuses: Sequence[RunStatus] = ()) -> Sequence[RunMeta]:
        return self._reader.list_runs_by_session(session_id, statuses)

    def list_run_records(self, run_id: str, cursor: str, limit: int) -> Page:
        return self._reader.list_run_records(run_id, cursor, limit)

    def list_session_run_records(self, session_id: str, cursor: str, limit: int) -> Page:
        return self._reader.list_session_run_records(session_id, cursor, limit)

    def _run(self, lane: str, command: Command) -> Result:
        self.block += 1
        world = self._world
        if lane_fault(lane):
            # No message has such a key; a case asks only what `decide` says.
            return super()._run(lane, command)
        state = world.lanes.load(lane, max_bytes=_NO_ROOM if self.block % 2 else _ROOM)
        pairs = state.missing_keys(named_keys(command))
        if pairs:
            state.learn_keys(pairs, world.lanes.load_keys(lane, pairs))
        world.states[lane] = state
        partition = partition_for(lane.encode(), PARTITIONS)
        ((answer, decision),) = world.decisions(partition, (lane, command))
        world.commit_decided(partition, [(answer, decision.changes)])
        self._write(lane, decision.changes)
        if decision.error is not None:
            raise from_info(decision.error)
        assert decision.result is not None
        return decision.result


@contextmanager
def open_journal() -> Iterator[JournalBackend]:
    """Open a fresh journal on the embedded engine."""
    with tempfile.TemporaryDirectory() as folder:
        pool = connect(f"chdb://{folder}/clickhouse")
        try:
            yield JournalBackend(World(pool))
        finally:
            pool.close()
