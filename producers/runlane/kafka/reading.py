"""What reading is about, in our words: partitions, messages, a group's settings, who hears of what."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import confluent_kafka
from confluent_kafka import TopicPartition

from runlane.contract.errors import RunlaneError


class Partition(NamedTuple):
    """One partition of one topic."""

    topic: str
    number: int


class Message(NamedTuple):
    """A message as it was read; ``headers`` in their order, possibly repeated."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes | str | None]]

    @property
    def size(self) -> int:
        """The bytes of key, value and headers."""
        size = len(self.key or b"") + len(self.value or b"")
        for name, value in self.headers:
            size += len(name) + len(value or b"")
        return size


@dataclass(frozen=True, slots=True)
class Polled:
    """What a poll brought: messages, and the partitions whose position the log no longer (or not yet) has."""

    messages: tuple[Message, ...] = ()
    lost: tuple[Partition, ...] = ()


Partitions = tuple[Partition, ...]
OnPartitions = Callable[[Partitions], None]
OnCommit = Callable[[RunlaneError | None], None]


@dataclass(frozen=True, slots=True)
class GroupSettings:
    """How members of a group find out about each other. Times are milliseconds."""

    group: str
    session_timeout_ms: int = 10_000
    heartbeat_interval_ms: int = 1_000
    max_poll_interval_ms: int = 60_000


def to_place(partition: Partition, offset: int = confluent_kafka.OFFSET_INVALID) -> TopicPartition:
    """Return the library's word for a partition, or for a place in it."""
    return TopicPartition(partition.topic, partition.number, offset)


def to_partitions(places: list[TopicPartition]) -> Partitions:
    """Return the partitions of the library's places."""
    return tuple(Partition(place.topic, place.partition) for place in places)


def to_message(message: confluent_kafka.Message) -> Message:
    """Return a message of the library, read without an error, as ours."""
    headers: Any = message.headers()
    return Message(
        message.topic() or "",
        message.partition() or 0,
        message.offset() or 0,
        message.key(),
        message.value(),
        headers or (),
    )
