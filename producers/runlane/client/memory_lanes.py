"""All lanes in this process: decides letters at once and keeps what was committed."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

from runlane.client.transport import Letter, Listener, Sent
from runlane.contract.commands import (
    Command,
    StartChildRun,
    StartOneShotChildRun,
    StartRootRun,
)
from runlane.contract.decide import LaneState, Meta, decide
from runlane.contract.ids import run_lane
from runlane.contract.memory import AppendMemory, DeleteMemory
from runlane.contract.outcomes import Outcome
from runlane.contract.state import Changes, RunState
from runlane.contract.values import CommittedRecord, RunSuspension

PARTITION = 0


class MemoryLanes:
    """A transport that is its own owner: every command is one block of one partition.

    ``host`` says whether host commands count as signed. Safe to use from several event loops at once.
    """

    def __init__(self, clock: Callable[[], datetime], *, host: bool) -> None:
        self._clock = clock
        self._host = host
        self._listener: Listener | None = None
        self._lock = threading.Lock()
        self._lanes: dict[str, LaneState] = {}
        self._history: dict[str, list[CommittedRecord]] = {}
        self._checkpoints: dict[str, RunSuspension] = {}
        self._now = datetime.min.replace(tzinfo=UTC)
        self._blocks = 0

    def listen(self, listener: Listener) -> None:
        """Answer to ``listener`` from now on."""
        self._listener = listener

    async def open(self, listener: Listener) -> None:
        """Answer to ``listener`` from now on."""
        self.listen(listener)

    async def close(self) -> None:
        """Keep everything: a store in memory is open as long as it exists."""

    def seal(self, lane: str, command: Sent, correlation_id: str) -> Letter:
        """Return the letter; it takes no bytes in flight worth counting."""
        return Letter(lane, correlation_id, command, PARTITION, 1)

    def send(self, letter: Letter) -> None:
        """Decide and commit the command; its outcome comes with the next turn of the event loop."""
        with self._lock:
            outcome = self._commit(letter)
        if self._listener is not None:
            asyncio.get_running_loop().call_soon(self._listener.answered, outcome)

    def send_delta(self, lane: str, body: bytes) -> None:
        """Drop it: nobody watches."""

    def lane(self, lane: str) -> LaneState:
        """Return a lane's state, that of an untouched one when nothing was written to it."""
        return self._lanes.get(lane) or LaneState(lane)

    def now(self) -> datetime:
        """Return the time of the last commit."""
        return self._now

    def run(self, run_id: str) -> RunState | None:
        """Return a run wherever it lives."""
        lane = self._lane_of(run_id)
        return None if lane is None else lane.run(run_id)

    def run_history(self, run_id: str) -> list[CommittedRecord]:
        """Return a run's records in commit order."""
        lane = self._lane_of(run_id)
        return [] if lane is None else [r for r in self.history(lane.lane) if r.run_id == run_id]

    def runs(self) -> Iterator[RunState]:
        """Iterate over all runs."""
        for lane in self.all():
            yield from list(lane.runs())

    def all(self) -> list[LaneState]:
        """Return every lane that was written to."""
        return list(self._lanes.values())

    def history(self, lane: str) -> list[CommittedRecord]:
        """Return a lane's records in commit order, lane events included."""
        return self._history.get(lane, [])

    def checkpoint(self, run_id: str) -> RunSuspension | None:
        """Return a run's checkpoint."""
        return self._checkpoints.get(run_id)

    def _lane_of(self, run_id: str) -> LaneState | None:
        claim = self.lane(run_lane(run_id)).claim(run_id)
        return None if claim is None else self.lane(claim.lane)

    def _commit(self, letter: Letter) -> Outcome:
        command, state = letter.command, self.lane(letter.lane)
        assert not isinstance(command, AppendMemory | DeleteMemory), "memory is kept apart from lanes here"
        block = self._blocks
        self._blocks += 1
        self._now = max(self._now, self._clock().astimezone(UTC))
        meta = Meta(self._now, PARTITION, block, self._host, self._receipt_valid(command))
        decision = decide(state, command, meta)
        if not decision.changes.empty:
            self._apply(state, decision.changes)
        return Outcome(letter.correlation_id, PARTITION, block, block, decision.result, decision.error)

    def _apply(self, state: LaneState, changes: Changes) -> None:
        if changes.purged:
            for run in state.runs():
                self._checkpoints.pop(run.run_id, None)
            self._history.pop(state.lane, None)
        state.apply(changes)
        self._lanes[state.lane] = state
        self._history.setdefault(state.lane, []).extend(changes.records)
        if changes.checkpoint is not None:
            self._checkpoints[changes.checkpoint.run_id] = changes.checkpoint.suspension

    def _receipt_valid(self, command: Command) -> bool:
        if not isinstance(command, StartRootRun | StartChildRun | StartOneShotChildRun):
            return False
        receipt = command.receipt
        if receipt is None:
            return False
        # A receipt is true when it says what the claim says; in one process nobody has to sign it.
        claim = self.lane(run_lane(receipt.run_id)).claim(receipt.run_id)
        return claim is not None and (claim.lane, claim.block) == (receipt.lane, receipt.block)
