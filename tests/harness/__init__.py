"""What tests of several areas share: a real Kafka broker and free ports."""

from tests.harness.kafka import Kafka, KafkaBroker, new_topic_prefix
from tests.harness.kafka_libs import KafkaUnavailable, java, kafka_libs
from tests.harness.ports import free_ports

__all__ = [
    "Kafka",
    "KafkaBroker",
    "KafkaUnavailable",
    "free_ports",
    "java",
    "kafka_libs",
    "new_topic_prefix",
]
