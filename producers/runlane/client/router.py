"""Brings a command to the lane that decides it (design, Run ids)."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar, assert_never

from runlane.client.asking import Asking, Trip
from runlane.client.lanes import LaneCache
from runlane.contract.commands import (
    AppendRunRecord,
    ClaimReceipt,
    ClaimRun,
    Command,
    CreateSession,
    EndSession,
    EnsureRunSuspension,
    EnsureRunTerminal,
    PurgeSession,
    RecordRunCancellation,
    RecordRunSuspension,
    RecordRunTerminal,
    RunCommand,
    StartChildRun,
    StartOneShotChildRun,
    StartOneShotRun,
    StartRootRun,
)
from runlane.contract.errors import ContractError, KafkaNotPermitted, NotPermitted, RunNotFound, WrongLane
from runlane.contract.ids import run_lane, session_lane
from runlane.contract.outcomes import ClaimResult, Result

_ResultT = TypeVar("_ResultT", bound=Result)


def expect(result: Result, kind: type[_ResultT]) -> _ResultT:
    """Return ``result`` as the kind that its command answers with; any other one is a fault of the owner."""
    if isinstance(result, kind):
        return result
    raise ContractError(f"the owner answered with {type(result).__name__}", code="unexpected_result")


class Router:
    """Claims run ids before their starts, follows ``WrongLane`` once and remembers where runs live."""

    def __init__(self, asking: Asking, lanes: LaneCache) -> None:
        self._asking = asking
        self._lanes = lanes

    async def route(self, command: Command, trip: Trip) -> Result:
        """Return the command's result, or raise the error of its outcome or of the way to it."""
        match command:
            case CreateSession() | EndSession() | PurgeSession():
                return await self._asking.result(session_lane(command.session_id), command, trip)
            case ClaimRun():
                return await self._claim(command, trip)
            case StartRootRun() | StartChildRun():
                return await self._start(session_lane(command.run.session_id), command, trip)
            case StartOneShotRun():
                return await self._start_one_shot(command, trip)
            case StartOneShotChildRun():
                return await self._start(await self._parent_lane(command, trip), command, trip)
            case AppendRunRecord(record=record):
                return await self._by_run(record.run_id if record is not None else "", command, trip)
            case (
                RecordRunCancellation()
                | RecordRunSuspension()
                | RecordRunTerminal()
                | EnsureRunTerminal()
                | EnsureRunSuspension()
            ):
                return await self._by_run(command.run_id, command, trip)
            case _:
                assert_never(command)

    async def _claim(self, command: ClaimRun, trip: Trip) -> ClaimResult:
        answer = await self._asking.result(run_lane(command.run_id), command, trip)
        self._lanes.put(command.run_id, command.lane)
        return expect(answer, ClaimResult)

    async def _start(
        self, lane: str, command: StartRootRun | StartChildRun | StartOneShotChildRun, trip: Trip
    ) -> Result:
        receipt = command.receipt or await self._receipt(command.run.run_id, lane, trip)
        return await self._asking.result(lane, replace(command, receipt=receipt), trip)

    async def _receipt(self, run_id: str, lane: str, trip: Trip) -> ClaimReceipt:
        return (await self._claim(ClaimRun(run_id, lane), trip)).receipt

    async def _start_one_shot(self, command: StartOneShotRun, trip: Trip) -> Result:
        lane = run_lane(command.run.run_id)
        result = await self._asking.result(lane, command, trip)
        self._lanes.put(command.run.run_id, lane)
        return result

    def lane_of(self, run_id: str) -> str:
        """Return the lane of a sessionless run as far as it is known here, else that of a root run."""
        return self._lanes.get(run_id) or run_lane(run_id)

    async def _parent_lane(self, command: StartOneShotChildRun, trip: Trip) -> str:
        """Return the lane of the parent; the owner of ``r/<parent>`` knows it when this store does not.

        Asked there without a receipt, the start cannot happen: the answer names another lane, or misses the
        receipt.
        """
        parent = command.run.parent_run_id
        lane = self._lanes.get(parent)
        if lane is not None:
            return lane
        lane = run_lane(parent)
        try:
            await self._asking.result(lane, replace(command, receipt=None), trip)
        except WrongLane as wrong:
            lane = wrong.lane
        except KafkaNotPermitted:
            raise
        except NotPermitted:
            pass
        self._lanes.put(parent, lane)
        return lane

    async def _by_run(self, run_id: str, command: RunCommand, trip: Trip) -> Result:
        missing: RunNotFound | None = None
        home, known = run_lane(run_id), self._lanes.get(run_id)
        if known is not None and known != home:
            try:
                return await self._asking.result(known, command, trip)
            except RunNotFound as error:
                missing = error
            except WrongLane:
                pass
        try:
            return await self._asking.result(home, command, trip)
        except WrongLane as wrong:
            if missing is not None and wrong.lane == known:
                raise missing from None
            self._lanes.put(run_id, wrong.lane)
            return await self._asking.result(wrong.lane, command, trip)
