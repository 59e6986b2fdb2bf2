"""The memory sink: every append once and in order, whoever dies, repeats or deletes."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator

import pytest

from runlane.client import RunStore
from runlane.contract.codec import memory_headers
from runlane.contract.errors import EventConflict, InvalidCommand, JournalFault
from runlane.contract.memory import (
    AppendMemory,
    MemoryType,
    PlannerNoteData,
    encode_memory_command,
    read_data,
)
from runlane.contract.partitioner import partition_for
from runlane.kafka import KafkaConfig, Producer
from runlane.store.chain import Chains
from runlane.store.engine import ClientPool
from runlane.store.memory import MEMORY, MemoryTable, MemoryTableReader, SinkBounds
from runlane.store.migrate import journal_id
from tests.memory.stack import PATIENCE, TOPICS, broker, client, note, notes, sink, table, wait_for

pytestmark = pytest.mark.slow


class Stubborn(MemoryTable):
    """A table that refuses to erase one run."""

    refused = ("", "")
    refusals = 0

    def erase(self, run: tuple[str, str]) -> bool:
        if run == self.refused:
            self.refusals += 1
            raise JournalFault("the database refuses it")
        return super().erase(run)


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ClientPool, Stubborn]]:
    with table(tmp_path_factory.mktemp("memory") / "engine") as (pool, _):
        yield pool, Stubborn(pool, journal_id(pool), max_execution=SinkBounds().max_execution)


@pytest.fixture(scope="module")
def kafka(held: tuple[ClientPool, MemoryTable]) -> Iterator[KafkaConfig]:
    """A broker whose memory topic is stored while the module's tests run."""
    with broker() as running, sink(running, held[1]):
        yield running


async def texts(store: RunStore, agent: str, run: str) -> list[str]:
    snapshot = await store.memory.load_run(agent, run)
    return [read_data(event, PlannerNoteData).note for event in snapshot.events]


async def test_what_is_appended_is_read_at_once_and_in_order(
    kafka: KafkaConfig, held: tuple[ClientPool, MemoryTable]
) -> None:
    async with client(kafka, held[0]) as store:
        for number in range(20):
            await store.memory.append_events("a", "order", notes(f"{number}.0", f"{number}.1"))
        assert await texts(store, "a", "order") == [f"{n}.{i}" for n in range(20) for i in range(2)]
        assert await texts(store, "other", "order") == []
        snapshot = await store.memory.load_run("a", "order")
        assert snapshot.latest(MemoryType.PLANNER_NOTE) == note("19.1", 1)


async def test_many_appends_at_once_are_each_stored_whole(
    kafka: KafkaConfig, held: tuple[ClientPool, MemoryTable]
) -> None:
    async with client(kafka, held[0]) as store:
        await asyncio.gather(
            *(
                store.memory.append_events("a", f"r{n % 5}", notes(f"{n}.0", f"{n}.1", f"{n}.2"))
                for n in range(60)
            )
        )
        for run in range(5):
            stored = await texts(store, "a", f"r{run}")
            assert sorted(stored) == sorted(f"{n}.{i}" for n in range(run, 60, 5) for i in range(3))
            assert [text.partition(".")[2] for text in stored] == ["0", "1", "2"] * 12


async def test_an_append_repeated_under_its_key_changes_nothing(
    kafka: KafkaConfig, held: tuple[ClientPool, MemoryTable]
) -> None:
    async with client(kafka, held[0]) as store:
        for _ in range(2):
            await store.memory.append_events("a", "keyed", notes("once"), key="k1")
        with pytest.raises(EventConflict) as refused:
            await store.memory.append_events("a", "keyed", notes("other"), key="k1")
        assert (refused.value.run_id, refused.value.event_key) == ("keyed", "k1")
        await store.memory.append_events("a", "keyed", notes("next"), key="k2")
        assert await texts(store, "a", "keyed") == ["once", "next"]


async def test_a_message_that_came_twice_is_stored_once(
    kafka: KafkaConfig, held: tuple[ClientPool, MemoryTable]
) -> None:
    append = AppendMemory.of("a", "twice", "k", notes("x", "y"))
    headers = memory_headers("nobody", 0)
    with Producer(kafka) as producer:
        for _ in range(5):
            producer.produce(TOPICS.memory.name, encode_memory_command(append), key=b"twice", headers=headers)
        assert producer.drain(PATIENCE)
    async with client(kafka, held[0]) as store:
        await store.memory.append_events("a", "twice", notes("z"))
        assert await texts(store, "a", "twice") == ["x", "y", "z"]


async def test_what_a_product_deletes_is_gone_and_what_follows_is_remembered_anew(
    kafka: KafkaConfig, held: tuple[ClientPool, MemoryTable]
) -> None:
    pool = held[0]
    async with client(kafka, pool) as store:
        await store.memory.append_events("a", "gone", notes("secret", "more"), key="k")
        await store.memory.append_events("a", "kept", notes("stays"))
        await store.memory.delete_run("a", "gone")
        assert await texts(store, "a", "gone") == []
        # A repeated append of what was deleted does not bring it back.
        await store.memory.append_events("a", "gone", notes("secret", "more"), key="k")
        await store.memory.append_events("a", "gone", notes("new"))
        assert await texts(store, "a", "gone") == ["new"]
        assert await texts(store, "a", "kept") == ["stays"]
    view = (
        "SELECT run_id, type, JSONExtractString(data, 'note') FROM v_memory WHERE run_id IN ('gone', 'kept')"
    )
    assert sorted(map(tuple, pool.query(view))) == [
        ("gone", "planner_note", "new"),
        ("kept", "planner_note", "stays"),
    ]
    count = "SELECT count() FROM memory_events WHERE run_id = 'gone' AND kind = 'event'"
    wait_for(lambda: pool.query(count)[0][0] == 1, "the deleted events are erased")
    assert pool.query("SELECT count() FROM memory_events WHERE body LIKE '%secret%'") == [(0,)]


