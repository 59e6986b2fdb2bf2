"""The real loop: the core in one thread, Kafka's poll in another, workers for whatever waits.

The poll thread never waits for ClickHouse: it polls, hands over, and does what the core asks of the consumer.
Only the core's thread touches state. A failure that is no temporary one ends the loop; ``Owner`` says what
then.
"""

from __future__ import annotations

import gc
import threading
from collections import deque
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from typing import Final

from runlane.contract.errors import TemporaryError, TopicMismatch
from runlane.kafka import Delivery, Message, Polled
from runlane.owner.core import Core
from runlane.owner.ports import Outgoing, Ports
from runlane.owner.tasks import (
    Assigned,
    Event,
    Fetched,
    FetchFailed,
    Revoked,
    Task,
    TaskKind,
    run,
)

_POLL_SECONDS: Final = 0.05
_CATCH_UP_SECONDS: Final = 0.002
_FETCH_MESSAGES: Final = 1_000
_FETCH_BYTES: Final = 2 * 1024 * 1024
_FIRST_FETCH: Final = 16
_READERS: Final = 2
_MISSING_TOPIC_SECONDS: Final = 0.5
_IDLE_SECONDS: Final = 1.0
_YOUNGEST: Final = 50_000
_WAKE: Final = Assigned(())


