import importlib
import threading
import uuid
from collections.abc import Iterator

import pytest

from runlane.contract.errors import SchemaDrift
from runlane.store.engine import ClientPool
from runlane.store.migrate import Migration, journal_id, migrate, migrations

pytestmark = pytest.mark.slow

migrating = importlib.import_module("runlane.store.migrate")
"""The module, which the package hides behind its function."""


@pytest.fixture
def empty(pool: ClientPool) -> Iterator[ClientPool]:
    """The module's database without a table."""
    drop_all(pool)
    yield pool
    drop_all(pool)
    migrate(pool)


def drop_all(pool: ClientPool) -> None:
    tables = pool.query(
        "SELECT name FROM system.tables WHERE database = currentDatabase() ORDER BY engine DESC, name"
    )
    for (name,) in tables:
        pool.command(f"DROP TABLE IF EXISTS `{name}` SYNC")


def test_a_journals_id_is_minted_once_and_stays(empty: ClientPool) -> None:
    first = migrate(empty)
    assert len(first) == 32
    assert migrate(empty) == journal_id(empty) == first
    drop_all(empty)
    assert migrate(empty) != first


def test_first_migrations_at_once_agree_on_one_id(empty: ClientPool) -> None:
    migrate(empty)
    empty.command("TRUNCATE TABLE journal_meta SYNC")
    for _ in range(2):
        empty.command(migrating._MINT, {"id": uuid.uuid4().hex}, settings=migrating._MINT_ONCE)
    assert empty.query("SELECT count() FROM journal_meta") == [(1,)]
    drop_all(empty)
    found: list[str] = []
    threads = [threading.Thread(target=lambda: found.append(migrate(empty))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 3
    assert len(set(found)) == 1
    assert migrate(empty) == found[0]


def test_what_was_not_migrated_has_no_journal(empty: ClientPool) -> None:
    with pytest.raises(SchemaDrift):
        journal_id(empty)


def test_a_migration_that_broke_off_is_done_again(empty: ClientPool) -> None:
    migrate(empty)
    empty.command("TRUNCATE TABLE schema_migrations SYNC")
    empty.command("DROP VIEW v_runs SYNC")
    migrate(empty)
    assert empty.query("SELECT count() FROM v_runs") == [(0,)]


def test_a_changed_file_is_drift(empty: ClientPool, monkeypatch: pytest.MonkeyPatch) -> None:
    migrate(empty)
    first, *rest = migrations()
    changed = [Migration(first.number, first.name, first.text + "\n-- another comment"), *rest]
    monkeypatch.setattr(migrating, "migrations", lambda: changed)
    for check in (migrate, journal_id):
        with pytest.raises(SchemaDrift, match=first.name):
            check(empty)


def test_a_database_of_a_newer_release_is_drift(empty: ClientPool, monkeypatch: pytest.MonkeyPatch) -> None:
    migrate(empty)
    monkeypatch.setattr(migrating, "migrations", lambda: migrations()[:-1])
    with pytest.raises(SchemaDrift, match="newer"):
        migrate(empty)


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE journal ADD COLUMN more String",
        "ALTER TABLE journal MODIFY COLUMN body LowCardinality(String)",
        "ALTER TABLE journal DROP CONSTRAINT in_time",
        "ALTER TABLE journal RESET SETTING non_replicated_deduplication_window",
        "ALTER TABLE journal RESET SETTING fsync_after_insert",
        "DROP TABLE chains SYNC",
        "CREATE MATERIALIZED VIEW spy ENGINE = MergeTree ORDER BY lane AS SELECT lane FROM journal",
        "ALTER TABLE memory_events DROP CONSTRAINT in_time",
        "ALTER TABLE memory_events MODIFY SETTING fsync_after_insert = 0",
    ],
)
def test_a_table_altered_by_hand_is_drift(empty: ClientPool, change: str) -> None:
    migrate(empty)
    empty.command(change)
    for check in (migrate, journal_id):
        with pytest.raises(SchemaDrift):
            check(empty)


def test_the_window_is_a_setting_that_can_be_changed(empty: ClientPool) -> None:
    migrate(empty, window=50)
    (text,) = empty.query("SELECT create_table_query FROM system.tables WHERE name = 'journal'")[0]
    assert "non_replicated_deduplication_window = 50," in text
    first = journal_id(empty)
    assert migrate(empty) == first
    (text,) = empty.query("SELECT create_table_query FROM system.tables WHERE name = 'journal'")[0]
    assert "non_replicated_deduplication_window = 1000000," in text