async def test_bad_messages_are_refused_and_hold_nobody_up(
    kafka: KafkaConfig, held: tuple[ClientPool, MemoryTable]
) -> None:
    good = encode_memory_command(AppendMemory.of("a", "bad", "k", notes("x")))
    partition = partition_for(b"bad", TOPICS.partitions)
    with Producer(kafka) as producer:
        for key, value, at in (
            (b"bad", None, partition),
            (b"bad", b"\xff", partition),
            (b"bad", b"{}", partition),
            (b"bad", b'{"Op":"append","AgentID":"a","RunID":"bad","Key":"k","Events":[]}', partition),
            (b"bad", good[:-1], partition),
            (b"other", good, partition),
            (b"bad", good, 1 - partition),
        ):
            producer.produce(TOPICS.memory.name, value, key=key, partition=at)
        assert producer.drain(PATIENCE)
    async with client(kafka, held[0]) as store:
        await store.memory.append_events("a", "bad", notes("fine"))
        await store.memory.append_events("a", "bad2", notes("fine"))
        assert await texts(store, "a", "bad") == ["fine"]
    refused = "SELECT count() FROM memory_events WHERE kind = 'refusal' AND type = {code:String}"
    wait_for(lambda: held[0].query(refused, {"code": "misrouted"}) == [(1,)], "the misrouted one is refused")
    for code, times in (
        ("json.syntax", 2),
        ("json.invalid_utf8", 1),
        ("memory_operation", 1),
        ("memory_events_required", 1),
        ("memory_key", 1),
    ):
        assert held[0].query(refused, {"code": code}) == [(times,)], code
    body = "SELECT sum(length(body)) FROM memory_events WHERE kind = 'refusal'"
    assert held[0].query(body) == [(0,)]


@pytest.mark.parametrize(
    ("agent", "run", "code"),
    [("", "r", "agent_id_required"), ("a", "", "run_id_required"), ("a\n", "r", "id_not_printable")],
)
async def test_an_impossible_append_is_refused_before_it_is_sent(
    kafka: KafkaConfig, held: tuple[ClientPool, MemoryTable], agent: str, run: str, code: str
) -> None:
    async with client(kafka, held[0]) as store:
        with pytest.raises(InvalidCommand) as refused:
            await store.memory.append_events(agent, run, notes("x"))
    assert refused.value.code == code


async def test_a_memory_too_large_for_a_page_comes_in_several(
    kafka: KafkaConfig, held: tuple[ClientPool, MemoryTable]
) -> None:
    async with client(kafka, held[0]) as store:
        for number in range(8):
            await store.memory.append_events("a", "large", notes(f"{number}" + "x" * 800_000))
        stored = await texts(store, "a", "large")
    assert [text[0] for text in stored] == [str(number) for number in range(8)]
    reader = MemoryTableReader(held[0])
    first = reader.page("a", "large", limit=100)
    assert 0 < len(first.events) < 8
    assert first.next_cursor
    assert len(reader.page("a", "large", limit=2).events) == 2
    with pytest.raises(InvalidCommand):
        reader.page("a", "large", "1")
    with pytest.raises(InvalidCommand):
        reader.page("a", "large", limit=0)
    reader.close()


def test_the_blocks_form_one_chain(kafka: KafkaConfig, held: tuple[ClientPool, MemoryTable]) -> None:
    for partition in range(TOPICS.partitions):
        headers = Chains(held[0], MEMORY).headers(partition, 0, 10_000)
        assert [header.number for header in headers] == list(range(len(headers)))
        for before, after in itertools.pairwise(headers):
            assert after.prev_hash == before.hash
            assert after.first == before.last + 1


async def test_a_run_that_cannot_be_erased_neither_ends_the_sink_nor_holds_up_others(
    kafka: KafkaConfig, held: tuple[ClientPool, Stubborn]
) -> None:
    pool, stubborn = held
    stubborn.refused = ("a", "stubborn")
    async with client(kafka, pool) as store:
        for run in ("stubborn", "easy"):
            await store.memory.append_events("a", run, notes("hidden"))
            await store.memory.delete_run("a", run)
        left = "SELECT DISTINCT run_id FROM memory_events WHERE body LIKE '%hidden%'"
        wait_for(lambda: pool.query(left) == [("stubborn",)], "the other run is erased")
        wait_for(lambda: stubborn.refusals > 1, "it is tried again")
        stubborn.refused = ("", "")
        wait_for(lambda: pool.query(left) == [], "it is erased as soon as it can be")
        await store.memory.append_events("a", "easy", notes("fine"))
