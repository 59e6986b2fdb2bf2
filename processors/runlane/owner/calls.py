"""The tasks of one ownership: retried while the world does not answer, forgotten when the ownership ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from runlane.contract.errors import RunlaneError, TemporaryError
from runlane.owner.ports import Ports
from runlane.owner.shared import Shared
from runlane.owner.tasks import Task, TaskKind
from runlane.store.chain import ChainTip

_NEVER: Final = float("inf")


class Calls:
    """Submits tasks whose results are ignored after ``close``.

    ``faulted`` hears of failures that won't pass.
    """

    def __init__(self, shared: Shared, faulted: Callable[[RunlaneError], None]) -> None:
        self._shared = shared
        self._faulted = faulted
        self._open = True
        self._failures = 0
        self._retries: list[tuple[float, Task]] = []

    def read(self, call: Callable[[Ports], Any], then: Callable[[Any], None]) -> None:
        """Make port calls in a worker, with back-off until they succeed; go on with their result."""
        self._shared.io.submit(self._task(TaskKind.READ, call, then))

    def ask_log(self, call: Callable[[Ports], Any], then: Callable[[Any], None]) -> None:
        """Do the same with calls of the log, which may take long while a broker is away."""
        self._shared.io.submit(self._task(TaskKind.LOG, call, then))

    def insert(self, call: Callable[[Ports], Any], then: Callable[[Any], None]) -> Task:
        """Return the task of one attempt to write a block; it takes one of the owner's slots."""
        return self._task(TaskKind.INSERT, call, then)

    def tip(self, partition: int, floor: int, then: Callable[[ChainTip | None, float], None]) -> None:
        """Read a chain's end together with others, once: ``None`` says that the database was silent."""

        def looked(tip: ChainTip | None, begun: float) -> None:
            if self._open:
                then(tip, begun)

        def faulted(failure: RunlaneError) -> None:
            if self._open:
                self._faulted(failure)

        self._shared.readbacks.ask(partition, floor, looked, faulted)

    def close(self) -> None:
        """Ignore whatever still comes."""
        self._open = False
        self._retries.clear()

    def tick(self, now: float) -> None:
        """Submit again what is due."""
        due = [task for when, task in self._retries if when <= now]
        if due:
            self._retries = [(when, task) for when, task in self._retries if when > now]
        for task in due:
            self._shared.io.submit(task)

    def wake_at(self) -> float:
        """Return when ``tick`` is due, by the monotonic clock."""
        return min((when for when, _ in self._retries), default=_NEVER)

    def _task(self, kind: TaskKind, call: Callable[[Ports], Any], then: Callable[[Any], None]) -> Task:
        def done(result: Any) -> None:
            if self._open:
                self._failures = 0
                then(result)

        def failed(failure: RunlaneError) -> None:
            if self._open and not isinstance(failure, TemporaryError):
                self._faulted(failure)
            elif self._open:
                # Made anew: a task held by its own callback would keep its block until garbage is collected.
                due = self._shared.clock.monotonic() + self._shared.bounds.backoff(self._failures)
                self._retries.append((due, self._task(kind, call, then)))
                self._failures += 1

        return Task(kind, call, done, failed)
