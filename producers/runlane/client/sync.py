"""The store without ``await``: each call runs in one event loop on a thread of its own."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import Self

from runlane.client.follow import Records
from runlane.client.options import ClientOptions
from runlane.client.portal import Portal
from runlane.client.store import RunStore
from runlane.client.sync_memory import SyncMemory
from runlane.client.sync_run import SyncRun
from runlane.contract.codec import Codec
from runlane.contract.commands import Command
from runlane.contract.delta import Delta
from runlane.contract.outcomes import (
    AppendResult,
    ChildRunStartResult,
    ClaimResult,
    OneShotChildRunStartResult,
    OneShotRunStartResult,
    PurgeResult,
    Result,
    RootRunStartResult,
    RunRepairResult,
)
from runlane.contract.reader import RunPage, RunQuery, SessionPage, SessionScope
from runlane.contract.signing import Key
from runlane.contract.topics import DEFAULT_PREFIX
from runlane.contract.values import (
    NO_LABELS,
    CommittedRecord,
    Page,
    RunMeta,
    RunRecord,
    RunStart,
    RunStatus,
    RunSuspension,
    Session,
    SessionStatus,
)
from runlane.kafka import KafkaConfig


class SyncRunStore:
    """``RunStore`` for code without an event loop: the same methods, results and errors, from any thread.

    ``with SyncRunStore.from_connection("connection.json") as store: store.load_run("r")``
    """

    def __init__(self, store: RunStore) -> None:
        self._store = store
        self._portal = Portal()

    @classmethod
    def connect(
        cls,
        kafka: str | KafkaConfig,
        api: str,
        *,
        token: str = "",
        host_key: Key | None = None,
        topic_prefix: str = DEFAULT_PREFIX,
        codec: Codec | None = None,
        options: ClientOptions | None = None,
    ) -> Self:
        """See ``RunStore.connect``."""
        return cls(
            RunStore.connect(
                kafka,
                api,
                token=token,
                host_key=host_key,
                topic_prefix=topic_prefix,
                codec=codec,
                options=options,
            )
        )

    @classmethod
    def from_connection(cls, path: str | os.PathLike[str], *, options: ClientOptions | None = None) -> Self:
        """See ``RunStore.from_connection``."""
        return cls(RunStore.from_connection(path, options=options))

    @classmethod
    def from_env(cls, *, options: ClientOptions | None = None) -> Self:
        """See ``RunStore.from_env``."""
        return cls(RunStore.from_env(options=options))

    def __enter__(self) -> Self:
        """Connect; raises ``Unavailable``."""
        try:
            self._portal.run(self._store.__aenter__())
        except BaseException:
            self._portal.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Let go; whoever still waits for an outcome in another thread gets ``OutcomeUnknown``."""
        try:
            self._portal.run(self._store.__aexit__(kind, error, traceback))
        finally:
            self._portal.close()

    @property
    def memory(self) -> SyncMemory:
        """See ``RunStore.memory``."""
        return SyncMemory(self._portal, self._store.memory)

    def execute(self, command: Command) -> Result:
        """See ``RunStore.execute``."""
        return self._portal.run(self._store.execute(command))

    def run(
        self,
        run_id: str,
        agent_id: str,
        *,
        session_id: str = "",
        labels: Mapping[str, str] = NO_LABELS,
        predecessor_run_id: str = "",
        started_at: datetime | None = None,
    ) -> SyncRun:
        """See ``RunStore.run``: ``with store.run("r", "agent", session_id="s") as run: ...``."""
        run = self._store.run(
            run_id,
            agent_id,
            session_id=session_id,
            labels=labels,
            predecessor_run_id=predecessor_run_id,
            started_at=started_at,
        )
        return SyncRun(self._portal, run)

    def follow(self, *, run: str = "", session: str = "", after: str = "") -> Iterator[CommittedRecord]:
        """See ``RunStore.follow``: ``for record in store.follow(run="r")``."""
        records = self._store.follow(run=run, session=session, after=after)
        try:
            while (record := self._portal.run(_next(records))) is not None:
                yield record
        finally:
            self._portal.run(records.aclose())

    def send_delta(self, delta: Delta, *, session_id: str = "") -> None:
        """See ``RunStore.send_delta``."""
        self._portal.run(_send_delta(self._store, delta, session_id))

    def start_root_run(
        self, run: RunStart, *, started: RunRecord | None, canceled: RunRecord | None
    ) -> RootRunStartResult:
        """See ``RunStore.start_root_run``."""
        return self._portal.run(self._store.start_root_run(run, started=started, canceled=canceled))

    def start_child_run(
        self,
        run: RunStart,
        *,
        parent_linked: RunRecord | None,
        started: RunRecord | None,
        canceled: RunRecord | None,
    ) -> ChildRunStartResult:
        """See ``RunStore.start_child_run``."""
        return self._portal.run(
            self._store.start_child_run(run, parent_linked=parent_linked, started=started, canceled=canceled)
        )

    def start_one_shot_run(self, run: RunStart, *, started: RunRecord | None) -> OneShotRunStartResult:
        """See ``RunStore.start_one_shot_run``."""
        return self._portal.run(self._store.start_one_shot_run(run, started=started))

    def start_one_shot_child_run(
        self, run: RunStart, *, parent_linked: RunRecord | None, started: RunRecord | None
    ) -> OneShotChildRunStartResult:
        """See ``RunStore.start_one_shot_child_run``."""
        return self._portal.run(
            self._store.start_one_shot_child_run(run, parent_linked=parent_linked, started=started)
        )

    def append_run_record(self, record: RunRecord | None, *, after_key: str = "") -> AppendResult:
        """See ``RunStore.append_run_record``."""
        return self._portal.run(self._store.append_run_record(record, after_key=after_key))

    def record_run_cancellation(self, run_id: str, reason: str, *, record: RunRecord | None) -> AppendResult:
        """See ``RunStore.record_run_cancellation``."""
        return self._portal.run(self._store.record_run_cancellation(run_id, reason, record=record))

    def record_run_suspension(
        self, run_id: str, suspension: RunSuspension, *, record: RunRecord | None
    ) -> AppendResult:
        """See ``RunStore.record_run_suspension``."""
        return self._portal.run(self._store.record_run_suspension(run_id, suspension, record=record))

    def record_run_terminal(
        self, run_id: str, status: RunStatus | str, *, record: RunRecord | None
    ) -> AppendResult:
        """See ``RunStore.record_run_terminal``."""
        return self._portal.run(self._store.record_run_terminal(run_id, status, record=record))

    def ensure_run_terminal(
        self, run_id: str, status: RunStatus | str, *, record: RunRecord | None
    ) -> RunRepairResult:
        """See ``RunStore.ensure_run_terminal``."""
        return self._portal.run(self._store.ensure_run_terminal(run_id, status, record=record))

    def ensure_run_suspension(
        self, run_id: str, suspension: RunSuspension, *, record: RunRecord | None
    ) -> RunRepairResult:
        """See ``RunStore.ensure_run_suspension``."""
        return self._portal.run(self._store.ensure_run_suspension(run_id, suspension, record=record))

    def create_session(self, session_id: str, at: datetime | None) -> Session:
        """See ``RunStore.create_session``."""
        return self._portal.run(self._store.create_session(session_id, at))

    def end_session(self, session_id: str, at: datetime | None) -> Session:
        """See ``RunStore.end_session``."""
        return self._portal.run(self._store.end_session(session_id, at))

    def purge_session(self, session_id: str) -> PurgeResult:
        """See ``RunStore.purge_session``."""
        return self._portal.run(self._store.purge_session(session_id))

    def claim_run(self, run_id: str, lane: str) -> ClaimResult:
        """See ``RunStore.claim_run``."""
        return self._portal.run(self._store.claim_run(run_id, lane))

    def load_run(self, run_id: str) -> RunMeta:
        """See ``RunStore.load_run``."""
        return self._portal.run(self._store.load_run(run_id))

    def load_run_suspension(self, run_id: str) -> RunSuspension:
        """See ``RunStore.load_run_suspension``."""
        return self._portal.run(self._store.load_run_suspension(run_id))

    def load_session(self, session_id: str) -> Session:
        """See ``RunStore.load_session``."""
        return self._portal.run(self._store.load_session(session_id))

    def load_session_status(self, session_id: str) -> SessionStatus:
        """See ``RunStore.load_session_status``."""
        return self._portal.run(self._store.load_session_status(session_id))

    def list_runs_by_session(
        self, session_id: str, statuses: Sequence[RunStatus] = ()
    ) -> tuple[RunMeta, ...]:
        """See ``RunStore.list_runs_by_session``."""
        return self._portal.run(self._store.list_runs_by_session(session_id, statuses))

    def list_run_records(self, run_id: str, cursor: str = "", limit: int = 100) -> Page:
        """See ``RunStore.list_run_records``."""
        return self._portal.run(self._store.list_run_records(run_id, cursor, limit))

    def list_session_run_records(self, session_id: str, cursor: str = "", limit: int = 100) -> Page:
        """See ``RunStore.list_session_run_records``."""
        return self._portal.run(self._store.list_session_run_records(session_id, cursor, limit))

    def list_sessions(
        self,
        status: SessionStatus | None = None,
        cursor: str = "",
        limit: int = 100,
        scope: SessionScope | None = None,
    ) -> SessionPage:
        """See ``RunStore.list_sessions``."""
        return self._portal.run(self._store.list_sessions(status, cursor, limit, scope))

    def search_runs(self, query: RunQuery) -> RunPage:
        """See ``RunStore.search_runs``."""
        return self._portal.run(self._store.search_runs(query))


async def _next(records: Records) -> CommittedRecord | None:
    return await anext(records, None)


async def _send_delta(store: RunStore, delta: Delta, session_id: str) -> None:
    store.send_delta(delta, session_id=session_id)
