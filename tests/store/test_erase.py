from itertools import pairwise
from time import sleep

import pytest

from runlane.contract.commands import CreateSession, EndSession, PurgeSession
from runlane.store.filling import refresh_search
from tests.store.world import FAR, NOON, World, a_note, a_start, completed, suspended

pytestmark = pytest.mark.slow

SECRET = "S3CR3T-of-the-purged"


def purged_session(world: World, session_id: str, *, partition: int = 0) -> str:
    """Make a session with a record, a checkpoint and a run's end, and purge it."""
    first, second = a_start(f"{session_id}-1", session_id), a_start(f"{session_id}-2", session_id)
    lane = world.session(partition, session_id)
    world.start(partition, first)
    world.start(partition, second)
    payload = f'"{SECRET}"'.encode()
    world.commit(partition, (lane, a_note(first, 1, payload)), (lane, suspended(second, SECRET.encode())))
    world.commit(partition, (lane, completed(first)), (lane, EndSession(session_id, NOON)))
    refresh_search(world.pool)
    # The purge's own block holds older rows of the lane, too.
    world.commit(partition, (lane, a_note(first, 2, payload)), (lane, PurgeSession(session_id)))
    world.commit(partition, (lane, CreateSession(session_id, NOON)))
    return lane


def kinds(world: World, lane: str) -> list[str]:
    rows = world.pool.query(
        "SELECT kind FROM journal WHERE lane = {lane:String} ORDER BY block, row", {"lane": lane}
    )
    return [kind for (kind,) in rows]


@pytest.mark.guarantee("G7")
def test_an_erase_leaves_the_tombstone_its_answer_and_its_event(world: World) -> None:
    other = world.session(0, "other")
    lane = purged_session(world, "a")
    before = len(world.chains.headers(0, 0, 100))
    kept = kinds(world, other)
    world.erase(lane)
    # The last answer is that of the refused command behind the purge.
    assert kinds(world, lane) == ["answer", "record", "tombstone", "answer"]
    assert kinds(world, other) == kept
    assert kinds(world, "r/a-1") == ["answer", "claim"]
    assert len(world.chains.headers(0, 0, 100)) == before
    for prev, header in pairwise(world.chains.headers(0, 0, 100)):
        assert (header.number, header.prev_hash) == (prev.number + 1, prev.hash)
    assert world.chains.end(0).header == world.partitions[0].head
    for table in ("journal", "run_search", "session_search"):
        (found,) = world.pool.query(
            f"SELECT count() FROM {table} WHERE lane = 's/a' AND toString(tuple(*)) LIKE '%{SECRET}%'"
        )
        assert found[0] == 0
    for table in ("run_search", "session_search"):
        assert world.pool.query(f"SELECT count() FROM {table} WHERE lane = 's/a'") == [(0,)]


def test_purged_lanes_are_pending_until_they_are_erased(world: World) -> None:
    assert world.eraser.pending(0) == []
    lanes = [purged_session(world, "b'\\"), purged_session(world, "a")]
    elsewhere = purged_session(world, "c", partition=1)
    assert world.eraser.pending(0) == sorted(lanes)
    assert world.eraser.pending(1) == [elsewhere]
    assert not world.eraser.erase(lanes[0])
    world.erase(lanes[0])
    assert world.eraser.pending(0) == [lanes[1]]
    world.erase(lanes[1])
    assert world.eraser.pending(0) == []
    # A mutation may go on with parts that hold none of the rows.
    while world.eraser.running():
        sleep(0.05)
    assert world.eraser.erase(lanes[0])


def test_a_lane_without_a_tombstone_is_never_erased(world: World) -> None:
    lane = world.session(0, "a")
    before = kinds(world, lane)
    assert world.eraser.erase(lane)
    assert kinds(world, lane) == before


def test_an_erase_does_not_reopen_a_blocks_number(world: World) -> None:
    lane = world.session(0, "a")
    world.commit(0, (lane, EndSession("a", NOON)))
    block = world.seal(0, world.decide(0, (lane, PurgeSession("a"))))
    world.write(block)
    world.erase(lane)
    rows = world.pool.query("SELECT count() FROM journal")
    world.writer.insert(block, FAR)
    assert world.pool.query("SELECT count() FROM journal") == rows


def test_a_search_table_that_was_filled_again_is_erased_again(world: World) -> None:
    lane = purged_session(world, "a")
    world.erase(lane)
    world.pool.command("INSERT INTO run_search (run_id, lane) VALUES ('a-1', 's/a')")
    assert world.eraser.pending(0) == [lane]
    world.erase(lane)
    assert world.eraser.pending(0) == []
