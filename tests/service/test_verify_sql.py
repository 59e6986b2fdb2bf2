"""`verify` over a real journal table: the same faults through SQL, in windows."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from clickhouse_connect.driver.client import Client

from runlane.contract.times import micros
from runlane.service.verify import Report, source, verify_journal
from runlane.service.verify.rows import COLUMNS
from runlane.store.engine import connect
from runlane.store.migrate import migrate
from tests.service.journal_faults import FAULTS
from tests.service.journals import sound_journal
from tests.service.planting import Rows, Spoil
from tests.service.test_verify import codes


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    pool = connect(f"chdb://{tmp_path_factory.mktemp('verify')}")
    migrate(pool)
    with pool.client() as client:
        yield client
    pool.close()


def fill(client: Client, rows: Rows) -> None:
    client.command("TRUNCATE TABLE journal")
    late = micros(datetime.now(UTC) + timedelta(hours=1))
    names = [*COLUMNS, "not_after"]
    client.insert("journal", [[*row, late] for row in rows], column_names=names)


def test_a_sound_journal_has_no_fault(client: Client) -> None:
    fill(client, sound_journal())

    report = verify_journal(client)

    assert (report.blocks, report.commands, report.records, report.faults) == (19, 37, 31, [])


def test_small_windows_and_many_buckets_change_nothing(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "_WINDOW_BYTES", 4096)
    monkeypatch.setattr(source, "_BUCKET_ROWS", 10)
    fill(client, sound_journal())

    report = verify_journal(client)

    assert (report.blocks, report.commands, report.records, report.faults) == (19, 37, 31, [])


def test_an_empty_journal_is_sound(client: Client) -> None:
    client.command("TRUNCATE TABLE journal")

    assert verify_journal(client) == Report()


@pytest.mark.parametrize(("spoil", "code"), FAULTS, ids=lambda value: getattr(value, "__name__", None))
def test_a_planted_fault_is_reported(client: Client, spoil: Spoil, code: str) -> None:
    fill(client, spoil(sound_journal()))

    assert code in codes(verify_journal(client))
