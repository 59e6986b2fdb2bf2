"""Every test of the layer runs on the embedded broker, and on a real Kafka where there is one."""

from collections.abc import Callable, Iterator

import pytest

from runlane.kafka import Admin, EmbeddedBroker, KafkaConfig
from tests.harness import Kafka, new_topic_prefix
from tests.kafka.reading import PATIENCE_SECONDS

MakeTopic = Callable[..., str]


@pytest.fixture(scope="session")
def embedded() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker({}) as broker:
        yield broker


@pytest.fixture(params=["embedded", pytest.param("real", marks=pytest.mark.kafka)])
def cluster(request: pytest.FixtureRequest) -> Kafka | EmbeddedBroker:
    name = "embedded" if request.param == "embedded" else "kafka_broker"
    found: Kafka | EmbeddedBroker = request.getfixturevalue(name)
    return found


@pytest.fixture
def config(cluster: Kafka | EmbeddedBroker) -> KafkaConfig:
    return KafkaConfig(cluster.bootstrap, client_id="test")


@pytest.fixture
def make_topic(cluster: Kafka | EmbeddedBroker) -> MakeTopic:
    """Makes a topic of a name that no other test has, and returns the name."""

    def make(partitions: int = 1) -> str:
        name = new_topic_prefix() + "topic"
        if isinstance(cluster, EmbeddedBroker):
            cluster.create_topic(name, partitions)
        else:
            cluster.create_topic(name, partitions=partitions, config={"max.message.bytes": "2097152"})
        return name

    return make


@pytest.fixture
def real_config(kafka_broker: Kafka) -> KafkaConfig:
    return KafkaConfig(kafka_broker.bootstrap, client_id="test")


@pytest.fixture
def admin(real_config: KafkaConfig) -> Admin:
    return Admin(real_config, timeout=PATIENCE_SECONDS)
