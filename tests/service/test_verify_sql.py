"""`verify` over a real journal table: the same faults through SQL, in windows."""

from collections.abc import Iterator

import pytest
from clickhouse_connect.driver.client import Client

from runlane.service.verify import source, verify_journal
from runlane.service.verify.rows import COLUMNS
from runlane.store.engine import connect
from tests.service.journals import sound_journal
from tests.service.planting import Rows, Spoil
from tests.service.test_verify import FAULTS, codes

NUMBERS = {name for name, value in sound_journal()[0]._asdict().items() if isinstance(value, int)}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    pool = connect(f"chdb://{tmp_path_factory.mktemp('verify')}")
    columns = ", ".join(f"{name} {'Int64' if name in NUMBERS else 'String'}" for name in COLUMNS)
    with pool.client() as client:
        client.command(
            f"CREATE TABLE journal ({columns}) ENGINE = MergeTree ORDER BY (partition, block, row)"
        )
        yield client
    pool.close()


def fill(client: Client, rows: Rows) -> None:
    client.command("TRUNCATE TABLE journal")
    client.insert("journal", rows, column_names=list(COLUMNS))


def test_a_sound_journal_has_no_fault(client: Client) -> None:
    fill(client, sound_journal())

    report = verify_journal(client)

    assert report.as_json() == {"blocks": 19, "commands": 36, "records": 30, "faults": []}


def test_small_windows_and_many_buckets_change_nothing(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "_WINDOW_BYTES", 4096)
    monkeypatch.setattr(source, "_BUCKET_ROWS", 10)
    fill(client, sound_journal())

    report = verify_journal(client)

    assert report.as_json() == {"blocks": 19, "commands": 36, "records": 30, "faults": []}


def test_an_empty_journal_is_sound(client: Client) -> None:
    client.command("TRUNCATE TABLE journal")

    assert verify_journal(client).as_json() == {"blocks": 0, "commands": 0, "records": 0, "faults": []}


@pytest.mark.parametrize(("spoil", "code"), FAULTS, ids=lambda value: getattr(value, "__name__", None))
def test_a_planted_fault_is_reported(client: Client, spoil: Spoil, code: str) -> None:
    fill(client, spoil(sound_journal()))

    assert code in codes(verify_journal(client))
