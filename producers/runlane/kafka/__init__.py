"""A typed thin wrapper over confluent-kafka: producer, consumer, admin, and a broker in this process."""

from runlane.kafka.admin import Admin, TopicIdentity
from runlane.kafka.config import PATIENT_FETCH_MS, KafkaConfig, Sasl, Tls
from runlane.kafka.consumer import Consumer
from runlane.kafka.embedded import EmbeddedBroker
from runlane.kafka.inspector import Inspector
from runlane.kafka.producer import ANY_PARTITION, Delivery, Producer
from runlane.kafka.reading import GroupSettings, Message, Partition, Polled

__all__ = [
    "ANY_PARTITION",
    "PATIENT_FETCH_MS",
    "Admin",
    "Consumer",
    "Delivery",
    "EmbeddedBroker",
    "GroupSettings",
    "Inspector",
    "KafkaConfig",
    "Message",
    "Partition",
    "Polled",
    "Producer",
    "Sasl",
    "Tls",
    "TopicIdentity",
]