class Loop:
    """Drives one core over real ports. ``run`` returns after ``stop``, or raises what ended it."""

    def __init__(
        self, ports: Ports, *, inserts: int, revoke_seconds: float, core: Callable[[Loop], Core]
    ) -> None:
        self._ports = ports
        self._revoke_seconds = revoke_seconds
        self._events: SimpleQueue[Event] = SimpleQueue()
        self._tasks: dict[TaskKind, SimpleQueue[Task | None]] = {kind: SimpleQueue() for kind in TaskKind}
        self._controls: deque[Callable[[], None]] = deque()
        self._tags: dict[int, int] = {}
        self._assigned: set[int] = set()
        self._held: set[int] = set()
        self._fetch = _FIRST_FETCH
        self._sizes: SimpleQueue[int] = SimpleQueue()
        self._posted_bytes = 0
        self._taken_bytes = 0
        self._leaving = False
        self._release = threading.Condition()
        self._stopping = threading.Event()
        self._ended = threading.Event()
        self._failure: BaseException | None = None
        workers = {TaskKind.INSERT: inserts, TaskKind.TIPS: 1, TaskKind.LOG: 1, TaskKind.READ: _READERS}
        self._threads = [
            threading.Thread(target=self._guard, args=(self._work, kind), name=f"owner-{kind}", daemon=True)
            for kind, count in workers.items()
            for _ in range(count)
        ]
        self._poller = threading.Thread(
            target=self._guard, args=(self._poll,), name="owner-poll", daemon=True
        )
        self.core = core(self)

    def run(self) -> None:
        """Own partitions until ``stop``.

        What is in flight then is settled and sent, within the revoke budget.
        """
        with _calm_collector():
            for thread in (*self._threads, self._poller):
                thread.start()
            try:
                self._step_until_stopped()
            finally:
                self._end()
                for kind, tasks in self._tasks.items():
                    for thread in self._threads:
                        if thread.name == f"owner-{kind}":
                            tasks.put(None)
                # It waits for nothing any more, and whoever closes the log must be alone with it.
                self._poller.join()
        if self._failure is not None:
            raise self._failure

    def join(self) -> None:
        """Wait, after ``run``, for workers that are still in a call of a port; each call is bounded."""
        for thread in self._threads:
            thread.join()

    def stop(self) -> None:
        """Let every partition go and end ``run``; any thread, also a signal handler."""
        self._stopping.set()
        self.post(_WAKE)

    # What the core asks for.

    def submit(self, task: Task) -> None:
        """As ``Io.submit``."""
        self._tasks[task.kind].put(task)

    def post(self, event: Event) -> None:
        """As ``Io.post``."""
        self._events.put(event)

    def start(self, partition: int, offset: int, tag: int) -> None:
        """As ``Io.start``."""

        def start() -> None:
            if partition in self._assigned:
                try:
                    self._ports.log.start(partition, offset)
                except TemporaryError:
                    self.post(FetchFailed(partition, tag))
                self._tags[partition] = tag

        self._controls.append(start)

    def pause(self, partition: int) -> None:
        """As ``Io.pause``."""
        self._controls.append(lambda: self._if_assigned(partition, self._ports.log.pause))

    def resume(self, partition: int) -> None:
        """As ``Io.resume``."""
        self._controls.append(lambda: self._if_assigned(partition, self._ports.log.resume))

    def commit(self, partition: int, offset: int) -> None:
        """As ``Io.commit``."""
        self._controls.append(
            lambda: self._if_assigned(partition, lambda assigned: self._ports.log.commit(assigned, offset))
        )

    def send(self, message: Outgoing, delivered: Delivery) -> bool:
        """As ``Io.send``."""
        return self._ports.log.send(message, delivered)

    def released(self, partition: int) -> None:
        """As ``Io.released``."""
        with self._release:
            self._held.discard(partition)
            self._release.notify_all()

    # The core's thread.

    def _step_until_stopped(self) -> None:
        clock, core = self._ports.clock, self.core
        deadline: float | None = None
        while self._failure is None:
            if self._stopping.is_set() and deadline is None:
                deadline = clock.monotonic() + self._revoke_seconds
                self._leave()
            if deadline is not None and (not self._held or clock.monotonic() > deadline):
                return
            more = core.step()
            self._take(0.0 if more else min(max(core.wake_at() - clock.monotonic(), 0.0), _IDLE_SECONDS))

    def _leave(self) -> None:
        """Let go of what is assigned, behind the news of it; what is assigned from now on is not taken."""
        with self._release:
            self._leaving = True
            self.post(Revoked(tuple(self._held)))

    def _end(self) -> None:
        with self._release:
            self._ended.set()
            self._release.notify_all()

    def _take(self, timeout: float) -> None:
        """Hand the core what has happened, waiting at most ``timeout`` seconds for the first of it."""
        events = self._events
        try:
            self._handle(events.get(timeout=timeout) if timeout else events.get_nowait())
            while True:
                self._handle(events.get_nowait())
        except Empty:
            return

    def _handle(self, event: Event) -> None:
        self.core.handle(event)
        if isinstance(event, Fetched):
            self._taken_bytes += self._sizes.get_nowait()

    # The workers' threads.

    def _work(self, kind: TaskKind) -> None:
        tasks = self._tasks[kind]
        while (task := tasks.get()) is not None and not self._ended.is_set():
            self.post(run(task, self._ports))

    def _guard(self, body: Callable[..., None], *arguments: TaskKind) -> None:
        try:
            body(*arguments)
        except BaseException as failure:  # noqa: BLE001 - it ends the loop, whose thread raises it
            self._failure = self._failure or failure
            self.post(_WAKE)

    # The poll thread.

    def _poll(self) -> None:
        log = self._ports.log
        log.begin(self._on_assigned, self._on_revoked)
        while not self._ended.is_set():
            self._run_controls()
            if self._posted_bytes - self._taken_bytes > _FETCH_BYTES:
                # The core has to see what was fetched, since only it knows when to pause.
                self._ended.wait(_CATCH_UP_SECONDS)
                continue
            try:
                polled = log.poll(self._fetch, _POLL_SECONDS)
            except TopicMismatch:
                self._topic_missing()
                continue
            self._hand_over(polled)
        self._run_controls()

    def _hand_over(self, polled: Polled) -> None:
        by_partition: dict[int, list[Message]] = {}
        for message in polled.messages:
            by_partition.setdefault(message.partition, []).append(message)
        total = 0
        for partition, messages in by_partition.items():
            size = sum(message.size for message in messages)
            total += size
            if (tag := self._tags.get(partition)) is not None:
                self._posted_bytes += size
                self._sizes.put(size)
                self.post(Fetched(partition, tag, messages))
        if polled.messages:
            mean = total // len(polled.messages) + 1
            self._fetch = max(1, min(_FETCH_MESSAGES, _FETCH_BYTES // mean))
        for place in polled.lost:
            if (tag := self._tags.get(place.number)) is not None:
                self.post(FetchFailed(place.number, tag))

    def _topic_missing(self) -> None:
        """The topic is gone.

        Every partition is looked at again, which ends in a typed stop once it is back.
        """
        for partition, tag in self._tags.items():
            self.post(FetchFailed(partition, tag))
        self._ended.wait(_MISSING_TOPIC_SECONDS)

    def _on_assigned(self, partitions: Sequence[int]) -> None:
        self._assigned.update(partitions)
        with self._release:
            if not self._leaving:
                self._held.update(partitions)
                self.post(Assigned(tuple(partitions)))

    def _on_revoked(self, partitions: Sequence[int], lost: bool) -> None:  # noqa: FBT001
        """Drain, then let go, within the budget, or at once when nobody drains any more.

        Meanwhile the consumer's thread commits what the core asks for.
        """
        self.post(Revoked(tuple(partitions), lost))
        deadline = self._ports.clock.monotonic() + (0.0 if lost else self._revoke_seconds)
        while self._held.intersection(partitions) and self._ports.clock.monotonic() < deadline:
            self._run_controls()
            with self._release:
                if self._ended.is_set():
                    break
                self._release.wait(_POLL_SECONDS)
        self._run_controls()
        self._assigned.difference_update(partitions)
        for partition in partitions:
            self._tags.pop(partition, None)
            self.released(partition)

    def _run_controls(self) -> None:
        while self._controls:
            self._controls.popleft()()

    def _if_assigned(self, partition: int, call: Callable[[int], None]) -> None:
        if partition in self._assigned:
            with suppress(TemporaryError):
                call(partition)


@contextmanager
def _calm_collector() -> Generator[None]:
    """Let the garbage collector look at young objects only, and seldom; it doubles the time of a decision."""
    before = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNGEST, 20, 100)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
