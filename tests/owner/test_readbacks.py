"""One query reads back all blocks whose inserts were under way together (design, Committing 2)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import cast

from runlane.owner.readback import ReadBacks
from runlane.owner.tasks import Io, Task, TaskKind
from runlane.store.chain import ChainTip

GATHER = 0.03


@dataclass
class Clock:
    """A clock that a test moves."""

    at: float = 100.0

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.at, UTC)

    def monotonic(self) -> float:
        return self.at

    def sleep(self, seconds: float) -> None:
        self.at += seconds


@dataclass
class Reads:
    """The queries that were begun, each answered by the test; and what the chains were told."""

    clock: Clock = field(default_factory=Clock)
    begun: list[Task] = field(default_factory=list[Task])
    told: list[int] = field(default_factory=list[int])

    def __post_init__(self) -> None:
        self.readbacks = ReadBacks(cast("Io", self), self.clock, GATHER)

    def submit(self, task: Task) -> None:
        self.begun.append(task)

    def insert(self, number: int) -> Callable[[], None]:
        """Begin an insert; the call that is returned ends it, as the core does."""
        task = Task(TaskKind.INSERT, lambda _: None, _nothing, _nothing)
        self.readbacks.insert_began(task)

        def end() -> None:
            self.ask(number)
            self.readbacks.insert_ended(task)

        return end

    def ask(self, partition: int) -> None:
        self.readbacks.ask(partition, 0, partial(self._told, partition), _nothing)

    def _told(self, partition: int, *_: object) -> None:
        self.told.append(partition)

    def answer(self) -> None:
        tip = ChainTip(0, 1, b"h", self.clock.now())
        self.begun.pop(0).then(dict.fromkeys(range(10), tip))


def test_one_query_serves_all_inserts_that_were_under_way() -> None:
    reads = Reads()
    first, second = reads.insert(1), reads.insert(2)
    first()
    assert reads.begun == []
    second()
    assert len(reads.begun) == 1
    reads.answer()
    assert reads.told == [1, 2]


def test_an_insert_that_begins_while_others_are_waited_for_is_waited_for_too() -> None:
    reads = Reads()
    first, second = reads.insert(1), reads.insert(2)
    first()
    third = reads.insert(3)
    second()
    assert reads.begun == []
    third()
    assert len(reads.begun) == 1
    reads.answer()
    assert reads.told == [1, 2, 3]


def test_inserts_that_go_on_beginning_are_waited_for_a_moment_only() -> None:
    reads = Reads()
    end = reads.insert(1)
    for number in range(2, 9):
        following = reads.insert(number)
        end()
        end = following
        reads.clock.at += GATHER / 5
        reads.readbacks.tick(reads.clock.at)
    assert len(reads.begun) == 1


def test_a_slow_insert_is_waited_for_a_moment_only() -> None:
    reads = Reads()
    first, slow = reads.insert(1), reads.insert(2)
    first()
    assert reads.readbacks.wake_at() == reads.clock.at + GATHER
    reads.clock.at += GATHER
    reads.readbacks.tick(reads.clock.at)
    assert len(reads.begun) == 1
    assert reads.readbacks.wake_at() == float("inf")
    reads.answer()
    slow()
    assert len(reads.begun) == 1


def test_a_query_that_runs_is_followed_by_one_for_all_who_asked_meanwhile() -> None:
    reads = Reads()
    for number in (1, 2, 3):
        reads.ask(number)
    assert len(reads.begun) == 1
    reads.answer()
    assert len(reads.begun) == 1
    reads.answer()
    assert reads.told == [1, 2, 3]


def _nothing(*_: object) -> None:
    return None
