"""A journal that is not as it was: the owner stops by name, the operator sees it and repairs the chain."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from runlane.contract.codec import Codec
from runlane.contract.signing import Keyring
from runlane.kafka import GroupSettings
from runlane.owner.config import Bounds, OwnerConfig
from runlane.service.cli import recovery
from runlane.service.cli.main import run
from runlane.service.owner_thread import OwnerParts, OwnerThread
from tests.e2e.operating import settings
from tests.e2e.stack import FAST, HOST_KEY, OWNER_KEYS, PATIENCE, ClickHouse, World, wait_for
from tests.e2e.stopping import adopt, goes_on, past, seen_stopped
from tests.e2e.workload import note
from tests.harness.kafka import Kafka
from tests.service.commands import runlane_json

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

HASTY = replace(FAST, not_after=3.0, max_execution=2.0, proof_age=1.0)
"""A block's margins in seconds instead of a minute and a half; the repair has to have the same."""


@pytest.fixture
def world(kafka_broker: Kafka, clickhouse: ClickHouse, tmp_path: Path) -> Iterator[World]:
    with World(kafka_broker.bootstrap, clickhouse, tmp_path, partitions=1) as made:
        yield made


def operate(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, str], *arguments: str, bounds: Bounds = HASTY
) -> int:
    """Run a command of `runlane` in this process, with these margins of a block; return its exit code."""
    monkeypatch.setattr(recovery, "_BOUNDS", bounds)
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
        wait_for(lambda: 0 in owner.owner.stops(), "the owner stops")
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
    begun = asyncio.Event()
    writing = asyncio.create_task(keep_writing(world, begun))
    waiting = asyncio.create_task(begun.wait())
    await asyncio.wait({waiting, writing}, timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED)
    assert begun.is_set(), writing
    repairing = ("repair", "--partition", "0")
    code = await asyncio.to_thread(operate, monkeypatch, settings(world), *repairing, bounds=FAST)
    writing.cancel()
    with suppress(asyncio.CancelledError):
        await writing
    assert code == 4
    assert "still writes" in capsys.readouterr().err
    world.owners[-1].stop()
    await goes_on(world, before)
    assert world.pool.query("SELECT max(generation) FROM journal") == [(0,)]


async def keep_writing(world: World, begun: asyncio.Event) -> None:
    """Let an owner write block after block, until cancelled."""
    world.owner()
    async with world.client() as store:
        for number in itertools.count():
            await store.append_run_record(note("run", f"more-{number}", session_id="s"))
            begun.set()
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
