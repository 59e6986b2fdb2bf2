"""What an operator does to a world: the command line, with the settings that name it; and hands on its parts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from runlane.contract.codec import Headers
from runlane.contract.partitioner import partition_for
from runlane.kafka import Producer
from tests.e2e.stack import HOST_KEY, ClickHouse, World
from tests.harness.ports import free_ports
from tests.service.commands import Process, runlane_json

ROLES_OWNER_KEY = f"owner:{'o' * 32}"


@dataclass(frozen=True, slots=True)
class Answered:
    """How the journal says a message was answered."""

    operation: str
    code: str
    run_id: str
    session_id: str


def settings(world: World) -> dict[str, str]:
    """Return what the environment of `runlane` must hold to work on this world."""
    (metrics,) = free_ports(1)
    return {
        "KAFKA": world.kafka.bootstrap,
        "CLICKHOUSE": world.dsn,
        "TOPIC_PREFIX": world.topics.prefix,
        "GROUP": f"{world.topics.prefix}owners",
        "PARTITIONS": str(world.topics.partitions),
        "OWNER_KEY": ROLES_OWNER_KEY,
        "HOST_KEY": f"{HOST_KEY.id}:{HOST_KEY.secret.decode()}",
        "METRICS_LISTEN": f"127.0.0.1:{metrics}",
    }


def send(
    world: World, key: bytes | None, value: bytes | None, headers: Headers, *, partition: int | None = None
) -> int:
    """Put a message on the commands topic as whoever pleases may; return its partition."""
    place = partition_for(key or b"", world.topics.partitions) if partition is None else partition
    with Producer(world.kafka) as producer:
        producer.produce(world.topics.commands.name, value, key=key, headers=headers, partition=place)
    return place
