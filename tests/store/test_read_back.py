"""A read-back opens the newest parts and no others, so it costs the same however many are not merged yet."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from runlane.contract.commands import ClaimRun
from runlane.contract.ids import run_lane, session_lane
from runlane.store.engine import ClientPool
from tests.store.world import World

BLOCKS = 24
READS = 4
A_PART = 4
"""How often the engine opens the one file of a small part at most: an index, its marks, the columns."""


@pytest.fixture
def unmerged(world: World) -> Iterator[World]:
    world.pool.command("SYSTEM STOP MERGES journal")
    yield world
    world.pool.command("SYSTEM START MERGES journal")


def opened(pool: ClientPool) -> int:
    (row,) = pool.query("SELECT sum(value) FROM system.events WHERE event = 'FileOpen'")
    return int(row[0])


def test_a_read_back_opens_the_newest_part_of_its_chain_only(unmerged: World) -> None:
    newest: dict[int, int] = {}
    for n in range(BLOCKS):
        command = ClaimRun(f"run-{n}", session_lane("session"))
        newest[n % 2] = unmerged.commit(n % 2, (run_lane(command.run_id), command)).number
    before = opened(unmerged.pool)
    for back in range(READS):
        # The engine remembers the parts in which a query found nothing, and no two read-backs are the same.
        tips = unmerged.chains.tips({partition: number - back for partition, number in newest.items()})
        assert {partition: tip.number for partition, tip in tips.items()} == newest
    assert opened(unmerged.pool) - before <= A_PART * len(newest) * sum(range(1, READS + 1))
