"""Plays: what a client asks of one lane, and what it must hear by rules much simpler than ``decide``.

A play asks only what those rules foretell: starts, new, repeated and changed records, ends, and what is late.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from runlane.contract.commands import (
    AppendRunRecord,
    Command,
    CreateSession,
    EndSession,
    RecordRunCancellation,
    RecordRunTerminal,
    StartOneShotRun,
    StartRootRun,
)
from runlane.contract.errors import RunlaneError
from runlane.contract.outcomes import AppendResult, OneShotRunStartResult, Result, RootRunStartResult
from runlane.contract.payloads import CANCELLATION_INTENT, CancellationIntent, Failure, RunCompleted
from runlane.contract.values import RunRecord, RunStatus
from tests.e2e.workload import AGENT, AT, end_of, note, start_of

Expected = tuple[str, bool] | str
"""The id of the record and whether it is new; else the code of the refusal, or "done"."""
Line = tuple[Command, Expected]
_LATE = 8
_RUNS = 4
_FAILURE = Failure(message="the model gave up", kind="model_output")


@dataclass
class PlayedRun:
    """A run as its play knows it: the ids of its records by event key, and whether it has ended."""

    run_id: str
    session_id: str
    keys: dict[str, str] = field(default_factory=dict)
    ended: bool = False

    def store(self, key: str) -> Expected:
        """Note a record that must be new."""
        self.keys[key] = str(len(self.keys) + 1)
        return self.keys[key], True

    def again(self, key: str) -> Expected:
        """Return what a repetition must hear."""
        return self.keys[key], False


class Play:
    """The lane of session ``name``, or of a sessionless run of that name; its ``script`` never differs."""

    def __init__(self, name: str, *, with_session: bool) -> None:
        self.name = name
        self.runs: list[PlayedRun] = []
        self._session = name if with_session else ""
        self._random = random.Random(name)

    def script(self, length: int) -> Iterator[Line]:
        """Yield ``length`` commands and what each must hear."""
        beginning = [self._create(), self._start()] if self._session else [self._start()]
        yield from beginning
        for _ in range(length - len(beginning) - _LATE):
            yield self._next()
        yield from self._too_late()

    def _next(self) -> Line:
        run = self._random.choice([run for run in self.runs if not run.ended])
        chance = self._random.random()
        if chance < 0.55:
            key = f"note-{len(run.keys)}"
            return AppendRunRecord(_note(run, key)), run.store(key)
        if chance < 0.65:
            unknown = PlayedRun(f"{run.run_id}/unknown", self._session)
            return AppendRunRecord(_note(unknown, "note-0")), "run_not_found"
        if chance < 0.75:
            return self._cancel(run)
        if chance < 0.85 and self._session:
            return self._start() if len(self.runs) < _RUNS else self._end_one_of_two(run)
        return self._repeat(run)

    def _create(self) -> Line:
        return CreateSession(self._session, AT), "done"

    def _start(self) -> Line:
        number = len(self.runs)
        self.runs.append(
            PlayedRun(f"{self.name}/run-{number}" if self._session else self.name, self._session)
        )
        return _start(self.runs[-1]), self.runs[-1].store("start")

    def _repeat(self, run: PlayedRun) -> Line:
        """Say something again, as it was or changed."""
        key = self._random.choice(list(run.keys))
        if key == "start":
            return _start(run), run.again(key)
        if key == "cancel":
            return _intent(run, "user_requested"), run.again(key)
        if self._random.random() < 0.5:
            return AppendRunRecord(_note(run, key)), run.again(key)
        return AppendRunRecord(_note(run, key, size=33)), "event_conflict"

    def _cancel(self, run: PlayedRun) -> Line:
        if "cancel" in run.keys:
            return _intent(run, "engine_canceled"), "run_cancellation_conflict"
        return _intent(run, "user_requested"), run.store("cancel")

    def _end_one_of_two(self, run: PlayedRun) -> Line:
        if sum(not other.ended for other in self.runs) == 1:
            return self._repeat(run)
        return _end(run, RunStatus.COMPLETED), run.store("end")

    def _too_late(self) -> Iterator[Line]:
        run = next(run for run in self.runs if not run.ended)
        yield _end(run, RunStatus.COMPLETED), run.store("end")
        yield _end(run, RunStatus.COMPLETED), run.again("end")
        yield _end(run, RunStatus.FAILED), "run_terminal_conflict"
        yield AppendRunRecord(_note(run, "late")), "run_not_active"
        yield _start(run), run.again("start")
        if self._session:
            yield EndSession(self._session, AT), "done"
            yield EndSession(self._session, AT), "done"
            yield self._create()[0], "session_ended"
        else:
            for _ in range(3):
                yield AppendRunRecord(_note(run, "late")), "run_not_active"


def heard(answer: Result | RunlaneError) -> Expected:
    """Return an answer in the words of a play."""
    match answer:
        case RunlaneError():
            return answer.code
        case AppendResult():
            return answer.id, answer.inserted
        case RootRunStartResult(started=record) | OneShotRunStartResult(record=record):
            return record.id, record.inserted
        case _:
            return "done"


def _start(run: PlayedRun) -> Command:
    start, started, stopped = start_of(run.run_id, run.session_id)
    if run.session_id:
        return StartRootRun(start, started, stopped)
    return StartOneShotRun(start, started)


def _intent(run: PlayedRun, reason: str) -> Command:
    payload = CancellationIntent(reason=reason).encode()
    record = RunRecord("cancel", run.run_id, AGENT, run.session_id, "", CANCELLATION_INTENT, payload, AT)
    return RecordRunCancellation(run.run_id, reason, record)


def _end(run: PlayedRun, status: RunStatus) -> Command:
    record = end_of(run.run_id, run.session_id)
    if status is RunStatus.FAILED:
        record = replace(record, payload=RunCompleted.failed(_FAILURE).encode())
    else:
        run.ended = True
    return RecordRunTerminal(run.run_id, status, record)


def _note(run: PlayedRun, key: str, *, size: int = 120) -> RunRecord:
    return note(run.run_id, key, session_id=run.session_id, size=size)
