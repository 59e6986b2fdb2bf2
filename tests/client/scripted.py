"""A transport whose faults are written down: each send takes the next step of a script."""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import Callable
from datetime import UTC, datetime
from enum import Enum, auto

import pytest

from runlane.client import ClientOptions, Letter, Listener, RunStore
from runlane.client.memory_lanes import MemoryLanes
from runlane.client.memory_reader import MemoryReader
from runlane.contract.commands import Command
from runlane.contract.errors import KafkaNotPermitted, RunlaneError, Unavailable
from runlane.contract.outcomes import Outcome

NOW = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)


class Step(Enum):
    """What becomes of one send."""

    ANSWER = auto()
    ANSWER_TWICE = auto()
    LOSE_OUTCOME = auto()  # decided, but its outcome never comes
    HOLD_OUTCOME = auto()  # its outcome comes with `release`
    DROP = auto()  # never reaches the owner
    FAIL_DELIVERY = auto()  # never reaches the owner, and the transport says so
    REFUSE = auto()  # the transport takes nothing now
    FORBID = auto()  # the broker refuses our user
    BUSY = auto()  # the owner answers with a temporary failure


class ScriptedTransport:
    """Lanes in memory behind a faulty wire; records every letter that was sent."""

    def __init__(self, *steps: Step, size: int = 1) -> None:
        self.lanes = MemoryLanes(lambda: NOW, host=True)
        self.lanes.listen(self)
        self.sent: list[Letter] = []
        self.deltas: list[tuple[str, bytes]] = []
        self.delivered: list[Outcome] = []
        self.in_flight = 0
        self.most_in_flight = 0
        self.refused = 0
        self.opened = False
        self._size = size
        self._steps = deque(steps)
        self._answers: dict[str, deque[Step]] = defaultdict(deque)
        self._held: list[Outcome] = []
        self._listener: Listener | None = None

    @property
    def listener(self) -> Listener:
        assert self._listener is not None, "opened"
        return self._listener

    def script(self, *steps: Step) -> None:
        """Let the next sends go this way; forgets which were sent before."""
        self.sent.clear()
        self._steps = deque(steps)

    def wipe(self) -> None:
        """Lose everything that was ever committed."""
        self.lanes = MemoryLanes(lambda: NOW, host=True)
        self.lanes.listen(self)

    def release(self) -> None:
        """Let the held outcomes come."""
        held, self._held = self._held, []
        for outcome in held:
            self._deliver(outcome)

    async def open(self, listener: Listener) -> None:
        self._listener = listener
        self.opened = True

    async def close(self) -> None:
        self.opened = False

    def send_delta(self, lane: str, body: bytes) -> None:
        self.deltas.append((lane, body))

    def seal(self, lane: str, command: Command, correlation_id: str) -> Letter:
        return Letter(lane, correlation_id, command, 0, self._size, repr(command).encode())

    def send(self, letter: Letter) -> None:
        step = self._steps.popleft() if self._steps else Step.ANSWER
        if step is Step.REFUSE:
            self.refused += 1
            raise Unavailable("the wire is cut", code="cut")
        if step is Step.FORBID:
            raise KafkaNotPermitted("the broker refuses our user")
        self.sent.append(letter)
        self.in_flight += letter.size
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        loop = asyncio.get_running_loop()
        if step is Step.FAIL_DELIVERY:
            failure: RunlaneError = Unavailable("delivery failed")
            loop.call_soon(self.listener.failed, letter.correlation_id, failure)
        elif step is Step.BUSY:
            busy = Outcome(letter.correlation_id, 0, 0, 0, None, Unavailable("busy").info())
            loop.call_soon(self._deliver, busy)
        elif step is not Step.DROP:
            self._answers[letter.correlation_id].append(step)
            self.lanes.send(letter)

    # What the lanes tell

    def waits_for(self, correlation_id: str) -> bool:
        return correlation_id in self._answers

    def moved(self) -> None:
        raise AssertionError("lanes in memory do not move")

    def failed(self, correlation_id: str, error: RunlaneError) -> None:
        raise AssertionError("lanes in memory always deliver")

    def answered(self, outcome: Outcome) -> None:
        self.in_flight -= self._size
        match self._answers[outcome.correlation_id].popleft():
            case Step.ANSWER_TWICE:
                self._deliver(outcome)
                self._deliver(outcome)
            case Step.HOLD_OUTCOME:
                self._held.append(outcome)
            case Step.ANSWER:
                self._deliver(outcome)
            case _:
                pass

    def _deliver(self, outcome: Outcome) -> None:
        self.delivered.append(outcome)
        self.listener.answered(outcome)


async def until(holds: Callable[[], bool]) -> None:
    """Let the event loop go on until something holds."""
    while not holds():  # noqa: ASYNC110 - what is waited for has no event
        await asyncio.sleep(0)


def leap(seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the loop's clock jump, so that no pace of this machine decides what comes first."""
    loop, time = asyncio.get_running_loop(), asyncio.get_running_loop().time
    monkeypatch.setattr(loop, "time", lambda: time() + seconds)


QUICK = ClientOptions(timeout=60, answer_wait=0.01, retry_wait=0.001, max_retry_wait=0.01)


def store_over(transport: ScriptedTransport, options: ClientOptions = QUICK) -> RunStore:
    """Return a store, to be entered, over a scripted transport."""
    return RunStore(transport, MemoryReader(transport.lanes), options=options)
