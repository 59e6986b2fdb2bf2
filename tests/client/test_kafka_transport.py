"""Commands and outcomes over the embedded broker, answered by a tiny owner."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from runlane.client import ClientOptions, Connection, HostKey, RunStore, SyncRunStore
from runlane.contract.codec import parse_command_headers
from runlane.contract.errors import NotPermitted, RunNotFound, TopicMismatch, Unavailable
from runlane.contract.topics import Topics
from runlane.contract.values import SessionStatus
from runlane.kafka import EmbeddedBroker, KafkaConfig
from tests.client.echo_owner import HOST_KEY, EchoOwner
from tests.client.make import begin, one_shot, one_shot_child, record
from tests.client.scripted import NOW

pytestmark = pytest.mark.slow

PARTITIONS = 4
API = "http://127.0.0.1:9"
QUICK = ClientOptions(timeout=100, answer_wait=0.3, retry_wait=0.01, max_retry_wait=0.1)


def new_broker() -> EmbeddedBroker:
    topics = Topics(partitions=PARTITIONS)
    return EmbeddedBroker({topic.name: topic.partitions for topic in topics.all()})


@pytest.fixture
def broker() -> Iterator[EmbeddedBroker]:
    with new_broker() as started:
        yield started


@pytest.fixture
def config(broker: EmbeddedBroker) -> KafkaConfig:
    return KafkaConfig(broker.bootstrap)


def connect(config: KafkaConfig, options: ClientOptions = QUICK) -> RunStore:
    return RunStore.connect(config, API, host_key=HOST_KEY, options=options)


async def test_a_whole_run_over_the_broker(config: KafkaConfig) -> None:
    with EchoOwner(config, partitions=PARTITIONS) as owner:
        async with connect(config) as store:
            await store.create_session("session", NOW)
            async with store.run("run", "agent", session_id="session") as run:
                tasks = [await run.post("note", {"n": n}) for n in range(300)]
                results = await asyncio.gather(*tasks)
            assert [int(result.id) for result in results] == list(range(2, 302))
            assert {result.session_status for result in results} == {SessionStatus.ACTIVE}
    lane = owner.lanes["s/session"]
    assert [run.status for run in lane.runs()] == ["completed"]
    # One session, one claim, one start, the records, one end; what was asked for again keeps its name.
    asked = {parse_command_headers(message.headers).correlation_id for message in owner.commands}
    assert len(asked) == 304


async def test_errors_come_back_as_they_were_raised(config: KafkaConfig) -> None:
    with EchoOwner(config, partitions=PARTITIONS):
        async with connect(config) as store:
            with pytest.raises(RunNotFound) as missing:
                await store.append_run_record(record("k"))
            assert missing.value.code == "run_not_found"


async def test_without_a_host_key_a_host_command_is_not_permitted(config: KafkaConfig) -> None:
    with EchoOwner(config, partitions=PARTITIONS):
        async with RunStore.connect(config, API, options=QUICK) as store:
            with pytest.raises(NotPermitted):
                await store.create_session("session", NOW)


async def test_a_store_reads_one_reply_partition_and_names_it_in_every_command(config: KafkaConfig) -> None:
    with EchoOwner(config, partitions=PARTITIONS) as owner:
        async with connect(config) as store:
            await begin(store)
            await one_shot(store, "root")
            await one_shot_child(store, "child", "root")
    replies = {parse_command_headers(message.headers).reply_partition for message in owner.commands}
    assert len(replies) == 1


async def test_several_stores_share_the_reply_partitions(config: KafkaConfig) -> None:
    with EchoOwner(config, partitions=PARTITIONS):
        async with connect(config) as first, connect(config) as second, connect(config) as third:
            await begin(first)
            stores = [first, second, third]
            results = await asyncio.gather(
                *(stores[n % 3].append_run_record(record(f"k{n}")) for n in range(60))
            )
    assert sorted(int(result.id) for result in results) == list(range(2, 62))


async def test_a_lost_outcome_is_asked_for_again(config: KafkaConfig) -> None:
    with EchoOwner(config, partitions=PARTITIONS, forgetful=True) as owner:
        async with connect(config) as store:
            await begin(store)
            result = await store.append_run_record(record("k"))
            assert (result.id, result.inserted) == ("2", False)
    bodies = Counter(message.value for message in owner.commands)
    assert min(bodies.values()) >= 2


async def test_a_broker_that_went_away_for_a_while_is_waited_for(
    broker: EmbeddedBroker, config: KafkaConfig
) -> None:
    with EchoOwner(config, partitions=PARTITIONS):
        async with connect(config) as store:
            await begin(store)
            broker.disconnect()
            appends = [asyncio.create_task(store.append_run_record(record(f"k{n}"))) for n in range(20)]
            await asyncio.sleep(0.5)
            assert not any(append.done() for append in appends)
            broker.reconnect()
            results = await asyncio.gather(*appends)
    assert sorted(int(result.id) for result in results) == list(range(2, 22))


async def test_many_large_records_stay_below_what_the_broker_keeps(config: KafkaConfig) -> None:
    payload = json.dumps({"text": "x" * 400_000}).encode()
    with EchoOwner(config, partitions=PARTITIONS) as owner:
        async with connect(config, replace(QUICK, answer_wait=QUICK.timeout)) as store:
            await begin(store)
            records = [record(f"k{n}", payload=payload) for n in range(60)]
            results = await asyncio.gather(*(store.append_run_record(r) for r in records))
    assert [int(result.id) for result in results] == list(range(2, 62))
    assert len(owner.commands) == 63


async def test_a_broker_without_our_topics_is_said_at_once() -> None:
    with EmbeddedBroker({"other": 1}) as broker:
        with pytest.raises(TopicMismatch) as missing:
            await connect(KafkaConfig(broker.bootstrap)).__aenter__()
        assert missing.value.topic == "runlane.commands"


def connection(broker: EmbeddedBroker, log_id: str) -> Connection:
    key = HostKey(id=HOST_KEY.id, secret=HOST_KEY.secret.decode())
    return Connection(kafka=broker.bootstrap, log_id=log_id, api=API, host_key=key)


async def test_open_commands_follow_a_stack_that_restarts_elsewhere(tmp_path: Path) -> None:
    path = tmp_path / "connection.json"
    with new_broker() as first:
        connection(first, "log-1").save(path)
        async with RunStore.from_connection(path, options=QUICK) as store:
            with EchoOwner(KafkaConfig(first.bootstrap), partitions=PARTITIONS) as owner:
                await begin(store)
                lanes = owner.lanes
            # The owner is gone: these are in the old broker and were never decided.
            appends = [asyncio.create_task(store.append_run_record(record(f"k{n}"))) for n in range(10)]
            await asyncio.sleep(0.2)
            first.close()
            with (
                new_broker() as second,
                EchoOwner(KafkaConfig(second.bootstrap), partitions=PARTITIONS) as owner,
            ):
                owner.lanes.update(lanes)
                connection(second, "log-2").save(path)
                results = await asyncio.gather(*appends)
                await store.end_session("session", NOW)
                sent = [message.value for message in owner.commands]
    assert [int(result.id) for result in results] == list(range(2, 12))
    assert len(set(sent)) == 11


@pytest.mark.slow
async def test_a_store_that_is_opened_while_the_stack_restarts_finds_the_new_one(
    tmp_path: Path, broker: EmbeddedBroker, config: KafkaConfig
) -> None:
    path = tmp_path / "connection.json"
    connection(broker, "log-1").model_copy(update={"kafka": "127.0.0.1:9"}).save(path)
    with EchoOwner(config, partitions=PARTITIONS):
        store = RunStore.from_connection(path, options=QUICK)
        opening = asyncio.create_task(store.__aenter__())
        await asyncio.sleep(0.1)
        connection(broker, "log-2").save(path)
        await opening
        await begin(store)
        await store.__aexit__(None, None, None)


async def test_a_stack_that_never_ran_is_unavailable(tmp_path: Path) -> None:
    with pytest.raises(Unavailable) as missing:
        await RunStore.from_connection(tmp_path / "connection.json").__aenter__()
    assert missing.value.code == "no_connection_file"


def test_the_sync_store_over_the_broker(config: KafkaConfig) -> None:
    with (
        EchoOwner(config, partitions=PARTITIONS),
        SyncRunStore(connect(config)) as store,
    ):
        store.create_session("session", NOW)
        with store.run("run", "agent", session_id="session") as run:
            posted = [run.post("note", {"n": n}) for n in range(20)]
            assert run.append("note", "{}").id == "22"
        assert [future.result().id for future in posted] == [str(n) for n in range(2, 22)]
