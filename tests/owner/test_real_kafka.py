"""The owner as a member of a group on a real Kafka: shared partitions, takeovers, a topic made anew."""

from __future__ import annotations

import time

import pytest

from runlane.contract.errors import Unavailable
from runlane.contract.topics import Topics
from runlane.kafka import Admin, KafkaConfig
from runlane.owner.adopt import adopt_log
from runlane.owner.chain import Phase
from runlane.owner.config import Bounds
from runlane.store.stops import StopKind
from tests.harness.kafka import Kafka, new_topic_prefix
from tests.owner.simulation.clients import agent_session, one_shot
from tests.owner.stack import (
    PATIENCE,
    Journal,
    Running,
    Worker,
    open_log,
    open_ports,
    plain,
    start_owner,
)
from tests.owner.test_end_to_end import check_chain

pytestmark = pytest.mark.kafka


@pytest.fixture
def topics(kafka_broker: Kafka) -> Topics:
    """Topics of this test's own."""
    made = Topics(prefix=new_topic_prefix(), partitions=4)
    Admin(KafkaConfig(kafka_broker.bootstrap), timeout=PATIENCE).create_topics(
        made.all(), replication_factor=1
    )
    return made


def opened(running: Running) -> set[int]:
    """Return the partitions that an owner has open."""
    return {number for number, phase in running.owner.phases().items() if phase is Phase.OPEN}


def wait_for(condition: object, *, what: str) -> None:
    """Wait until a condition holds."""
    assert callable(condition)
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


def test_owners_share_the_partitions_and_take_over_from_each_other(
    kafka_broker: Kafka, topics: Topics, held: Journal
) -> None:
    kafka = KafkaConfig(kafka_broker.bootstrap)
    worker = Worker(kafka, topics)
    first = start_owner(kafka, held, "", topics=topics, config=plain())
    worker.play(agent_session("alpha", 2, purge=False))
    wait_for(lambda: len(opened(first)) == 4, what="one owner has every partition")
    second = start_owner(kafka, held, "", topics=topics, config=plain())
    for number in range(20):
        worker.play(one_shot(f"run-{number}"))
    wait_for(lambda: len(opened(first)) == len(opened(second)) == 2, what="two owners share")
    first.stop()
    for number in range(10):
        worker.play(one_shot(f"more-{number}"))
    wait_for(lambda: len(opened(second)) == 4, what="the other owner has every partition")
    second.stop()
    worker.close()
    for partition in range(4):
        check_chain(held, partition)


def test_a_topic_deleted_and_made_anew_is_a_stop_until_it_is_adopted(
    kafka_broker: Kafka, topics: Topics, held: Journal
) -> None:
    kafka = KafkaConfig(kafka_broker.bootstrap)
    worker = Worker(kafka, topics)
    running = start_owner(kafka, held, "", topics=topics, config=plain())
    worker.play(agent_session("alpha", 2, purge=False))
    kafka_broker.delete_topic(topics.commands.name)
    admin = Admin(kafka, timeout=PATIENCE)
    wait_for(lambda: topics.commands.name not in admin.partition_counts(), what="the topic is gone")
    admin.create_topics([topics.commands], replication_factor=1)
    wait_for(
        lambda: (
            {stop.kind for stop in running.owner.stops().values()} == {StopKind.LOG_REPLACED}
            and len(running.owner.stops()) == 4
        ),
        what="every partition is stopped",
    )
    with pytest.raises(Unavailable):
        adopt_log(running.ports, 0, Bounds())
    running.stop()
    log = open_log(kafka, topics, "")
    for partition in range(4):
        adopted = adopt_log(open_ports(log, held), partition, Bounds())
        assert adopted is not None
        assert adopted.kind is StopKind.LOG_REPLACED
    log.close()
    again = start_owner(kafka, held, "", topics=topics, config=plain())
    worker.play(one_shot("after"))
    again.stop()
    worker.close()
    for partition in range(4):
        check_chain(held, partition)
