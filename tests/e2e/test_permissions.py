"""A user whom the cluster does not know, or does not let: a typed end for owner, client and administrator."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from runlane.client import ClientOptions, RunStore
from runlane.contract.codec import Codec
from runlane.contract.errors import KafkaNotPermitted, NotPermitted, OutcomeUnknown, Unavailable
from runlane.contract.topics import Topics
from runlane.kafka import Admin, GroupSettings
from runlane.owner.config import OwnerConfig
from runlane.service.owner_thread import OwnerParts, OwnerThread
from runlane.store import connect, migrate
from tests.client.scripted import NOW
from tests.e2e.secured import ADMIN, WORKER, SecuredBroker
from tests.e2e.stack import HOST_KEY, OWNER_KEYS, PATIENCE, wait_for
from tests.service.commands import runlane

pytestmark = [pytest.mark.kafka, pytest.mark.slow]
TOPICS = Topics(partitions=1)
WRITTEN = (TOPICS.outcomes, TOPICS.records, TOPICS.rejected)


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredBroker]:
    """A broker with all topics, which the worker may see and do nothing else with."""
    with SecuredBroker(tmp_path_factory.mktemp("secured")) as running:
        Admin(running.config(*ADMIN), timeout=PATIENCE).create_topics(TOPICS.all(), replication_factor=1)
        for topic in TOPICS.all():
            running.allow("TOPIC", topic.name, "DESCRIBE")
        yield running


def test_a_user_with_a_wrong_password_is_told_so(broker: SecuredBroker) -> None:
    admin = Admin(broker.config(WORKER[0], "wrong"), timeout=1.5)
    with pytest.raises(KafkaNotPermitted) as refused:
        until_answered(admin.partition_counts)
    assert not refused.value.retryable
    with pytest.raises(KafkaNotPermitted):
        until_answered(lambda: admin.identity(TOPICS.commands.name))


def until_answered(call: Callable[[], object]) -> None:
    """Ask again where a call gave up before the brokers had said anything."""

    def answered() -> bool:
        with suppress(Unavailable):
            call()
            return True
        return False

    wait_for(answered, "the brokers say something")


def test_administration_that_is_not_allowed_is_refused(broker: SecuredBroker) -> None:
    admin = Admin(broker.config(*WORKER), timeout=PATIENCE)
    with pytest.raises(KafkaNotPermitted):
        admin.create_topics([Topics("other.").commands], replication_factor=1)
    with pytest.raises(KafkaNotPermitted):
        admin.check_topics([TOPICS.commands])


def client(broker: SecuredBroker) -> RunStore:
    options = ClientOptions(timeout=60, answer_wait=1.0)
    config = broker.config(*WORKER)
    return RunStore.connect(config, "http://127.0.0.1:9", host_key=HOST_KEY, options=options)


async def test_a_client_that_may_not_write_commands_hears_it_at_once(broker: SecuredBroker) -> None:
    with broker.allowed("TOPIC", TOPICS.outcomes.name, "READ"):
        async with client(broker) as store:
            for _ in range(2):
                with pytest.raises(NotPermitted) as refused:
                    await store.create_session("session", NOW)
                assert refused.value.code == "kafka_not_permitted"


async def test_a_client_that_may_not_read_outcomes_is_told_that_it_may_not(broker: SecuredBroker) -> None:
    with broker.allowed("TOPIC", TOPICS.commands.name, "WRITE"):
        async with client(broker) as store:
            with pytest.raises((OutcomeUnknown, NotPermitted), match=r"kafka_not_permitted|AUTHORIZATION"):
                await store.create_session("session", NOW)
            with pytest.raises(NotPermitted):
                await store.create_session("session", NOW)


def test_an_owner_that_may_not_read_its_topic_is_a_stop(broker: SecuredBroker, tmp_path: Path) -> None:
    database = f"chdb://{tmp_path}/engine"
    runlane("migrate", CLICKHOUSE=database)
    key = "k:0123456789abcdef0123456789abcdef"
    stopped = runlane(
        "owner",
        expect=5,
        KAFKA=broker.bootstrap,
        KAFKA_SECURITY="sasl_plaintext",
        KAFKA_SASL="PLAIN",
        KAFKA_USERNAME=WORKER[0],
        KAFKA_PASSWORD=WORKER[1],
        CLICKHOUSE=database,
        OWNER_KEY=key,
        METRICS_LISTEN="127.0.0.1:0",
    )
    assert "(kafka_not_permitted)" in stopped.stderr
    assert WORKER[1] not in stopped.stderr


def test_a_running_owner_ends_when_its_topic_is_forbidden(broker: SecuredBroker, tmp_path: Path) -> None:
    commands, group = TOPICS.commands.name, "owners"
    broker.allow("TOPIC", commands, "READ")
    broker.allow("GROUP", group, "READ")
    for topic in WRITTEN:
        broker.allow("TOPIC", topic.name, "WRITE")
    pool = connect(f"chdb://{tmp_path}/engine")
    parts = OwnerParts(
        kafka=broker.config(*WORKER),
        topics=TOPICS,
        group=GroupSettings(group),
        pool=pool,
        journal_id=migrate(pool),
        config=OwnerConfig(None, OWNER_KEYS),
        codec=Codec(),
    )
    with OwnerThread(parts) as owner:
        owner.wait_until_open(1, PATIENCE)
        broker.forbid("TOPIC", commands, "READ")
        assert owner.ended.wait(PATIENCE)
        with pytest.raises(KafkaNotPermitted):
            owner.check()
    pool.close()
