"""The default sink: events on the stream topic, on the embedded broker."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from runlane.client import KafkaStreamSink, MemoryStore
from runlane.client.recovery import ensure_run_completion
from runlane.contract.errors import ContractError, Unavailable
from runlane.contract.partitioner import partition_for
from runlane.contract.stream import (
    STREAM_SCHEMA,
    Stream,
    StreamEvent,
    decode_event,
    stream_events,
    stream_message,
)
from runlane.contract.topics import Topics
from runlane.kafka import Consumer, EmbeddedBroker, KafkaConfig, Message, Partition
from tests.kafka.reading import read
from tests.recovery.doubles import COMPLETED, Workflow
from tests.stream.records import T0, committed

PREFIX = "sink-test."
PARTITIONS = 4


@pytest.fixture(scope="module")
def config() -> Iterator[KafkaConfig]:
    with EmbeddedBroker({Topics(PREFIX).stream.name: PARTITIONS}) as broker:
        yield KafkaConfig(broker.bootstrap, client_id="test")


def read_lane(config: KafkaConfig, session: str, count: int) -> list[Message]:
    """The first messages of a session's lane, from the partition that its key hashes to."""
    key = f"s/{session}".encode()
    partition = Partition(Topics(PREFIX).stream.name, partition_for(key, PARTITIONS))
    found: list[Message] = []
    with Consumer(config) as consumer:
        consumer.assign({partition: 0})
        while len(found) < count:
            found.extend(message for message in read(consumer, 1) if message.key == key)
    return found


async def test_an_event_is_written_under_its_lane_with_its_schema(config: KafkaConfig) -> None:
    record = committed("run_suspended", b'{"SuspensionID":"s"}', session="one")
    async with KafkaStreamSink(config, topic_prefix=PREFIX) as sink:
        await Stream(sink).deliver(record, record.session_status)
    first, second = read_lane(config, "one", 2)
    assert [decode_event(message.value or b"") for message in (first, second)] == list(stream_events(record))
    assert (first.key, dict(first.headers or [])["schema"]) == (b"s/one", STREAM_SCHEMA.encode())


async def test_a_recovered_run_reaches_the_topic(config: KafkaConfig, run_store: MemoryStore) -> None:
    await run_store.create_session("three", T0)
    await run_store.run("run", "agent", session_id="three", started_at=T0).__aenter__()
    async with KafkaStreamSink(config, topic_prefix=PREFIX) as sink:
        await ensure_run_completion("run", store=run_store, engine=Workflow(COMPLETED), stream=Stream(sink))
    events: list[StreamEvent] = [
        decode_event(message.value or b"") for message in read_lane(config, "three", 2)
    ]
    records = (await run_store.list_run_records("run")).records
    assert events == [event for record in records for event in stream_events(record)]


async def test_a_closed_sink_takes_nothing(config: KafkaConfig) -> None:
    (event,) = stream_events(committed("planner_note", b'{"Note":"n"}'))
    sink = KafkaStreamSink(config, topic_prefix=PREFIX)
    with pytest.raises(Unavailable):
        await sink.send(event)
    async with sink:
        await sink.send(event)
    with pytest.raises(Unavailable):
        await sink.send(event)


async def test_an_event_that_is_too_large_is_refused(config: KafkaConfig) -> None:
    (event,) = stream_events(committed("planner_note", b'{"Note":"n"}', session="two"))
    large = replace(event, payload=b'{"note":"' + b"x" * 2_200_000 + b'"}')
    async with KafkaStreamSink(config, topic_prefix=PREFIX) as sink:
        with pytest.raises(ContractError) as refused:
            await sink.send(large)
    assert refused.value.code == "message_too_large"


def test_events_of_a_sessionless_run_would_lie_in_its_own_lane() -> None:
    (event,) = stream_events(committed("planner_note", b'{"Note":"n"}', session=""))
    assert stream_message(event).key == b"r/run-1"
