"""A log or a journal that is not as it was: the owner stops by name, the operator sees and answers it.

One partition, so that nothing else is going on beside the one that stops.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx2
import pytest
from confluent_kafka import TopicPartition

from runlane.client import RunStore
from runlane.contract.codec import Codec, command_headers, encode_command
from runlane.contract.commands import AppendRunRecord
from runlane.contract.ids import session_lane
from runlane.contract.signing import Keyring
from runlane.kafka import Admin, Consumer, GroupSettings, Partition
from runlane.owner.config import OwnerConfig
from runlane.service.cli import recovery
from runlane.service.cli.main import run
from runlane.service.owner_thread import OwnerParts, OwnerThread
from tests.e2e.operating import Stranger, settings
from tests.e2e.stack import FAST, HOST_KEY, OWNER_KEYS, ClickHouse, World, wait_for
from tests.e2e.workload import AT, note, start_of
from tests.harness.kafka import ANSWER_SECONDS, Kafka, KafkaBroker
from tests.service.commands import Process, runlane, runlane_json

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

LANE = session_lane("s").encode()
NOTES = 3
HASTY = replace(FAST, not_after=3.0, max_execution=2.0, proof_age=1.0)
"""A block's margins in seconds instead of a minute and a half; the repair has to have the same."""


@pytest.fixture
def world(kafka_broker: Kafka, clickhouse: ClickHouse, tmp_path: Path) -> Iterator[World]:
    with World(kafka_broker.bootstrap, clickhouse, tmp_path, partitions=1) as made:
        yield made


@dataclass(frozen=True)
class Before:
    """What was acknowledged before something broke."""

    records: tuple[tuple[str, str], ...]


async def past(world: World) -> Before:
    """Let a run have a history, then let its owner go."""
    owner = world.owner()
    async with world.client() as store:
        await store.create_session("s", AT)
        run, started, stopped = start_of("run", "s")
        await store.start_root_run(run, started=started, canceled=stopped)
        for number in range(NOTES):
            await store.append_run_record(note("run", f"note-{number}", session_id="s"))
        before = Before(await told(store))
    owner.stop()
    return before


async def told(store: RunStore) -> tuple[tuple[str, str], ...]:
    """Return ids and keys of the run's records, as the read API tells them."""
    page = await store.list_run_records("run", "", 100)
    return tuple((record.id, record.event_key) for record in page.records)


async def goes_on(world: World, before: Before) -> None:
    """A new owner opens the partition: what was is there, a repetition is known, a new record follows."""
    owner = world.owner()
    async with world.client() as store:
        again = await store.append_run_record(note("run", "note-0", session_id="s"))
        assert (again.id, again.inserted) == ("2", False)
        new = await store.append_run_record(note("run", "new", session_id="s"))
        assert new.inserted
        assert (await told(store))[: len(before.records)] == before.records
    owner.stop()
    assert world.verify() == []


@contextmanager
def seen_stopped(world: World, kind: str, answer: str) -> Iterator[dict[str, str]]:
    """`runlane owner` says in its log and on `/readyz` how it is stopped; its chain does not move."""
    given = settings(world)
    with Process("owner", **given) as owner:
        said = json.loads(owner.wait_for("partition stopped"))
        assert (said["partition"], said["stop"], said["answer"]) == (0, kind, answer)
        ready = httpx2.get(f"http://{given['METRICS_LISTEN']}/readyz")
        assert (ready.status_code, ready.json()["faults"]["partition 0"]) == (503, f"{kind}: {answer}")
        (chain,) = inspected(given)
        assert chain["kind"] == "claim"
        yield given
        assert inspected(given) == [chain]
        assert owner.end(signal.SIGTERM) == 0


