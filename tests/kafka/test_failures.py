"""What each of Kafka's errors means here: what passes, what an operator mends, what takes a new client."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError, KafkaException

from runlane.contract.errors import (
    ContractError,
    FatalKafkaError,
    KafkaNotPermitted,
    NotPermitted,
    Overloaded,
    RunlaneError,
    TopicMismatch,
    Unavailable,
)
from runlane.kafka import Consumer, EmbeddedBroker, GroupSettings, KafkaConfig, Partition, Producer, failures
from runlane.kafka import consumer as consumer_module
from runlane.kafka.failures import Standing, to_error

PLACE = Partition("t", 0)
REFUSED = [
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.GROUP_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    KafkaError.SASL_AUTHENTICATION_FAILED,
    KafkaError.UNSUPPORTED_SASL_MECHANISM,
    KafkaError._AUTHENTICATION,
]


@pytest.mark.parametrize("code", REFUSED)
@pytest.mark.parametrize("fatal", [False, True])
def test_what_our_user_may_not_do_is_no_passing_trouble(code: int, fatal: bool) -> None:
    error = to_error(KafkaException(KafkaError(code, "secret", fatal=fatal)), "reading")
    assert isinstance(error, NotPermitted)
    assert (error.code, error.retryable) == ("kafka_not_permitted", False)
    assert "secret" not in error.message


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (KafkaError._FENCED, FatalKafkaError),
        (KafkaError._FATAL, FatalKafkaError),
        (KafkaError.UNKNOWN_TOPIC_OR_PART, TopicMismatch),
        (KafkaError.UNKNOWN_TOPIC_ID, TopicMismatch),
        (KafkaError.MSG_SIZE_TOO_LARGE, ContractError),
        (KafkaError._QUEUE_FULL, Overloaded),
        (KafkaError._TRANSPORT, Unavailable),
        (KafkaError._TIMED_OUT, Unavailable),
        (KafkaError.NOT_ENOUGH_REPLICAS, Unavailable),
    ],
)
def test_every_other_error_is_what_it_was(code: int, kind: type[RunlaneError]) -> None:
    assert type(to_error(KafkaError(code), "reading")) is kind


def test_who_is_refused_is_told_so_when_nobody_answers() -> None:
    standing, silent, other = Standing(), Unavailable("too long"), TopicMismatch("missing")
    assert standing.judge(silent) is silent
    standing.hear(KafkaError(KafkaError._AUTHENTICATION))
    standing.hear(KafkaError(KafkaError._ALL_BROKERS_DOWN))
    assert isinstance(standing.judge(silent), KafkaNotPermitted)
    assert standing.judge(other) is other
    assert standing.refused_for(60) is None
    assert isinstance(standing.refused_for(0), KafkaNotPermitted)


def test_a_refusal_that_is_not_repeated_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(failures.time, "monotonic", lambda: now[0])
    standing, silent = Standing(), Unavailable("too long")
    standing.hear(KafkaError(KafkaError._AUTHENTICATION))
    now[0] = 120.0
    assert standing.refused_for(10) is None
    assert standing.judge(silent) is silent
    for _ in range(5):
        standing.hear(KafkaError(KafkaError._AUTHENTICATION))
        assert standing.refused_for(10) is None
        now[0] += 2.0
    standing.hear(KafkaError(KafkaError._AUTHENTICATION))
    assert isinstance(standing.refused_for(10), KafkaNotPermitted)


@pytest.mark.parametrize("code", [KafkaError._TRANSPORT, KafkaError._RESOLVE])
def test_a_broker_that_goes_away_while_we_sign_in_refuses_nobody(code: int) -> None:
    standing, silent = Standing(), Unavailable("too long")
    standing.hear(KafkaError(KafkaError._AUTHENTICATION))
    standing.hear(KafkaError(code))
    assert standing.judge(silent) is silent
    assert standing.refused_for(0) is None


@pytest.fixture(scope="module")
def config() -> KafkaConfig:
    return KafkaConfig("127.0.0.1:9")


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaNotPermitted),
        (KafkaError.GROUP_AUTHORIZATION_FAILED, KafkaNotPermitted),
        (KafkaError.UNKNOWN_TOPIC_OR_PART, TopicMismatch),
        (KafkaError._FENCED, FatalKafkaError),
    ],
)
def test_an_error_read_in_place_of_a_message_ends_the_reader(
    config: KafkaConfig, code: int, kind: type[RunlaneError]
) -> None:
    with Consumer(config, group=GroupSettings("g")) as consumer, pytest.raises(kind):
        consumer._judge(KafkaError(code, fatal=code == KafkaError._FENCED), PLACE)


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (KafkaError._BAD_MSG, "_BAD_MSG"),
        (KafkaError._BAD_COMPRESSION, "_BAD_COMPRESSION"),
        (KafkaError.MSG_SIZE_TOO_LARGE, "MSG_SIZE_TOO_LARGE"),
        (KafkaError._MAX_POLL_EXCEEDED, "_MAX_POLL_EXCEEDED"),
        (KafkaError.INCONSISTENT_GROUP_PROTOCOL, "INCONSISTENT_GROUP_PROTOCOL"),
    ],
)
def test_an_error_that_the_library_goes_on_after_is_counted_and_logged(
    config: KafkaConfig, caplog: pytest.LogCaptureFixture, code: int, name: str
) -> None:
    with Consumer(config) as consumer:
        consumer._judge(KafkaError(code, "secret"), Partition(name, 3))
        consumer._judge(KafkaError(code, "secret"), Partition(name, 3))
        assert consumer.errors == {name: 2}
    (said,) = [record.getMessage() for record in caplog.records if name in record.getMessage()]
    assert "3" in said
    assert "secret" not in said


def test_a_reader_without_a_group_needs_no_group(config: KafkaConfig) -> None:
    with Consumer(config) as consumer:
        consumer._judge(KafkaError(KafkaError.GROUP_AUTHORIZATION_FAILED), Partition("", 0))
        assert not consumer.errors


def test_a_reader_that_is_refused_for_long_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    with EmbeddedBroker({}) as broker, Consumer(KafkaConfig(broker.bootstrap)) as consumer:
        consumer._on_error(KafkaError(KafkaError._AUTHENTICATION))
        assert consumer.poll(1, 0).messages == ()
        monkeypatch.setattr(consumer_module, "_REFUSED_SECONDS", 0.0)
        with pytest.raises(KafkaNotPermitted):
            consumer.poll(1, 0)


def test_a_fatal_error_that_a_poll_raises_is_reported_to_whoever_waits() -> None:
    with EmbeddedBroker({"t": 1}) as broker:
        producer = Producer(KafkaConfig(broker.bootstrap))
        broker.disconnect()
        inner = producer._producer

        class Failing:
            """The library's producer, which raises in whoever polls next."""

            def __getattr__(self, name: str) -> object:
                return getattr(inner, name)

            def __len__(self) -> int:
                return len(inner)

            def poll(self, timeout: float) -> int:
                producer._producer = inner
                raise KafkaException(KafkaError(KafkaError.CLUSTER_AUTHORIZATION_FAILED, fatal=True))

        reports: list[RunlaneError | None] = []
        producer.produce("t", b"x", on_delivery=reports.append)
        producer._producer = Failing()  # type: ignore[assignment] # pyright: ignore[reportAttributeAccessIssue]
        producer.close()
    assert isinstance(producer.fatal, KafkaNotPermitted)
    assert reports == [producer.fatal]
    with pytest.raises(KafkaNotPermitted):
        producer.produce("t", b"y")
