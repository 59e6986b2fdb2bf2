"""The client on a real broker, answered by a tiny owner, through its restart and its freeze."""

from __future__ import annotations

import asyncio

import pytest

from runlane.client import ClientOptions, RunStore
from runlane.contract.codec import parse_command_headers
from runlane.contract.topics import Topics
from runlane.kafka import KafkaConfig
from tests.client.echo_owner import HOST_KEY, EchoOwner
from tests.client.make import begin, record
from tests.client.scripted import NOW
from tests.harness.kafka import Kafka, KafkaBroker, new_topic_prefix

pytestmark = [pytest.mark.kafka, pytest.mark.slow]
PARTITIONS = 3
API = "http://127.0.0.1:9"
PATIENT = ClientOptions(timeout=100, answer_wait=2)


def prefix_on(broker: Kafka) -> str:
    prefix = new_topic_prefix()
    topics = Topics(prefix)
    for topic in (topics.commands, topics.outcomes):
        broker.create_topic(topic.name, partitions=PARTITIONS)
    return prefix


def store_on(broker: Kafka, prefix: str) -> RunStore:
    config = KafkaConfig(broker.bootstrap, client_id="runlane-client")
    return RunStore.connect(config, API, host_key=HOST_KEY, topic_prefix=prefix, options=PATIENT)


async def test_a_whole_run_over_a_real_broker(kafka_broker: Kafka) -> None:
    prefix = prefix_on(kafka_broker)
    owner = EchoOwner(KafkaConfig(kafka_broker.bootstrap), partitions=PARTITIONS, prefix=prefix)
    with owner:
        async with store_on(kafka_broker, prefix) as store:
            await store.create_session("session", NOW)
            async with store.run("run", "agent", session_id="session") as run:
                tasks = [await run.post("note", {"n": n}) for n in range(500)]
                results = await asyncio.gather(*tasks)
    assert [int(result.id) for result in results] == list(range(2, 502))
    # What was asked for again keeps its name.
    asked = {parse_command_headers(message.headers).correlation_id for message in owner.commands}
    assert len(asked) == 504


@pytest.mark.parametrize("how", ["restart", "freeze"])
async def test_commands_outlive_a_broker_that_goes_away_under_load(
    own_kafka_broker: KafkaBroker, how: str
) -> None:
    prefix = prefix_on(own_kafka_broker)
    owner = EchoOwner(KafkaConfig(own_kafka_broker.bootstrap), partitions=PARTITIONS, prefix=prefix)
    with owner:
        async with store_on(own_kafka_broker, prefix) as store:
            await begin(store)

            async def work(worker: int) -> list[int]:
                keys = [f"w{worker}-{n}" for n in range(100)]
                return [int((await store.append_run_record(record(key))).id) for key in keys]

            workers = [asyncio.create_task(work(worker)) for worker in range(8)]
            await asyncio.sleep(0.1)
            if how == "restart":
                await asyncio.to_thread(own_kafka_broker.restart)
            else:
                await asyncio.to_thread(own_kafka_broker.freeze)
                await asyncio.sleep(3)
                await asyncio.to_thread(own_kafka_broker.thaw)
            ids = [number for numbers in await asyncio.gather(*workers) for number in numbers]
    assert sorted(ids) == list(range(2, 2 + 800))
