"""The embedded stack as a backend of the behaviour cases: commands over its broker, reads over its read API."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path

from runlane.client import Connection, SyncRunStore
from runlane.contract.commands import Command
from runlane.contract.outcomes import Result
from runlane.contract.values import Page, RunMeta, RunStatus, RunSuspension, Session, SessionStatus
from runlane.service.embedded.folder import CONNECTION_FILE
from runlane.service.journal import endpoint_dsn
from runlane.store.engine import ClientPool, connect
from tests.contract.cases.backend import Growth
from tests.service.commands import Process

_LAST_BLOCKS = "SELECT partition, max(block) FROM journal WHERE kind = 'commit' GROUP BY partition"
_WRITTEN = """
SELECT countIf(kind = 'record'), countIf(kind IN ('run', 'session', 'checkpoint', 'tombstone'))
FROM journal WHERE partition = {partition:UInt32} AND block > {block:UInt64}
"""


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
        self._seen = self._last_blocks()

    def execute(self, command: Command) -> Result:
        return self._sync.execute(command)

    def journal_growth(self) -> Growth:
        before, self._seen = self._seen, self._last_blocks()
        records = states = 0
        for partition in self._seen:
            values = {"partition": partition, "block": before[partition]}
            ((more_records, more_states),) = self._journal.query(_WRITTEN, values)
            records, states = records + int(more_records), states + int(more_states)
        return Growth(records, states)

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

    def _last_blocks(self) -> dict[int, int]:
        return {int(partition): int(block) for partition, block in self._journal.query(_LAST_BLOCKS)}


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
