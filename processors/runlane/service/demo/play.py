"""Tells the script to a store and counts what it answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass

from runlane.client import RunStore
from runlane.contract.errors import ContractError
from runlane.contract.outcomes import (
    AppendResult,
    ChildRunStartResult,
    Result,
    RootRunStartResult,
    RunRepairResult,
)
from runlane.service.demo.script import Step


@dataclass(frozen=True, slots=True)
class Pass:
    """What one telling did: records ``written`` or ``repeated``, and host commands that were ``known``."""

    written: int
    repeated: int
    known: int


async def play(
    store: RunStore, steps: Iterable[Step], on_step: Callable[[Step], Awaitable[None] | None]
) -> Pass:
    """Run all steps in order, telling ``on_step`` after each.

    A refusal that the step names as its late answer counts as known; any other ends the telling.
    """
    written = repeated = known = 0
    for step in steps:
        try:
            result = await store.execute(step.command)
        except ContractError as refused:
            if refused.code != step.late_answer:
                raise
            known += 1
        else:
            records = appended(result)
            written += sum(record.inserted for record in records)
            repeated += sum(not record.inserted for record in records)
        told = on_step(step)
        if told is not None:
            await told
    return Pass(written, repeated, known)


def appended(result: Result) -> tuple[AppendResult, ...]:
    """Return the records that a result tells of, written now or before."""
    match result:
        case AppendResult():
            found: tuple[AppendResult, ...] = (result,)
        case RootRunStartResult():
            found = (result.started, result.canceled)
        case ChildRunStartResult():
            found = (result.parent_record, result.started, result.canceled)
        case RunRepairResult():
            found = (result.record,)
        case _:
            found = ()
    return tuple(record for record in found if record.id)
