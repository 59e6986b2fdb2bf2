from dataclasses import replace

import pytest

from runlane.contract.commands import EndSession, PurgeSession
from runlane.contract.errors import JournalFault
from runlane.contract.ids import session_lane
from runlane.store.block import BlockKind
from runlane.store.chain import ChainTip
from tests.store.world import NOON, PARTITIONS, World, a_note, a_start, completed


def test_an_empty_journal_has_no_end_and_no_partition_count(world: World) -> None:
    end = world.chains.end(2)
    assert (end.header, end.generation) == (None, 0)
    tip = world.chains.tips({2: 0})[2]
    assert (tip.number, tip.hash, tip.generation) == (-1, b"", 0)
    assert world.chains.recorded_partition_count() is None
    assert world.chains.outbox(2, -1, 5, 1000).items == ()


def test_the_end_is_the_last_block_whatever_was_written_before(world: World) -> None:
    world.claim(1)
    for number in range(5):
        last = world.session(1, f"s{number}")
        world.session(0, f"other{number}")
    head = world.partitions[1].head
    assert last
    assert head is not None
    assert world.chains.end(1).header == head
    assert world.chains.recorded_partition_count() == PARTITIONS
    assert world.chains.headers(1, 1, 3)[-1].number == 3


def test_one_read_back_shows_the_tips_of_several_chains_at_or_above_their_floors(world: World) -> None:
    heads = {}
    for partition in (0, 1, 2):
        for number in range(partition + 2):
            world.session(partition, f"s{partition}-{number}")
        heads[partition] = world.partitions[partition].head
    tips = world.chains.tips({0: 1, 1: 3, 2: 0})
    assert heads[0] is not None
    assert heads[2] is not None
    assert (tips[0].number, tips[0].hash) == (1, heads[0].hash)
    assert (tips[1].number, tips[1].hash) == (-1, b"")
    assert (tips[2].number, tips[2].hash) == (3, heads[2].hash)


def test_far_above_a_floor_a_read_back_shows_that_the_chain_went_on_not_where_to(world: World) -> None:
    for number in range(103):
        world.session(0, f"s{number}")
    assert [world.chains.tips({0: floor})[0].number for floor in (0, 1, 2, 50)] == [100, 101, 102, 102]


def test_the_time_of_a_read_never_runs_ahead_of_the_servers(world: World) -> None:
    for read in (lambda: world.chains.tips({0: 0})[0].time, lambda: world.chains.end(0).time):
        time = read()
        (row,) = world.pool.query("SELECT toUnixTimestamp64Micro(now64(6))")
        assert time.timestamp() * 1e6 <= row[0] + 1


def test_a_repaired_chain_goes_on_under_its_next_generation(world: World) -> None:
    world.session(0, "a")
    world.chains.start_generation(0, 1)
    world.chains.start_generation(0, 1)
    assert world.chains.end(0).generation == 1
    assert world.chains.end(1).generation == 0
    tip = world.chains.tips({0: 0})[0]
    assert isinstance(tip, ChainTip)
    assert tip.generation == 1
    world.partitions[0].generation = 1
    head = world.session(0, "b")
    assert head
    end = world.chains.end(0)
    assert end.header is not None
    assert (end.header.number, end.header.generation) == (1, 1)


def test_a_commit_row_that_was_tampered_with_is_no_end(world: World) -> None:
    block = world.seal(0)
    names = len(block.columns)
    columns = list(block.columns)
    from runlane.store.rows import COLUMNS

    at = COLUMNS.index("digest")
    columns[at] = ("00" * 32,)
    assert names == len(columns)
    world.writer.insert(replace(block, columns=tuple(columns)), NOON.replace(year=2100))
    with pytest.raises(JournalFault):
        world.chains.end(0)


def test_the_outbox_holds_answers_and_records_in_the_order_of_their_commands(world: World) -> None:
    run = a_start("run", "a")
    lane = world.session(0, "a")
    world.start(0, run)
    before = world.partitions[0].position
    first = world.decide(0, *((lane, a_note(run, number)) for number in range(3)))
    world.write(world.seal(0, first))
    second = world.decide(0, (lane, a_note(run, 0)), (lane, completed(run)))
    world.write(world.seal(0, second))
    expected = [item for answer, changes in (*first, *second) for item in (answer, *changes.records)]
    page = world.chains.outbox(0, before, world.partitions[0].position, 10**9)
    assert list(page.items) == expected
    assert page.last_position == world.partitions[0].position


def test_outbox_pages_are_cut_at_blocks_and_reach_the_tip(world: World) -> None:
    run = a_start("run", "a")
    lane = world.session(0, "a")
    world.start(0, run)
    for number in range(6):
        world.commit(0, (lane, a_note(run, number)))
        if number == 2:
            world.write(world.seal(0, kind=BlockKind.CLAIM))
    tip = world.partitions[0].position
    positions: list[int] = []
    after, pages = -1, 0
    while after < tip:
        page = world.chains.outbox(0, after, tip, 1)
        positions += [item.position for item in page.items if hasattr(item, "position")]
        assert page.last_position > after
        after, pages = page.last_position, pages + 1
    assert positions == list(range(tip + 1))
    assert pages == tip + 1


def test_the_outbox_leaves_out_what_a_purge_erases(world: World) -> None:
    run = a_start("run", "a")
    lane = world.session(0, "a")
    other = world.session(0, "b")
    world.start(0, run)
    world.commit(0, (lane, a_note(run, 1)), (lane, completed(run)), (lane, EndSession("a", NOON)))
    before = world.chains.outbox(0, -1, world.partitions[0].position, 10**9)
    assert any(item.lane == lane for item in before.items)
    world.commit(0, (lane, PurgeSession("a")))
    after = world.chains.outbox(0, -1, world.partitions[0].position, 10**9)
    left = [item for item in after.items if item.lane == lane]
    assert [getattr(item, "operation", "") or getattr(item, "type", "") for item in left] == [
        "purge_session",
        "session_purged",
    ]
    assert [item for item in after.items if item.lane == other]
    assert session_lane("a") == lane


def test_active_parts_are_counted(world: World) -> None:
    assert world.chains.active_parts() == 0
    world.claim(0)
    assert world.chains.active_parts() == 1
