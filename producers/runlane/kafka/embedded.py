"""A Kafka broker inside this process: librdkafka's own mock cluster, for one machine and for tests.

It speaks Kafka's protocol on a loopback port of its choice, so other processes can connect. It is empty at
each start, keeps about 5 MB a partition and drops the oldest silently, has no transactions worth the name,
no access rules and no identity: whoever starts it mints a log id. ``ctypes`` calls the library that the
confluent-kafka wheel brings, since its Python module has no way to make a topic with a chosen number of
partitions.
"""

from __future__ import annotations

import ctypes
import ctypes.util
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import confluent_kafka

from runlane.contract.errors import FatalKafkaError

_PRODUCER: Final = 0
_BROKER: Final = 1
_ERROR_BYTES: Final = 512


class EmbeddedBroker:
    """A running broker with exactly the given topics (name → partitions).

    Raises ``FatalKafkaError`` when the library can't be loaded or refuses.

        with EmbeddedBroker({"runlane.commands": 4}) as broker:
            KafkaConfig(broker.bootstrap)
    """

    def __init__(self, topics: Mapping[str, int]) -> None:
        self._library = _load()
        self._handle = self._new_handle()
        self._cluster: int | None = self._library.rd_kafka_mock_cluster_new(self._handle, 1)
        if self._cluster is None:
            raise FatalKafkaError("the embedded broker did not start")
        self.bootstrap: Final = self._library.rd_kafka_mock_cluster_bootstraps(self._cluster).decode()
        self._library.rd_kafka_mock_group_initial_rebalance_delay_ms(self._cluster, 0)
        for name, partitions in topics.items():
            self.create_topic(name, partitions)

    def create_topic(self, name: str, partitions: int) -> None:
        """Make one more topic; ``ValueError`` without a partition, ``FatalKafkaError`` when it exists."""
        if partitions < 1:
            # The library would end the process.
            raise ValueError(f"topic {name} needs at least one partition")
        code = self._library.rd_kafka_mock_topic_create(self._running(), name.encode(), partitions, 1)
        self._check(code, f"making topic {name}")

    def disconnect(self) -> None:
        """Close every connection and accept none until ``reconnect``; what is stored stays."""
        self._check(self._library.rd_kafka_mock_broker_set_down(self._running(), _BROKER), "disconnecting")

    def reconnect(self) -> None:
        """Accept connections again."""
        self._check(self._library.rd_kafka_mock_broker_set_up(self._running(), _BROKER), "reconnecting")

    def trim(self, topic: str, partition: int, before: int) -> None:
        """Forget the messages of a partition below the offset ``before``."""
        code = self._library.rd_kafka_mock_partition_delete_records(
            self._running(), topic.encode(), partition, before
        )
        self._check(code, "trimming")

    def close(self) -> None:
        """End the broker; all it held is gone."""
        if self._cluster is not None:
            self._library.rd_kafka_mock_cluster_destroy(self._cluster)
            self._library.rd_kafka_destroy(self._handle)
            self._cluster = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _running(self) -> int:
        if self._cluster is None:
            raise FatalKafkaError("the embedded broker is closed")
        return self._cluster

    def _new_handle(self) -> int:
        conf = self._library.rd_kafka_conf_new()
        text = ctypes.create_string_buffer(_ERROR_BYTES)
        # A handle of its own without brokers would warn about that.
        self._library.rd_kafka_conf_set(conf, b"log_level", b"0", text, _ERROR_BYTES)
        handle: int | None = self._library.rd_kafka_new(_PRODUCER, conf, text, _ERROR_BYTES)
        if handle is None:
            raise FatalKafkaError("the embedded broker did not start: " + text.value.decode())
        return handle

    def _check(self, code: int, doing: str) -> None:
        if code:
            raise FatalKafkaError(f"the embedded broker failed at {doing}: {code}")


def _library_path() -> str:
    package = Path(confluent_kafka.__file__).parent
    wheels = [*package.parent.glob("confluent_kafka.libs/librdkafka-*"), *package.glob(".dylibs/librdkafka*")]
    found = str(wheels[0]) if wheels else ctypes.util.find_library("rdkafka")
    if found is None:
        raise FatalKafkaError("the embedded broker needs the librdkafka of the confluent-kafka wheel")
    return found


def _load() -> ctypes.CDLL:
    pointer, text, number = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int
    library = ctypes.CDLL(_library_path())
    signatures: dict[str, tuple[type | None, tuple[type, ...]]] = {
        "rd_kafka_conf_new": (pointer, ()),
        "rd_kafka_conf_set": (number, (pointer, text, text, text, ctypes.c_size_t)),
        "rd_kafka_new": (pointer, (number, pointer, text, ctypes.c_size_t)),
        "rd_kafka_destroy": (None, (pointer,)),
        "rd_kafka_mock_cluster_new": (pointer, (pointer, number)),
        "rd_kafka_mock_cluster_bootstraps": (text, (pointer,)),
        "rd_kafka_mock_cluster_destroy": (None, (pointer,)),
        "rd_kafka_mock_group_initial_rebalance_delay_ms": (None, (pointer, ctypes.c_int32)),
        "rd_kafka_mock_topic_create": (number, (pointer, text, number, number)),
        "rd_kafka_mock_broker_set_down": (number, (pointer, ctypes.c_int32)),
        "rd_kafka_mock_broker_set_up": (number, (pointer, ctypes.c_int32)),
        "rd_kafka_mock_partition_delete_records": (
            number,
            (pointer, text, ctypes.c_int32, ctypes.c_int64),
        ),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(library, name)
        function.restype = result
        function.argtypes = arguments
    return library
