from collections.abc import Iterator

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
