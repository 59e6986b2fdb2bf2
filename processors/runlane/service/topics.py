"""Whether the topics that a role needs are there."""

from __future__ import annotations

from runlane.contract.errors import TopicMismatch
from runlane.contract.topics import TopicSpec
from runlane.kafka import Admin, KafkaConfig


def need_topics(kafka: KafkaConfig, *topics: TopicSpec) -> None:
    """Raise ``TopicMismatch`` for the first of ``topics`` that is missing, or what asking for them raises."""
    counts = Admin(kafka).partition_counts()
    for topic in topics:
        if topic.name not in counts:
            raise TopicMismatch(f"topic {topic.name} is missing: run `runlane topics`", topic=topic.name)
