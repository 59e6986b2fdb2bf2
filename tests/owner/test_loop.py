"""The real loop at its end: what is assigned is let go of, nothing more is taken, no thread is left."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, cast

import pytest

from runlane.kafka import Polled
from runlane.owner.core import Core
from runlane.owner.loop import Loop
from runlane.owner.owner import SystemClock, SystemIds
from runlane.owner.ports import LogPort, Ports, StorePort
from runlane.owner.tasks import Assigned, Event, Revoked

PATIENCE = 60.0


class ScriptedCore:
    """Notes what it is told; ``step`` does what a test says."""

    def __init__(self, loop: Loop) -> None:
        self.loop = loop
        self.heard: list[Event] = []
        self.stepping: Callable[[], None] = lambda: None
        self.revoked = threading.Event()

    def handle(self, event: Event) -> None:
        if event != Assigned(()):
            self.heard.append(event)
        if isinstance(event, Revoked):
            self.revoked.set()

    def step(self) -> bool:
        self.stepping()
        return False

    def wake_at(self) -> float:
        return 0.0


class ScriptedLog:
    """A log whose group speaks when a test says so, in the poll thread as the library does."""

    def __init__(self) -> None:
        self._say: list[Callable[[], None]] = []
        self._said = threading.Semaphore(0)
        self.assigned: Callable[[Sequence[int]], None]
        self.revoked: Callable[[Sequence[int], bool], None]

    def begin(self, assigned: Any, revoked: Any) -> None:
        self.assigned, self.revoked = assigned, revoked
        assigned([0])

    def poll(self, _messages: int, _timeout: float) -> Polled:
        while self._say:
            self._say.pop(0)()
            self._said.release()
        return Polled()

    def say(self, what: Callable[[], None]) -> None:
        self._say.append(what)
        assert self._said.acquire(timeout=PATIENCE)


class Running:
    """A loop in a thread, over a scripted core and a scripted log."""

    def __init__(self) -> None:
        self.log = ScriptedLog()
        ports = Ports(cast("LogPort", self.log), cast("StorePort", None), SystemClock(), SystemIds())
        self.loop = Loop(ports, inserts=1, revoke_seconds=3 * PATIENCE, core=self._make)
        self.failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _make(self, loop: Loop) -> Core:
        self.core = ScriptedCore(loop)
        return cast("Core", self.core)

    def _run(self) -> None:
        try:
            self.loop.run()
        except RuntimeError as failure:
            self.failure = failure

    def start(self) -> None:
        self._thread.start()

    def ended(self) -> bool:
        self._thread.join(PATIENCE)
        return not self._thread.is_alive() and not self.loop._poller.is_alive()


@pytest.fixture
def running() -> Running:
    return Running()


def test_what_is_assigned_after_the_stop_is_not_taken(running: Running) -> None:
    running.start()
    running.log.say(lambda: None)
    running.loop.stop()
    assert running.core.revoked.wait(PATIENCE)
    running.log.say(lambda: running.log.assigned([1, 2]))
    running.loop.released(0)
    assert running.ended()
    assert running.core.heard == [Assigned((0,)), Revoked((0,))]


def test_an_assignment_is_heard_before_the_stop_that_takes_it_back(running: Running) -> None:
    stopped = threading.Event()

    def stop_in_mid_step() -> None:
        if not stopped.is_set():
            running.log.say(lambda: running.log.assigned([1]))
            running.loop.stop()
            stopped.set()

    running.core.stepping = stop_in_mid_step
    running.start()
    assert running.core.revoked.wait(PATIENCE)
    running.loop.released(0)
    running.loop.released(1)
    assert running.ended()
    assert running.core.heard == [Assigned((0,)), Assigned((1,)), Revoked((0, 1))]


def test_a_revoke_under_way_ends_with_the_loop(running: Running) -> None:
    revoking = threading.Event()

    def fail_while_revoking() -> None:
        if revoking.wait(0.001):
            raise RuntimeError("a fault of the core")

    def revoke() -> None:
        revoking.set()
        running.log.revoked([0], False)

    running.core.stepping = fail_while_revoking
    running.start()
    running.log.say(lambda: None)
    running.log.say(revoke)
    assert running.ended()
    assert str(running.failure) == "a fault of the core"
