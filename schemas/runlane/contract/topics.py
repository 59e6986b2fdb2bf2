"""Every Kafka topic, declared once (design, Topics)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from runlane.contract.limits import MAX_MESSAGE_BYTES

DEFAULT_PREFIX: Final = "runlane."
DEFAULT_PARTITIONS: Final = 12
EMBEDDED_PARTITIONS: Final = 4

_MINUTE: Final = 60_000
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR
_SMALLEST_SEGMENT: Final = _MINUTE
_SEGMENTS: Final = 8


@dataclass(frozen=True, slots=True)
class TopicMessage:
    """What a message is made of, the same whoever writes it."""

    key: bytes
    body: bytes
    headers: tuple[tuple[str, bytes], ...]


@dataclass(frozen=True, slots=True)
class TopicSpec:
    """A topic as it must be: each message is kept ``retention_ms``, and gone an eighth of that later.

    Where whoever reads it does not trust who writes it, ``compressed`` is False: the broker unpacks a batch
    and bounds what it unpacks to, so that none can fill a reader's memory.
    """

    name: str
    partitions: int
    retention_ms: int
    max_message_bytes: int = MAX_MESSAGE_BYTES
    compressed: bool = True

    @property
    def config(self) -> dict[str, str]:
        """The topic's settings in the broker's words.

        Only closed segments are deleted, hence ``segment.ms``; the broker's clock stamps the messages, so
        that no writer's clock can keep them for ever.
        """
        return {
            "cleanup.policy": "delete",
            "compression.type": "producer" if self.compressed else "uncompressed",
            "max.message.bytes": str(self.max_message_bytes),
            "message.timestamp.type": "LogAppendTime",
            "retention.ms": str(self.retention_ms),
            "segment.ms": str(max(_SMALLEST_SEGMENT, self.retention_ms // _SEGMENTS)),
        }


@dataclass(frozen=True, slots=True)
class Topics:
    """The topics of one installation: ``prefix`` sets them apart, ``partitions`` is that of the commands.

    Records and all that follows a lane have as many partitions as commands; more partitions may be added
    later, fewer never.
    """

    prefix: str = DEFAULT_PREFIX
    partitions: int = DEFAULT_PARTITIONS

    @property
    def commands(self) -> TopicSpec:
        """Key: lane. Workers and hosts write, owners read."""
        return TopicSpec(f"{self.prefix}commands", self.partitions, 7 * _DAY, compressed=False)

    @property
    def outcomes(self) -> TopicSpec:
        """No key, explicit partition. Owners write, a client reads the partition that its commands name."""
        return TopicSpec(f"{self.prefix}outcomes", self.partitions, _HOUR)

    @property
    def records(self) -> TopicSpec:
        """Key: lane. Owners write; feed, gateways and anyone read."""
        return TopicSpec(f"{self.prefix}records", self.partitions, 7 * _DAY)

    @property
    def rejected(self) -> TopicSpec:
        """Key: source partition. Owners describe what nobody could be told; operators read."""
        return TopicSpec(f"{self.prefix}rejected", 1, 30 * _DAY)

    @property
    def stream(self) -> TopicSpec:
        """Key: lane. Feed and recovery commands write, product UIs read."""
        return TopicSpec(f"{self.prefix}stream", self.partitions, _DAY)

    @property
    def activity(self) -> TopicSpec:
        """Key: agent. The feed writes windows, product UIs read."""
        return TopicSpec(f"{self.prefix}activity", self.partitions, _DAY)

    @property
    def deltas(self) -> TopicSpec:
        """Key: lane. Workers write best effort, gateways read."""
        return TopicSpec(f"{self.prefix}deltas", self.partitions, 10 * _MINUTE, compressed=False)

    @property
    def memory(self) -> TopicSpec:
        """Key: run. Products write, the memory sink reads."""
        return TopicSpec(f"{self.prefix}memory", self.partitions, 7 * _DAY, compressed=False)

    def all(self) -> tuple[TopicSpec, ...]:
        """Return every topic, in the order of the flow."""
        return (
            self.commands,
            self.outcomes,
            self.records,
            self.rejected,
            self.stream,
            self.activity,
            self.deltas,
            self.memory,
        )