def inspected(given: dict[str, str]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = runlane_json("inspect", "chains", **given)
    return found


def adopt(given: dict[str, str], kind: str) -> dict[str, int]:
    """Adopt the log, for what the owner stopped at; a second time there is nothing to adopt."""
    adopted: dict[str, int] = runlane_json("adopt-log", "--partition", "0", **given)
    assert adopted["kind"] == kind
    (chain,) = inspected(given)
    assert (chain["kind"], chain["base"]) == ("adopt", adopted["base"])
    return adopted


def tip_offset(world: World) -> int:
    """The offset behind the last command that is decided, while nothing was adopted."""
    ((last,),) = world.pool.query("SELECT max(position) FROM journal WHERE kind = 'answer'")
    return int(last) + 1


@pytest.mark.guarantee("G1")
async def test_a_topic_made_anew_is_a_stop_that_adopting_answers(world: World) -> None:
    before = await past(world)
    with Process("owner", **settings(world)) as owner:
        owner.wait_for("owner runs")
        remake_topic(world)
        said = json.loads(owner.wait_for("partition stopped"))
        assert said["stop"] == "log_replaced"
        assert owner.end(signal.SIGTERM) == 0
    with seen_stopped(world, "log_replaced", "runlane adopt-log") as given:
        refused = runlane("adopt-log", "--partition", "0", expect=4, **given)
        assert "members" in refused.stderr
    assert adopt(given, "log_replaced")["lost"] == 0
    await goes_on(world, before)
    assert runlane_json("adopt-log", "--partition", "0", **given) is None


def remake_topic(world: World) -> None:
    """Delete the commands topic and make it anew under its name."""
    kafka = Kafka(world.kafka.bootstrap)
    name = world.topics.commands.name
    kafka.delete_topic(name)
    wait_for(lambda: name not in Admin(world.kafka).partition_counts(), "the topic is gone")
    Admin(world.kafka).create_topics([world.topics.commands], replication_factor=1)


async def test_a_topic_trimmed_past_the_tip_is_a_stop_and_adopting_journals_what_is_lost(
    world: World,
) -> None:
    before = await past(world)
    tip = tip_offset(world)
    stranger = Stranger(world)
    for number in range(5):
        record = note("run", f"late-{number}", session_id="s")
        headers = command_headers(f"late-{number}", 0)
        stranger.send(LANE, encode_command(AppendRunRecord(record)), headers)
    trim(world, tip + 3)
    with seen_stopped(world, "log_trimmed", "runlane adopt-log") as given:
        pass
    assert adopt(given, "log_trimmed") == {
        "partition": 0,
        "kind": "log_trimmed",
        "base": 0,
        "offset": tip + 3,
        "lost": 3,
    }
    await goes_on(world, before)
    rows = world.pool.query(
        "SELECT correlation_id FROM journal WHERE kind = 'answer' AND position >= {tip:Int64}", {"tip": tip}
    )
    assert [name for (name,) in rows if name.startswith("late")] == ["late-3", "late-4"]


def trim(world: World, offset: int) -> None:
    """Delete what stands before ``offset`` of the commands topic."""
    admin: Any = Kafka(world.kafka.bootstrap).admin()
    place = TopicPartition(world.topics.commands.name, 0, offset)
    assert admin.delete_records([place])[place].result(timeout=ANSWER_SECONDS).low_watermark == offset


async def test_a_log_that_ends_before_the_tip_is_a_stop_that_adopting_answers(
    own_kafka_broker: KafkaBroker, clickhouse: ClickHouse, tmp_path: Path
) -> None:
    with World(own_kafka_broker.bootstrap, clickhouse, tmp_path, partitions=1) as world:
        before = await past(world)
        tip = tip_offset(world)
        lose_the_log(world, own_kafka_broker)
        with seen_stopped(world, "log_truncated", "runlane adopt-log") as given:
            pass
        adopted = adopt(given, "log_truncated")
        assert (adopted["base"], adopted["offset"], adopted["lost"]) == (tip, 0, 0)
        await goes_on(world, before)


def lose_the_log(world: World, broker: KafkaBroker) -> None:
    """Take the commands' partition its segments, as a disk that lost them; it stays the same topic."""
    broker.stop()
    (folder,) = broker._directory.glob(f"data-*/{world.topics.commands.name}-0")
    for file in folder.iterdir():
        if file.name != "partition.metadata":
            file.unlink()
    broker.start()


async def test_a_group_reset_past_the_tip_is_a_stop_that_adopting_answers(world: World) -> None:
    before = await past(world)
    tip = tip_offset(world)
    with Consumer(world.kafka, group=GroupSettings(f"{world.topics.prefix}owners")) as consumer:
        consumer.commit_now({Partition(world.topics.commands.name, 0): tip + 7})
    with seen_stopped(world, "offset_ahead", "runlane adopt-log") as given:
        pass
    adopted = adopt(given, "offset_ahead")
    assert (adopted["base"], adopted["offset"], adopted["lost"]) == (0, tip, 0)
    await goes_on(world, before)


async def test_the_command_at_a_position_is_shown_without_its_payload(world: World) -> None:
    await past(world)
    last = tip_offset(world) - 1
    given = settings(world)
    shown = runlane_json("inspect", "command", "0", str(last), **given)
    assert shown.pop("sha256")
    assert shown.pop("size") > 0
    assert shown == {
        "position": last,
        "offset": last,
        "lane": LANE.decode(),
        "operation": "append_run_record",
        "run_id": "run",
        "session_id": "s",
        "agent_id": "agent.test",
    }
    place = Stranger(world).send(LANE, b"SECRET", [])
    other = runlane("inspect", "command", "0", str(place[1]), "--json", **given)
    assert json.loads(other.stdout)["undecodable"] == "unknown_frame"
    assert "SECRET" not in other.stdout
    missing = runlane("inspect", "command", "0", str(place[1] + 1), expect=5, **given)
    assert "no message at offset" in missing.stderr


def operate(monkeypatch: pytest.MonkeyPatch, given: dict[str, str], *arguments: str) -> int:
    """Run a command of `runlane` in this process, with a block's margins in seconds; return its exit code."""
    monkeypatch.setattr(recovery, "_BOUNDS", HASTY)
    with monkeypatch.context() as patch:
        for name, value in given.items():
            patch.setenv(f"RUNLANE_{name}", value)
        return run(list(arguments))


async def test_an_acknowledged_block_that_is_gone_is_a_stop_that_repairing_answers(
    world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = await past(world)
    lost = lose_the_last_block(world)
    parts, given = owner_parts(world), settings(world)
    with OwnerThread(parts) as owner:
        wait_for(lambda: 0 in owner.owner.stops(), "the owner stops", seconds=60.0)
        stop = owner.owner.stops()[0]
        assert (stop.kind, stop.answer) == ("block_missing", "runlane repair")
        assert owner.progress.faults() == {"partition 0": "block_missing: runlane repair"}
        assert last_block(world) == lost - 1
    # What is left is a sound chain: only whoever wrote the block knows that there was one.
    assert runlane_json("verify", **given)["faults"] == []
    capsys.readouterr()
    assert operate(monkeypatch, given, "repair", "--partition", "0", "--json") == 0
    repaired = json.loads(capsys.readouterr().out)
    assert repaired == {"partition": 0, "number": lost - 1, "generation": 1}
    with seen_stopped(world, "offset_ahead", "runlane adopt-log") as given:
        pass
    adopt(given, "offset_ahead")
    await goes_on(world, before)
    ((generation,),) = world.pool.query("SELECT max(generation) FROM journal")
    assert generation == repaired["generation"]
    assert runlane_json("verify", **given)["faults"] == []


async def test_a_chain_that_somebody_still_writes_is_not_repaired(
    world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = await past(world)
    writing = asyncio.create_task(keep_writing(world))
    code = await asyncio.to_thread(operate, monkeypatch, settings(world), "repair", "--partition", "0")
    writing.cancel()
    with suppress(asyncio.CancelledError):
        await writing
    assert code == 4
    assert "still writes" in capsys.readouterr().err
    world.owners[-1].stop()
    await goes_on(world, before)
    assert world.pool.query("SELECT max(generation) FROM journal") == [(0,)]


async def keep_writing(world: World) -> None:
    """Let an owner write block after block, until cancelled."""
    world.owner()
    async with world.client() as store:
        for number in itertools.count():
            await store.append_run_record(note("run", f"more-{number}", session_id="s"))
            await asyncio.sleep(0.1)


def owner_parts(world: World) -> OwnerParts:
    """An owner in this process, whose margins are short."""
    return OwnerParts(
        kafka=world.kafka,
        topics=world.topics,
        group=GroupSettings(f"{world.topics.prefix}owners"),
        pool=world.pool,
        journal_id=world.journal_id,
        config=OwnerConfig(Keyring([HOST_KEY]), OWNER_KEYS, bounds=HASTY),
        codec=Codec(),
    )


def last_block(world: World) -> int:
    ((number,),) = world.pool.query("SELECT max(block) FROM journal WHERE kind = 'commit'")
    return int(number)


def lose_the_last_block(world: World) -> int:
    """Delete the rows of the last block, as a disk that lost them; its token stays. Return its number."""
    number = last_block(world)
    world.pool.command(
        "ALTER TABLE journal DELETE WHERE block = {number:UInt64}",
        {"number": number},
        settings={"mutations_sync": 1},
    )
    return number
