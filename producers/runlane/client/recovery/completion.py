"""``ensure_run_completion`` and ``ensure_child_run_link``: what a crash left open is closed (contract 10)."""

from __future__ import annotations

from functools import partial
from typing import Final

from runlane.client.recovery.delivering import publish, redeliver, stream_duty
from runlane.client.recovery.endings import Ending, ending_of
from runlane.client.recovery.patience import Patience
from runlane.client.recovery.ports import Bus, CompletionStore, Engine, EngineCompletion, EngineStatus
from runlane.client.recovery.results import check_repair
from runlane.client.recovery.stored import StoredRun, StoredRuns
from runlane.contract.errors import InvalidCommand, InvalidResult, RunCompletionNotReady
from runlane.contract.outcomes import RepairOutcome, RunRepairResult
from runlane.contract.stream import Stream
from runlane.contract.values import CommittedRecord, RunMeta, RunRecord, RunStatus, SessionStatus

_PATIENCE: Final = Patience()


async def ensure_run_completion(
    run_id: str,
    *,
    store: CompletionStore,
    engine: Engine,
    stream: Stream | None = None,
    bus: Bus | None = None,
    patience: Patience = _PATIENCE,
) -> RunStatus:
    """Make sure that a run whose workflow is over has its end stored and streamed; return its status.

    A run that has an end gets its stream events again: a child its link first, then workflow and end mark. A
    running one is ended as ``engine`` says: ``RunCompletionNotReady`` while it is not finished, and what the
    engine raises passes through. Temporary failures of store and sink are tried again until the caller's own
    time-out. ``RunNotFound``; ``CorruptRun`` when what is stored contradicts itself, before anything is
    written; ``InvalidCommand`` for an active session without stream; ``InvalidResult`` for a store that
    breaks the contract (C376 to C385).
    """
    run = _Recovery(store, engine, stream, bus, patience)
    return await run.ensure_completion(run_id)


async def ensure_child_run_link(
    run_id: str, *, store: CompletionStore, stream: Stream | None = None, patience: Patience = _PATIENCE
) -> None:
    """Deliver the stored link of a session-backed child to the stream again.

    Whether it must go out is decided by its session now. ``InvalidCommand`` for a run without parent or
    session, and for an active session without stream; ``RunNotFound``, ``SessionPurged``; ``CorruptRun``.
    """
    runs = StoredRuns(store, patience)
    meta = await runs.meta(run_id)
    if not meta.parent_run_id or not meta.session_id:
        raise InvalidCommand(
            "only a child run of a session has a link to deliver", code="not_a_session_child"
        )
    link = await runs.load_link(meta)
    load = partial(store.load_session_status, meta.session_id)
    status = await patience.with_retries(load)
    target = stream_duty(meta.session_id, status, stream)
    if target is not None:
        await redeliver(target, link, patience)


class _Recovery:
    def __init__(
        self,
        store: CompletionStore,
        engine: Engine,
        stream: Stream | None,
        bus: Bus | None,
        patience: Patience,
    ) -> None:
        self._store = store
        self._engine = engine
        self._stream = stream
        self._bus = bus
        self._patience = patience
        self._runs = StoredRuns(store, patience)

    async def ensure_completion(self, run_id: str) -> RunStatus:
        if (await self._runs.meta(run_id)).status.terminal:
            return await self._replay(await self._runs.load(run_id))
        completion = await self._engine.query_run_completion(run_id)
        if completion.status is EngineStatus.RUNNING:
            raise RunCompletionNotReady("the engine has not finished the run")
        run = await self._runs.load(run_id)
        if run.meta.status.terminal:
            return await self._replay(run)
        return await self._end(run, completion)

    async def _end(self, run: StoredRun, completion: EngineCompletion) -> RunStatus:
        ending, result = await self._write_end(run.meta, completion)
        if result.outcome is RepairOutcome.DIFFERENT_TERMINAL:
            winner = await self._runs.load(run.meta.run_id)
            if winner.meta.status is not result.status:
                raise InvalidResult("the store names another winner than it holds", code="repair_winner")
            return await self._replay(winner)
        if result.outcome is RepairOutcome.STORED:
            await publish(self._bus, ending.record)
        await self._deliver(run, ending.record, result.record.session_status)
        return result.status

    async def _write_end(self, meta: RunMeta, completion: EngineCompletion) -> tuple[Ending, RunRepairResult]:
        """Write the end; once more when somebody recorded the reason of a cancellation in between."""
        ending = ending_of(meta, completion)
        try:
            return ending, await self._repair(ending)
        except InvalidCommand as refused:
            if refused.code != "reason_mismatch":
                raise
        ending = ending_of(await self._runs.meta(meta.run_id), completion)
        return ending, await self._repair(ending)

    async def _replay(self, run: StoredRun) -> RunStatus:
        assert run.end is not None, "a terminal run was loaded with its end"
        record = _as_written(run.end)
        result = await self._repair(Ending(run.meta.status, record, run.checkpoint))
        if result.outcome is not RepairOutcome.ALREADY_STORED or result.record.id != run.end.id:
            raise InvalidResult("the store does not know the end that it holds", code="repair_replay")
        await self._deliver(run, record, result.record.session_status)
        return run.meta.status

    async def _repair(self, ending: Ending) -> RunRepairResult:
        record, checkpoint = ending.record, ending.checkpoint
        if checkpoint is None:
            ensure = partial(self._store.ensure_run_terminal, record.run_id, ending.status, record=record)
        else:
            ensure = partial(self._store.ensure_run_suspension, record.run_id, checkpoint, record=record)
        result = await self._patience.with_retries(ensure)
        check_repair(result, ending.status)
        return result

    async def _deliver(self, run: StoredRun, end: RunRecord, status: SessionStatus) -> None:
        stream = stream_duty(run.meta.session_id, status, self._stream)
        if stream is None:
            return
        if run.link is not None:
            await redeliver(stream, run.link, self._patience)
        await redeliver(stream, end, self._patience)


def _as_written(record: CommittedRecord) -> RunRecord:
    return RunRecord(
        event_key=record.event_key,
        run_id=record.run_id,
        agent_id=record.agent_id,
        session_id=record.session_id,
        turn_id=record.turn_id,
        type=record.type,
        payload=record.payload,
        timestamp=record.timestamp,
    )
