"""The embedded stack as a backend of the behaviour cases: its broker takes commands, its read API reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path

from runlane.client import Connection, SyncRunStore
from runlane.contract.commands import Command
from runlane.contract.outcomes import Result
from runlane.contract.topics import EMBEDDED_PARTITIONS
from runlane.contract.values import Page, RunMeta, RunStatus, RunSuspension, Session, SessionStatus
from runlane.service.embedded.folder import CONNECTION_FILE
from runlane.service.journal import endpoint_dsn
from runlane.store.engine import ClientPool, connect
from tests.contract.cases.backend import Growth
from tests.service.commands import Process

_WRITTEN = """
WITH block > {seen:Array(Int64)}[partition + 1] AS new
SELECT
    partition,
    maxIf(block, kind = 'commit'),
    countIf(new AND kind = 'record'),
    countIf(new AND kind IN ('run', 'session', 'checkpoint', 'tombstone'))
FROM journal GROUP BY partition ORDER BY partition
"""
_NOTHING = [-1] * EMBEDDED_PARTITIONS


class RunningStack:
    """A stack that serves one test after the other: each gets ids of its own."""

    def __init__(self, sync: SyncRunStore, journal: ClientPool) -> None:
        self.sync = sync
        self.journal = journal
        self.namespaces = (f"case-{number}/" for number in count(1))


class StackBackend:
    """The store of one test. What a command left is read from the journal, over the ClickHouse endpoint."""

    def __init__(self, stack: RunningStack) -> None:
        self.namespace = next(stack.namespaces)
        self._sync = stack.sync
        self._journal = stack.journal
        self._seen = _NOTHING
        self.journal_growth()

    def execute(self, command: Command) -> Result:
        return self._sync.execute(command)

    def journal_growth(self) -> Growth:
        rows = self._journal.query(_WRITTEN, {"seen": self._seen})
        self._seen = [int(block) for _, block, _, _ in rows]
        return Growth(sum(int(row[2]) for row in rows), sum(int(row[3]) for row in rows))

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


@contextmanager
def running_stack(data: Path) -> Iterator[RunningStack]:
    """Run a stack in a process of its own, since this one may open the engine on another folder."""
    with Process("up", "--data", str(data), "--port", "0") as stack, ExitStack() as parts:
        stack.wait_for("Ctrl-C")
        file = data / CONNECTION_FILE
        sync = parts.enter_context(SyncRunStore.from_connection(file))
        journal = connect(endpoint_dsn(Connection.load(file)))
        parts.callback(journal.close)
        yield RunningStack(sync, journal)
