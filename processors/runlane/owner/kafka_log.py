"""The log port over Kafka: the commands topic, and the three topics that an owner writes."""

from __future__ import annotations

from runlane.contract.errors import Overloaded, TopicMismatch, Unavailable
from runlane.contract.topics import Topics
from runlane.kafka import Delivery, GroupSettings, KafkaConfig
from runlane.owner.ports import Outgoing, OutTopic
from runlane.store.block import LogId
from runlane.store.topic_log import TopicLog


class KafkaLog(TopicLog):
    """The commands topic as an owner sees it: a ``LogPort``."""

    def __init__(
        self, config: KafkaConfig, *, topics: Topics, group: GroupSettings, log: LogId | None = None
    ) -> None:
        super().__init__(
            config,
            topic=topics.commands.name,
            outcomes=topics.outcomes.name,
            group=group,
            log=log,
        )
        self._names = {
            OutTopic.OUTCOMES: topics.outcomes.name,
            OutTopic.RECORDS: topics.records.name,
            OutTopic.REJECTED: topics.rejected.name,
        }

    def send(self, message: Outgoing, delivered: Delivery) -> bool:
        """As ``LogPort.send``; raises ``FatalKafkaError`` and ``KafkaNotPermitted``."""
        try:
            self._producer.produce(
                self._names[message.topic],
                message.value,
                key=message.key,
                headers=message.headers,
                partition=message.partition,
                on_delivery=delivered,
            )
        except Overloaded:
            return False
        except (TopicMismatch, Unavailable) as failure:
            delivered(failure)
        return True
