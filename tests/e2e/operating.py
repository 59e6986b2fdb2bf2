"""The command line with the settings that name a world; and a stranger that writes what it likes."""

from __future__ import annotations

from confluent_kafka import KafkaError, Message
from confluent_kafka import Producer as AnyProducer

from runlane.contract.codec import Headers
from runlane.contract.partitioner import partition_for
from tests.e2e.stack import HOST_KEY, PATIENCE, World
from tests.harness.ports import free_ports

Place = tuple[int, int]
OWNER_KEY = f"owner:{'o' * 32}"
"""The one that the owners of a world sign receipts with."""


def settings(world: World) -> dict[str, str]:
    """Return what the environment of `runlane` holds to work on this world, in its owners' group."""
    (metrics,) = free_ports(1)
    return {
        "KAFKA": world.kafka.bootstrap,
        "CLICKHOUSE": world.dsn,
        "TOPIC_PREFIX": world.topics.prefix,
        "GROUP": f"{world.topics.prefix}owners",
        "PARTITIONS": str(world.topics.partitions),
        "OWNER_KEY": OWNER_KEY,
        "HOST_KEY": f"{HOST_KEY.id}:{HOST_KEY.secret.decode()}",
        "METRICS_LISTEN": f"127.0.0.1:{metrics}",
    }


class Stranger:
    """Puts whatever it likes on the commands topic: a producer with none of our limits."""

    def __init__(self, world: World, *, compression: str = "none") -> None:
        self._topics = world.topics
        self._places: list[Place] = []
        self.refused: list[str] = []
        self._producer = AnyProducer(
            {
                "bootstrap.servers": world.kafka.bootstrap,
                "message.max.bytes": 64 * 1024 * 1024,
                "compression.type": compression,
                "queue.buffering.max.kbytes": 1024 * 1024,
                "on_delivery": self._delivered,
            }
        )

    def send(
        self, key: bytes | None, value: bytes | None, headers: Headers, *, partition: int | None = None
    ) -> Place:
        """Send one message, to its key's partition unless told otherwise; return where it lies."""
        self._places.clear()
        self.queue(key, value, headers, partition=partition)
        self.flush()
        assert not self.refused, self.refused
        (place,) = self._places
        return place

    def queue(
        self, key: bytes | None, value: bytes | None, headers: Headers, *, partition: int | None = None
    ) -> None:
        """Send without waiting."""
        number = partition_for(key or b"", self._topics.partitions) if partition is None else partition
        self._producer.produce(self._topics.commands.name, value, key, number, headers=headers)  # type: ignore[arg-type]
        self._producer.poll(0)

    def flush(self) -> None:
        """Wait until everything has arrived."""
        assert self._producer.flush(PATIENCE) == 0

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.refused.append(error.name())
            return
        partition, offset = message.partition(), message.offset()
        assert partition is not None
        assert offset is not None
        self._places.append((partition, offset))
