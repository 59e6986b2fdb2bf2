"""Topics of a real cluster: make them, check them, and tell one life of a topic from another.

The embedded broker makes its topics itself and answers only ``partition_counts`` and ``check_topics``
without settings.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from confluent_kafka import KafkaError, KafkaException, TopicCollection

# The package exports the second name, but not in the way that type checkers ask for.
from confluent_kafka.admin import AdminClient, ConfigResource  # type: ignore[attr-defined] # pyright: ignore[reportPrivateImportUsage]
from confluent_kafka.cimpl import NewTopic

from runlane.contract.errors import RunlaneError, TopicMismatch, Unavailable
from runlane.contract.topics import TopicSpec
from runlane.kafka.config import KafkaConfig
from runlane.kafka.failures import Standing, kafka_error, to_error
from runlane.kafka.stranding import Stranding

DEFAULT_TIMEOUT: Final = 15.0
BROKER_DEFAULT: Final = -1
_SAFE_REPLICAS: Final = 3
_FOREVER: Final = -1
_VISIBLE_SECONDS: Final = 0.05


class TopicIdentity(NamedTuple):
    """One life of a topic: made anew under the same name, it has another ``topic_id``."""

    cluster_id: str
    topic_id: str


class Admin:
    """Administration of one cluster; a method waits up to ``timeout`` seconds, then it is ``Unavailable``.

    Each raises ``KafkaNotPermitted`` for what our user may not do, or when the cluster does not take it, and
    ``FatalKafkaError`` when the library has lost its brokers for good.
    """

    def __init__(self, config: KafkaConfig, *, timeout: float = DEFAULT_TIMEOUT) -> None:
        self._timeout = timeout
        # The stubs leave out the futures that its methods return.
        self._standing = Standing()
        options: dict[str, Any] = config.options() | {"error_cb": self._standing.hear}
        self._client: Any = AdminClient(options)
        self._stranding = Stranding(config, self._client.list_topics)

    def partition_counts(self) -> dict[str, int]:
        """Return the number of partitions of every topic that our user may see.

        A cluster that names no broker, as one that has just lost its last, is ``Unavailable``.
        """
        try:
            found: Any = self._client.list_topics(timeout=self._timeout)
        except KafkaException as error:
            raise self._judged(to_error(error, "listing topics")) from error
        if not found.brokers:
            raise Unavailable("the cluster names no broker")
        self._standing.clear()
        self._stranding.answered()
        topics: Mapping[str, Any] = found.topics
        return {name: len(topic.partitions) for name, topic in topics.items() if topic.error is None}

    def create_topics(
        self, specs: Iterable[TopicSpec], *, replication_factor: int = BROKER_DEFAULT
    ) -> tuple[str, ...]:
        """Make the topics that are not there yet and return their names; of 3 replicas 2 must be in sync."""
        safety = {"min.insync.replicas": "2"} if replication_factor >= _SAFE_REPLICAS else {}
        topics = [
            NewTopic(spec.name, spec.partitions, replication_factor, config=spec.config | safety)
            for spec in specs
        ]
        futures: dict[str, Any] = self._client.create_topics(topics, request_timeout=self._timeout)
        created = tuple(name for name, future in futures.items() if self._created(name, future))
        self._await_visible(futures)
        return created

    def check_topics(self, specs: Iterable[TopicSpec], *, settings: bool = True) -> None:
        """Raise ``TopicMismatch`` for a topic that is missing, too small, or set so that it loses messages.

        ``settings=False`` looks at existence and partitions only. More partitions and a longer retention
        are fine.
        """
        wanted = tuple(specs)
        counts = self.partition_counts()
        for spec in wanted:
            if spec.name not in counts:
                raise TopicMismatch(f"topic {spec.name} is missing", topic=spec.name)
            if counts[spec.name] < spec.partitions:
                text = f"topic {spec.name} has {counts[spec.name]} partitions, fewer than {spec.partitions}"
                raise TopicMismatch(text, topic=spec.name)
        if settings:
            for spec, found in zip(wanted, self._settings(wanted), strict=True):
                _check_settings(spec, found)

    def identity(self, topic: str) -> TopicIdentity:
        """Return cluster id and topic id; ``TopicMismatch`` when the topic is missing."""
        doing = f"describing topic {topic}"
        futures = self._client.describe_topics(TopicCollection([topic]), request_timeout=self._timeout)
        described = self._answer(futures[topic], doing, topic=topic)
        cluster = self._answer(self._client.describe_cluster(request_timeout=self._timeout), doing)
        return TopicIdentity(str(cluster.cluster_id), str(described.topic_id))

    def _created(self, name: str, future: Any) -> bool:
        try:
            future.result(timeout=self._timeout)
        except KafkaException as error:
            inner = kafka_error(error)
            if inner is not None and inner.code() == KafkaError.TOPIC_ALREADY_EXISTS:
                return False
            raise self._judged(to_error(error, f"making topic {name}", topic=name)) from error
        except TimeoutError as error:
            raise self._judged(Unavailable(f"making topic {name} took too long")) from error
        return True

    def _await_visible(self, names: Iterable[str]) -> None:
        """Wait until brokers tell of a topic that the controller has just made."""
        deadline = time.monotonic() + self._timeout
        while missing := set(names) - set(self.partition_counts()):
            if time.monotonic() > deadline:
                raise Unavailable(f"topic {min(missing)} was made, but no broker tells of it")
            time.sleep(_VISIBLE_SECONDS)

    def _answer(self, future: Any, doing: str, *, topic: str = "") -> Any:
        try:
            return future.result(timeout=self._timeout)
        except KafkaException as error:
            raise self._judged(to_error(error, doing, topic=topic)) from error
        except TimeoutError as error:
            raise self._judged(Unavailable(f"{doing} took too long")) from error

    def _judged(self, failure: RunlaneError) -> RunlaneError:
        self._client.poll(0)
        return self._stranding.judge(self._standing.judge(failure))

    def _settings(self, specs: tuple[TopicSpec, ...]) -> list[dict[str, str]]:
        resources = [ConfigResource(ConfigResource.Type.TOPIC, spec.name) for spec in specs]
        futures = self._client.describe_configs(resources, request_timeout=self._timeout)
        answers = [self._answer(futures[resource], "reading topic settings") for resource in resources]
        return [{name: str(entry.value) for name, entry in answer.items()} for answer in answers]


def _check_settings(spec: TopicSpec, found: Mapping[str, str]) -> None:
    retention = int(found["retention.ms"])
    faults = {
        "cleanup.policy": found["cleanup.policy"] != "delete",
        "compression.type": not spec.compressed and found["compression.type"] != "uncompressed",
        "max.message.bytes": int(found["max.message.bytes"]) < spec.max_message_bytes,
        "retention.ms": retention != _FOREVER and retention < spec.retention_ms,
    }
    for name, wrong in faults.items():
        if wrong:
            text = f"topic {spec.name} has {name}={found[name]}, declared is {spec.config[name]}"
            raise TopicMismatch(text, topic=spec.name)
