import threading
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from runlane.contract.errors import InsertRefused, InsertUnknown, LateBlock, TooManyParts
from runlane.contract.state import NO_CHANGES
from runlane.store.block import SealedBlock
from runlane.store.engine import ClientPool
from runlane.store.flight import InsertReport
from runlane.store.rows import COLUMNS, Answer
from runlane.store.writer import BlockWriter
from tests.store.world import FAR, World

SMALL, LARGE = 3_000, 6_000_000
HOUR = timedelta(hours=1)


def rival(world: World, nonce: str, size: int) -> SealedBlock:
    """Seal a next block of partition 0 that one owner would write, of about ``size`` bytes."""
    lines = max(1, size // 2_000)
    outcome = nonce.encode() * (size // lines // len(nonce) * 3 // 4)
    answers = [
        Answer(n, f"s/{nonce}-{n % 7}", f"c{n}", 0, "append_run_record", "", outcome) for n in range(lines)
    ]
    world.partitions[0].position = lines - 1
    return world.seal(0, [(answer, NO_CHANGES) for answer in answers], nonce=nonce)


def nonces(world: World) -> list[tuple[str, int, int]]:
    """Return who is in: nonce, rows, parts."""
    return [
        (str(nonce), int(rows), int(parts))
        for nonce, rows, parts in world.pool.query(
            "SELECT anyIf(JSONExtractString(body, 'nonce'), kind = 'commit'), count(), uniqExact(_part)"
            " FROM journal GROUP BY partition, generation, block, (not_after - not_after)"
        )
    ]


def both_orders(world: World, rounds: int) -> None:
    for number in range(rounds):
        for first, second in ((SMALL, LARGE), (LARGE, SMALL)):
            world.pool.command("TRUNCATE TABLE journal SYNC")
            world.partitions[0].generation += 1
            winner, loser = rival(world, f"first{number}", first), rival(world, f"other{number}", second)
            world.writer.insert(winner, FAR)
            world.writer.insert(loser, FAR)
            assert nonces(world) == [(f"first{number}", winner.header.rows, 1)]


@pytest.mark.guarantee("G5")
def test_a_rival_of_any_size_is_dropped_though_its_insert_reports_success(world: World) -> None:
    both_orders(world, 1)


@pytest.mark.slow
@pytest.mark.guarantee("G5")
def test_rivals_of_3_kb_and_6_mb_never_both_get_in(world: World) -> None:
    both_orders(world, 20)


@pytest.mark.guarantee("G5")
def test_of_racing_writers_one_wins_and_the_read_back_tells_the_others(world: World) -> None:
    for number in range(5):
        world.partitions[0].head = None
        world.partitions[0].generation = number
        rivals = [
            rival(world, f"{number}-{n}", size) for n, size in enumerate((2_000, 300_000, 40_000, 3_000_000))
        ]
        threads = [threading.Thread(target=world.writer.insert, args=(block, FAR)) for block in rivals]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        tip = world.chains.tips({0: 0})[0]
        winners = [block for block in rivals if block.header.hash == tip.hash]
        assert len(winners) == 1
        where = f"generation = {number}"
        rows = world.pool.query(f"SELECT count(), countIf(kind = 'commit') FROM journal WHERE {where}")
        assert [tuple(row) for row in rows] == [(winners[0].header.rows, 1)]
        world.pool.command("TRUNCATE TABLE journal SYNC")


def test_the_same_bytes_again_change_nothing(world: World) -> None:
    block = rival(world, "mine", SMALL)
    for _ in range(3):
        world.writer.insert(block, FAR)
    assert nonces(world) == [("mine", block.header.rows, 1)]


@pytest.mark.guarantee("G5")
@pytest.mark.parametrize("size", [SMALL, LARGE])
def test_a_late_block_is_refused_whole_by_the_servers_clock(world: World, size: int) -> None:
    now = world.chains.tips({0: 0})[0].time
    late = rival(world, "late", size)
    with pytest.raises(LateBlock):
        world.writer.insert(late, now - timedelta(milliseconds=1))
    assert nonces(world) == []
    # Its number is still free, and its token not used up.
    world.writer.insert(late, now + HOUR)
    assert nonces(world) == [("late", late.header.rows, 1)]


def test_a_late_rival_of_a_written_block_stays_out(world: World) -> None:
    first, late = rival(world, "first", SMALL), rival(world, "late", SMALL)
    world.writer.insert(first, FAR)
    with pytest.raises(LateBlock):
        world.writer.insert(late, datetime(2020, 1, 1, tzinfo=FAR.tzinfo))
    assert nonces(world) == [("first", first.header.rows, 1)]


@pytest.mark.guarantee("G5")
def test_block_n_names_the_partition_value_of_block_n_plus_1_over_a_months_end(world: World) -> None:
    """Deduplication is per ClickHouse partition value: rivals whose clocks differ must still meet in one."""
    world.claim(0)
    april = world.now.replace(month=4, day=1, hour=0)
    mine = world.seal(0, nonce="march")
    world.now = april
    other = world.seal(0, nonce="april")
    assert mine.header.part == other.header.part
    world.write(mine)
    world.writer.insert(other, FAR)
    rows = world.pool.query(
        "SELECT part, block, JSONExtractString(body, 'nonce') FROM journal ORDER BY block"
    )
    assert [tuple(row) for row in rows] == [(0, 0, "nonce"), (202603, 1, "march")]
    assert world.claim(0).part == 202603
    assert world.claim(0).part == 202604


def test_another_journal_another_chain_and_another_generation_have_tokens_of_their_own(world: World) -> None:
    header = rival(world, "x", SMALL).header
    others = [replace(header, partition=1), replace(header, generation=1), replace(header, number=1)]
    tokens = {world.writer.token(one) for one in (header, *others)}
    tokens.add(BlockWriter(world.pool, "another journal").token(header))
    assert len(tokens) == 5


def broken(block: SealedBlock, column: str, value: object) -> SealedBlock:
    columns: list[Sequence[object]] = list(block.columns)
    columns[COLUMNS.index(column)] = (value,) * len(columns[0])
    return replace(block, columns=tuple(map(tuple, columns)))


@pytest.mark.parametrize(
    ("column", "value"), [("body", "\ud800"), ("block", -1), ("seq", 2**64), ("reply", 2**40), ("part", None)]
)
def test_a_block_that_cannot_be_written_as_it_is_is_refused_before_it_is_sent(
    world: World, column: str, value: object
) -> None:
    with pytest.raises(InsertRefused):
        world.writer.insert(broken(rival(world, "x", SMALL), column, value), FAR)
    assert nonces(world) == []


def test_a_table_that_is_gone_or_not_ours_refuses(world: World) -> None:
    block = rival(world, "x", SMALL)
    world.pool.command("RENAME TABLE journal TO hidden")
    try:
        with pytest.raises(InsertRefused):
            world.writer.insert(block, FAR)
    finally:
        world.pool.command("RENAME TABLE hidden TO journal")


def test_too_many_parts_are_told_apart_and_nothing_is_written(world: World) -> None:
    world.claim(0)
    world.claim(0)
    world.pool.command(
        "ALTER TABLE journal MODIFY SETTING parts_to_throw_insert = 1, parts_to_delay_insert = 1"
    )
    try:
        block = world.seal(0)
        with pytest.raises(TooManyParts):
            world.writer.insert(block, FAR)
    finally:
        world.pool.command("ALTER TABLE journal RESET SETTING parts_to_throw_insert, parts_to_delay_insert")
    world.write(block)


def test_a_server_that_does_not_answer_leaves_it_unknown(world: World) -> None:
    block = rival(world, "x", SMALL)
    gone = connect_lazily("http://default:x@127.0.0.1:1/default")
    with pytest.raises(InsertUnknown):
        BlockWriter(gone, world.journal_id).insert(block, FAR)
    closed = connect_lazily("http://default:x@127.0.0.1:1/default")
    closed.close()
    with pytest.raises(InsertUnknown):
        BlockWriter(closed, world.journal_id).insert(block, FAR)


def connect_lazily(dsn: str) -> ClientPool:
    return ClientPool(dsn, 1.0)


def test_what_became_of_an_insert_is_reported_and_logged_without_its_payload(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    block = rival(world, "secret", SMALL)
    gone = BlockWriter(connect_lazily("http://default:x@127.0.0.1:1/default"), world.journal_id)
    assert world.writer.report(block, world.chains.end(0).time - HOUR) is InsertReport.LATE
    assert gone.report(block, FAR) is InsertReport.UNKNOWN
    assert world.writer.report(broken(block, "block", -1), FAR) is InsertReport.REFUSED
    assert world.writer.report(block, FAR) is InsertReport.ACKED
    told = [record.getMessage() for record in caplog.records if record.name == "runlane.store"]
    assert [text.split(": ")[0] for text in told] == ["journal block 0 of partition 0"] * 3
    assert "secret" not in caplog.text
