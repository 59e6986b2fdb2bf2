"""`verify` sees each fault planted in memory, and none in what products deleted; in hand and through SQL."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from clickhouse_connect.driver.client import Client
from clickhouse_connect.driver.exceptions import ClickHouseError

from runlane.contract.memory import DeleteMemory
from runlane.contract.times import micros
from runlane.service.verify import Report, source, verify_journal
from runlane.service.verify.audit import audit_memory
from runlane.service.verify.memory_source import MemoryTable
from runlane.service.verify.rows import MEMORY_COLUMNS
from runlane.store.engine import connect
from runlane.store.migrate import migrate
from tests.service.memories import MemoryInHand, MemoryMaker, append, erased, run_of, sound_memory
from tests.service.memory_faults import (
    FAULTS,
    doubled_block,
    event,
    events_missing,
    flipped_byte_of_an_event,
    half_of_a_deleted_append,
    missing_block,
)
from tests.service.memory_planting import Rows, Spoil, resealed
from tests.service.planting import changed

SOUND = Report(memory_blocks=10, memory_events=14)


@pytest.fixture(scope="module")
def memory() -> Rows:
    return sound_memory()


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    pool = connect(f"chdb://{tmp_path_factory.mktemp('verify')}")
    migrate(pool)
    with pool.client() as client:
        yield client
    pool.close()


def verify(rows: Rows) -> Report:
    report = Report()
    audit_memory(MemoryInHand(rows), report)
    return report


def fill(client: Client, rows: Rows) -> None:
    client.command("TRUNCATE TABLE memory_events")
    late = micros(datetime.now(UTC) + timedelta(hours=1))
    names = [*MEMORY_COLUMNS, "not_after"]
    client.insert("memory_events", [[*row, late] for row in rows], column_names=names)


planted = pytest.mark.parametrize(
    ("spoil", "code"), FAULTS, ids=lambda value: getattr(value, "__name__", None)
)


def test_a_sound_memory_has_no_fault(memory: Rows) -> None:
    assert verify(memory) == SOUND
    assert verify(resealed(memory)) == SOUND


def test_what_products_deleted_is_no_fault_once_it_is_erased(memory: Rows) -> None:
    left = erased(memory)

    assert len(memory) - len(left) == 7
    assert verify(left) == SOUND


def test_an_erase_that_has_reached_one_block_only_is_no_fault(memory: Rows) -> None:
    left = erased(memory)
    half = [row for row in memory if row in left or (row.partition, row.block) == (0, 1)]

    assert len(left) < len(half) < len(memory)
    assert verify(half) == SOUND


@planted
def test_a_planted_fault_is_reported(memory: Rows, spoil: Spoil, code: str) -> None:
    spoiled = spoil(memory)

    report = verify(spoiled)

    assert sorted(spoiled) != sorted(memory)
    assert code in {fault.code for fault in report.faults}
    assert {fault.table for fault in report.faults} == {"memory_events"}
    assert "ünï" not in str(report.as_json())


def test_beside_erased_events_of_a_run_the_others_are_judged(memory: Rows) -> None:
    left = erased(memory)
    row = event(left, "six")

    other_byte = verify(changed(left, row, body=row.body.replace("six", "sin")))
    other_time = verify(changed(left, row, at=row.at + 1))

    assert [fault.code for fault in other_byte.faults] == ["append_digest_wrong"]
    assert [fault.code for fault in other_time.faults] == ["analysis_wrong"]


def test_the_same_faults_through_sql(client: Client, memory: Rows) -> None:
    for spoil in (missing_block, doubled_block, flipped_byte_of_an_event, half_of_a_deleted_append):
        fill(client, spoil(memory))
        assert verify_journal(client).faults == verify(spoil(memory)).faults


def test_small_windows_and_ranges_change_nothing(
    client: Client, memory: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "_WINDOW_BYTES", 2048)
    monkeypatch.setattr(source, "_BUCKET_ROWS", 2)
    fill(client, erased(memory))
    assert verify_journal(client) == SOUND
    fill(client, events_missing(memory))
    assert verify_journal(client).faults == verify(events_missing(memory)).faults


def test_a_deletion_after_the_last_judged_block_explains_what_it_erased(client: Client) -> None:
    maker = MemoryMaker(0)
    maker.claim()
    maker.commit(append("a", run_of(0), "k", "one"))
    fill(client, maker.rows)
    table = MemoryTable(client)
    maker.commit(DeleteMemory("a", run_of(0), "d"))
    fill(client, erased(maker.rows))
    report = Report()

    audit_memory(table, report)

    assert report == Report(memory_blocks=2, memory_events=1)


def test_a_memory_without_a_block_is_sound(client: Client) -> None:
    client.command("TRUNCATE TABLE memory_events")

    assert verify_journal(client) == Report()


def test_a_database_without_the_table_is_no_pass(client: Client) -> None:
    client.command("RENAME TABLE memory_events TO away")
    try:
        with pytest.raises(ClickHouseError):
            verify_journal(client)
    finally:
        client.command("RENAME TABLE away TO memory_events")
