"""The storage activity: one step of a workflow that writes and then delivers (contract 8, 10)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, assert_never

from runlane.client.recovery.delivering import publish
from runlane.client.recovery.ports import Bus
from runlane.client.recovery.results import check_start
from runlane.contract.commands import (
    AppendRunRecord,
    Command,
    RecordRunCancellation,
    RecordRunSuspension,
    RecordRunTerminal,
    StartChildRun,
    StartCommand,
    StartOneShotChildRun,
    StartOneShotRun,
    StartRootRun,
)
from runlane.contract.errors import InvalidCommand, InvalidResult, RunCancellationConflict
from runlane.contract.outcomes import (
    NO_RECORD,
    AppendResult,
    ChildRunStartResult,
    OneShotChildRunStartResult,
    OneShotRunStartResult,
    Result,
    RootRunStartResult,
)
from runlane.contract.stream import Stream
from runlane.contract.values import RunRecord, StartOutcome

_Written = tuple[RunRecord | None, AppendResult]


class CancellationOutcome(StrEnum):
    """Whether a reason was taken: another one, or another record of it, may stand already (contract 3)."""

    ACCEPTED = "accepted"
    CONFLICT = "conflict"


@dataclass(frozen=True, slots=True)
class CancellationResult:
    """What became of a cancellation; ``record`` is ``NO_RECORD`` for a conflict."""

    outcome: CancellationOutcome
    record: AppendResult = NO_RECORD


class Executor(Protocol):
    """The one operation of the store that the activity uses; ``RunStore`` has it."""

    async def execute(self, command: Command) -> Result:
        """Run any command and return its result."""
        ...


class StorageActivity:
    """Writes, then tells bus and stream: ``await StorageActivity(store, stream=stream).append([record])``.

    The bus hears of a record once, from the call that wrote it, and its failures are logged. The stream gets
    the events of every record that an active session holds, also those of an exact retry; a failing sink
    fails the activity, and repeating the activity is safe. A ``ContractError`` must not be retried by the
    engine, anything else may.
    """

    def __init__(self, store: Executor, *, stream: Stream | None = None, bus: Bus | None = None) -> None:
        self._store = store
        self._stream = stream
        self._bus = bus

    async def append(self, records: Sequence[RunRecord]) -> tuple[AppendResult, ...]:
        """Append records in order, at least one, up to the first that fails.

        Repeated, it finds the records that it stored and goes on (C386). Errors as of
        ``RunStore.append_run_record``.
        """
        if not records:
            raise InvalidCommand("an append holds at least one record", code="record_required")
        return tuple([await self._append(AppendRunRecord(record)) for record in records])

    async def start(self, command: StartCommand) -> StartOutcome:
        """Start a run and deliver its records: link, start, and completion when it was stopped.

        Errors as of the start operations; ``InvalidResult`` for an answer that cannot be (C388).
        """
        outcome, written = _started(command, await self._store.execute(command))
        one_shot = isinstance(command, StartOneShotRun | StartOneShotChildRun)
        check_start(outcome, [result for _, result in written], one_shot=one_shot)
        for record, result in written:
            await self._tell(record, result)
        return outcome

    async def cancel(self, command: RecordRunCancellation) -> CancellationResult:
        """Record a cancellation; a conflict is an outcome, not an error (contract 3)."""
        try:
            return CancellationResult(CancellationOutcome.ACCEPTED, await self._append(command))
        except RunCancellationConflict:
            return CancellationResult(CancellationOutcome.CONFLICT)

    async def end(self, command: RecordRunSuspension | RecordRunTerminal) -> AppendResult:
        """Suspend or end a run; errors as of the operation."""
        return await self._append(command)

    async def _append(
        self, command: AppendRunRecord | RecordRunCancellation | RecordRunSuspension | RecordRunTerminal
    ) -> AppendResult:
        result = await self._store.execute(command)
        if not isinstance(result, AppendResult):
            raise _foreign(result)
        await self._tell(command.record, result)
        return result

    async def _tell(self, record: RunRecord | None, result: AppendResult) -> None:
        assert record is not None, "a command without record is refused"
        if result.inserted:
            await publish(self._bus, record)
        if self._stream is not None:
            await self._stream.deliver(record, result.session_status)


def _started(command: StartCommand, result: Result) -> tuple[StartOutcome, list[_Written]]:
    """Return the outcome of a start, and its records in the order of delivery with their results."""
    match command:
        case StartRootRun():
            if isinstance(result, RootRunStartResult):
                written: list[_Written] = [(command.started, result.started)]
                return result.outcome, written + _stopped(command, result)
        case StartChildRun():
            if isinstance(result, ChildRunStartResult):
                written = [(command.parent_linked, result.parent_record), (command.started, result.started)]
                return result.outcome, written + _stopped(command, result)
        case StartOneShotRun():
            if isinstance(result, OneShotRunStartResult):
                return StartOutcome.PROCEED, [(command.started, result.record)]
        case StartOneShotChildRun():
            if isinstance(result, OneShotChildRunStartResult):
                written = [(command.parent_linked, result.parent_record), (command.started, result.started)]
                return StartOutcome.PROCEED, written
        case _:
            assert_never(command)
    raise _foreign(result)


def _stopped(
    command: StartRootRun | StartChildRun, result: RootRunStartResult | ChildRunStartResult
) -> list[_Written]:
    return [(command.canceled, result.canceled)] if result.outcome is StartOutcome.STOP else []


def _foreign(result: Result) -> InvalidResult:
    return InvalidResult(f"the store answered with {type(result).__name__}", code="result_kind")
