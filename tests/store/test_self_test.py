from collections.abc import Iterator
from unittest.mock import Mock

import pytest

from runlane.contract.errors import UnsafeEngine
from runlane.store.engine import ClientPool
from runlane.store.migrate import migrate
from runlane.store.self_test import self_test


@pytest.fixture
def altered(journal: ClientPool) -> Iterator[ClientPool]:
    """A journal that a test may alter."""
    yield journal
    journal.command("DROP TABLE journal SYNC")
    journal.command("TRUNCATE TABLE schema_migrations SYNC")
    migrate(journal)


def tables(pool: ClientPool) -> list[str]:
    return [name for (name,) in pool.query("SHOW TABLES")]


def test_a_journal_as_it_was_migrated_is_safe_and_left_alone(journal: ClientPool) -> None:
    before = tables(journal)
    self_test(journal)
    assert tables(journal) == before
    assert journal.query("SELECT count() FROM journal") == [(0,)]


@pytest.mark.parametrize("table", ["journal", "memory_events"])
def test_a_table_of_another_engine_is_refused_before_anything_is_written(
    altered: ClientPool, table: str
) -> None:
    altered.command(f"RENAME TABLE {table} TO aside")
    altered.command(f"CREATE TABLE {table} (number UInt8) ENGINE = ReplacingMergeTree ORDER BY number")
    with pytest.raises(UnsafeEngine, match=f"{table} is a ReplacingMergeTree: this release writes to one"):
        self_test(altered)
    altered.command(f"DROP TABLE {table} SYNC")
    altered.command(f"RENAME TABLE aside TO {table}")


@pytest.mark.parametrize("engine", ["ReplicatedMergeTree", "SharedMergeTree", "Distributed"])
def test_a_replicated_journal_is_refused(engine: str) -> None:
    pool = Mock(ClientPool)
    pool.query.return_value = [("journal", engine)]
    with pytest.raises(UnsafeEngine, match=engine):
        self_test(pool)
    pool.command.assert_not_called()


@pytest.mark.guarantee("G5")
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("MODIFY SETTING non_replicated_deduplication_window = 0", "not exactly the first one got in"),
        ("DROP CONSTRAINT in_time", "after its time is not refused"),
    ],
)
def test_a_table_that_would_let_a_chain_fork_is_refused(
    altered: ClientPool, change: str, reason: str
) -> None:
    before = tables(altered)
    altered.command(f"ALTER TABLE journal {change}")
    with pytest.raises(UnsafeEngine, match=reason):
        self_test(altered)
    assert tables(altered) == before
