"""Topics of a real cluster: made as declared, checked against the declaration, told apart by identity."""

from dataclasses import replace

import pytest
from confluent_kafka import KafkaException

from runlane.contract.errors import TopicMismatch, Unavailable
from runlane.contract.topics import Topics
from runlane.kafka import Admin, KafkaConfig
from tests.harness import Kafka, free_ports, new_topic_prefix
from tests.kafka.reading import until

pytestmark = pytest.mark.kafka


@pytest.fixture
def topics() -> Topics:
    return Topics(prefix=new_topic_prefix(), partitions=2)


def test_topics_are_made_once_and_pass_the_check(admin: Admin, topics: Topics) -> None:
    specs = topics.all()
    assert set(admin.create_topics(specs)) == {spec.name for spec in specs}
    assert admin.create_topics(specs) == ()
    admin.check_topics(specs)
    counts = admin.partition_counts()
    assert {spec.name: counts[spec.name] for spec in specs} == {spec.name: spec.partitions for spec in specs}


def test_a_missing_topic_fails_the_check(admin: Admin, topics: Topics) -> None:
    with pytest.raises(TopicMismatch, match="missing") as caught:
        admin.check_topics([topics.commands])
    assert caught.value.topic == topics.commands.name


def test_too_few_partitions_fail_the_check_and_more_do_not(admin: Admin, topics: Topics) -> None:
    admin.create_topics([topics.commands])
    admin.check_topics([replace(topics.commands, partitions=1)])
    with pytest.raises(TopicMismatch, match="2 partitions, fewer than 3"):
        admin.check_topics([replace(topics.commands, partitions=3)])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("cleanup.policy", "compact"),
        ("compression.type", "producer"),
        ("max.message.bytes", "1048576"),
        ("retention.ms", "60000"),
    ],
)
def test_a_setting_that_loses_messages_or_bounds_none_fails_the_check(
    kafka_broker: Kafka, admin: Admin, topics: Topics, name: str, value: str
) -> None:
    spec = topics.commands
    kafka_broker.create_topic(spec.name, partitions=2, config=spec.config | {name: value})
    until(lambda: spec.name in admin.partition_counts(), lambda: None)
    with pytest.raises(TopicMismatch, match=name) as caught:
        admin.check_topics([spec])
    assert caught.value.topic == spec.name


@pytest.mark.parametrize("retention", ["-1", str(30 * 24 * 3600 * 1000)])
def test_a_longer_retention_passes_the_check(
    kafka_broker: Kafka, admin: Admin, topics: Topics, retention: str
) -> None:
    spec = topics.commands
    kafka_broker.create_topic(spec.name, partitions=2, config=spec.config | {"retention.ms": retention})
    until(lambda: spec.name in admin.partition_counts(), lambda: None)
    admin.check_topics([spec])
    assert admin.partition_counts()[spec.name] == 2


def test_a_topic_made_anew_has_another_identity(kafka_broker: Kafka, admin: Admin, topics: Topics) -> None:
    name = topics.commands.name
    admin.create_topics([topics.commands])
    first = admin.identity(name)
    assert admin.identity(name) == first
    kafka_broker.delete_topic(name)
    until(lambda: name not in admin.partition_counts(), lambda: None)
    admin.create_topics([topics.commands])
    second = admin.identity(name)
    assert second.cluster_id == first.cluster_id != ""
    assert second.topic_id != first.topic_id


def test_a_missing_topic_has_no_identity(admin: Admin, topics: Topics) -> None:
    with pytest.raises(TopicMismatch) as caught:
        admin.identity(topics.commands.name)
    assert caught.value.topic == topics.commands.name


def test_a_topic_that_another_process_just_made_counts_as_made(
    kafka_broker: Kafka, admin: Admin, topics: Topics
) -> None:
    kafka_broker.create_topic(topics.commands.name, partitions=2)
    assert admin.create_topics([topics.commands]) == ()


def test_a_refused_topic_is_an_error(admin: Admin, topics: Topics) -> None:
    with pytest.raises(Unavailable) as caught:
        admin.create_topics([topics.commands], replication_factor=3)
    assert isinstance(caught.value.__cause__, KafkaException)


def test_without_a_broker_all_is_unavailable(topics: Topics) -> None:
    (nobodys,) = free_ports(1)
    absent = Admin(KafkaConfig(f"127.0.0.1:{nobodys}"), timeout=0.5)
    with pytest.raises(Unavailable):
        absent.partition_counts()
    with pytest.raises(Unavailable):
        absent.identity(topics.commands.name)
