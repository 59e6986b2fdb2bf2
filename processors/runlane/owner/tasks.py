"""How the stepping core and the world meet: tasks go out, events come in.

The core never waits: what needs the journal or the broker is a task that some worker runs, and its result is
an event. The real loop runs tasks in threads, the simulator in whatever order its seed says.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from runlane.contract.errors import JournalFault, RunlaneError, TemporaryError
from runlane.kafka import Delivery, Message
from runlane.owner.ports import Outgoing, Ports


class TaskKind(StrEnum):
    """What a task is. Each kind has workers of its own, so that none waits for another."""

    INSERT = "insert"
    TIPS = "tips"
    LOG = "log"
    READ = "read"


@dataclass(frozen=True, slots=True)
class Task:
    """Port calls to be made outside the core, and what the core does with their result or failure."""

    kind: TaskKind
    call: Callable[[Ports], Any]
    then: Callable[[Any], None]
    failed: Callable[[RunlaneError], None]


@dataclass(frozen=True, slots=True)
class Done:
    """A task's end: its result, or the failure it met."""

    task: Task
    result: Any
    failure: RunlaneError | None


@dataclass(frozen=True, slots=True)
class Assigned:
    """The group, or the embedded stack, gives us partitions."""

    partitions: Sequence[int]


@dataclass(frozen=True, slots=True)
class Revoked:
    """Partitions are taken from us; with ``lost`` they already are another's."""

    partitions: Sequence[int]
    lost: bool = False


@dataclass(frozen=True, slots=True)
class Fetched:
    """Messages of one partition in log order, fetched since it was started under ``tag``."""

    partition: int
    tag: int
    messages: Sequence[Message]


@dataclass(frozen=True, slots=True)
class FetchFailed:
    """The log does not have the offset that we read at."""

    partition: int
    tag: int


@dataclass(frozen=True, slots=True)
class Settled:
    """A shipment of a partition arrived whole, or part of it failed."""

    partition: int
    tag: int


Event = Done | Assigned | Revoked | Fetched | FetchFailed | Settled


class Io(Protocol):
    """What the core may ask for; each call returns at once."""

    def submit(self, task: Task) -> None:
        """Run a task; its ``Done`` follows."""
        ...

    def post(self, event: Event) -> None:
        """Hand an event to the core; called from any thread."""
        ...

    def start(self, partition: int, offset: int, tag: int) -> None:
        """Fetch from ``offset`` on, marking what comes with ``tag``."""
        ...

    def pause(self, partition: int) -> None:
        """Stop fetching a partition."""
        ...

    def resume(self, partition: int) -> None:
        """Go on fetching a paused partition."""
        ...

    def commit(self, partition: int, offset: int) -> None:
        """Commit the group's offset."""
        ...

    def send(self, message: Outgoing, delivered: Delivery) -> bool:
        """Queue a message, as ``LogPort.send``."""
        ...

    def released(self, partition: int) -> None:
        """Say that a revoked partition is let go."""
        ...


def run(task: Task, ports: Ports) -> Done:
    """Make a task's port calls; what is no temporary failure and not the journal's is ours and propagates."""
    try:
        return Done(task, task.call(ports), None)
    except (TemporaryError, JournalFault) as failure:
        return Done(task, None, failure)
