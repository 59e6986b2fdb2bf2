"""Numbered migrations: applied once, checksums and the tables' shape recorded, every deviation refused."""

from __future__ import annotations

import hashlib
import re
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Final

from runlane.contract.errors import SchemaDrift
from runlane.store.engine import ClientPool

_FILE: Final = re.compile(r"(\d{4})_\w+\.sql")
_CREATED: Final = re.compile(r"CREATE (?:TABLE|VIEW) IF NOT EXISTS (\w+)")
_RECORDS: Final = """
CREATE TABLE IF NOT EXISTS schema_migrations
(
    number   UInt32,
    name     String,
    checksum String,
    shape    String,
    at       DateTime64(6, 'UTC') DEFAULT now64(6)
)
ENGINE = MergeTree
ORDER BY number
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
"""
_SHAPE: Final = """
SELECT
    table, name, type, default_kind, default_expression,
    is_in_sorting_key, is_in_primary_key, is_in_partition_key
FROM system.columns
WHERE database = currentDatabase() AND table IN {tables:Array(String)}
ORDER BY table, position
"""
_MINT: Final = "INSERT INTO journal_meta SELECT {id:String}, now64(6)"
_MINT_ONCE: Final = {"insert_deduplication_token": "journal_id", "insert_deduplicate": 1, "async_insert": 0}
_NEEDED: Final = (
    "CONSTRAINT in_time CHECK not_after >= toUnixTimestamp64Micro(now64(6))",
    "non_replicated_deduplication_window = ",
    "fsync_after_insert = 1",
    "fsync_part_directory = 1",
    "min_rows_to_fsync_after_merge = 1",
    "old_parts_lifetime = ",
)
"""What of their definition the safety of tables of chains rests on; the self-test tries what can be tried."""
_CHAINED: Final = """
SELECT name, create_table_query, dependencies_table FROM system.tables
WHERE database = currentDatabase() AND name IN ('journal', 'memory_events')
"""
DEFAULT_WINDOW: Final = 1_000_000
"""Tokens that the journal remembers; counted over all partitions of the commands topic."""


@dataclass(frozen=True, slots=True)
class Migration:
    """One numbered file of statements."""

    number: int
    name: str
    text: str

    @property
    def checksum(self) -> str:
        """SHA-256 of the file."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def statements(self) -> Sequence[str]:
        """The file's statements without comments."""
        bare = "\n".join(line for line in self.text.splitlines() if not line.lstrip().startswith("--"))
        return [statement.strip() for statement in bare.split(";") if statement.strip()]

    @property
    def creates(self) -> Sequence[str]:
        """The tables and views that the file makes."""
        return _CREATED.findall(self.text)


def migrations() -> Sequence[Migration]:
    """Return the migrations of this release in order."""
    files = resources.files("runlane.store") / "migrations"
    found = [(match, file) for file in files.iterdir() if (match := _FILE.fullmatch(file.name))]
    return sorted(
        (Migration(int(match[1]), file.name, file.read_text(encoding="utf-8")) for match, file in found),
        key=lambda migration: migration.number,
    )


def migrate(pool: ClientPool, *, window: int = DEFAULT_WINDOW) -> str:
    """Bring the database to this release and return the journal's id, minted by the first migration.

    ``window`` is the number of tokens the journal remembers; a small one is for tests. Doing it twice,
    or from several processes at once, changes nothing. Raises ``SchemaDrift`` when another release migrated
    the database, or its tables were altered by hand.
    """
    pool.command(_RECORDS)
    known = migrations()
    applied = _check(pool, known)
    for migration in known[applied:]:
        for statement in migration.statements:
            pool.command(statement)
        pool.command(
            "INSERT INTO schema_migrations (number, name, checksum, shape)"
            " SELECT {number:UInt32}, {name:String}, {checksum:String}, {shape:String}",
            {
                "number": migration.number,
                "name": migration.name,
                "checksum": migration.checksum,
                "shape": _shape(pool, known[: known.index(migration) + 1]),
            },
        )
    _set_window(pool, window)
    return _journal_id(pool)


def journal_id(pool: ClientPool) -> str:
    """Return the id of a migrated journal; ``SchemaDrift`` when the database is not at this release."""
    exists = pool.query("EXISTS TABLE schema_migrations")
    known = migrations()
    if exists[0][0] != 1 or _check(pool, known) != len(known):
        raise SchemaDrift("the database is not migrated to this release: run `runlane migrate`")
    return _journal_id(pool)


def _check(pool: ClientPool, known: Sequence[Migration]) -> int:
    """Return how many migrations are applied: the first ones, and the tables are still as they left them."""
    rows = pool.query("SELECT DISTINCT number, name, checksum FROM schema_migrations ORDER BY number")
    if len(rows) > len(known):
        raise SchemaDrift(f"the database was migrated by a newer release ({rows[-1][1]})")
    for row, migration in zip(rows, known, strict=False):
        if tuple(row) != (migration.number, migration.name, migration.checksum):
            raise SchemaDrift(f"the database was migrated by another {migration.name}")
    if rows:
        recorded = pool.query(
            "SELECT DISTINCT shape FROM schema_migrations WHERE number = {number:UInt32}",
            {"number": rows[-1][0]},
        )
        if [list(row) for row in recorded] != [[_shape(pool, known[: len(rows)])]]:
            raise SchemaDrift("the tables are not as the migrations made them")
        _check_chained(pool)
    return len(rows)


def _check_chained(pool: ClientPool) -> None:
    for table, definition, dependents in pool.query(_CHAINED):
        missing = [needed for needed in _NEEDED if needed not in definition]
        if missing:
            raise SchemaDrift(f"table {table} was altered: it lacks {missing[0].strip(' =')}")
        if dependents:
            # A losing insert would reach it.
            raise SchemaDrift(f"a materialized view hangs on table {table}")


def _shape(pool: ClientPool, applied: Sequence[Migration]) -> str:
    tables = [name for migration in applied for name in migration.creates]
    rows = pool.query(_SHAPE, {"tables": tables})
    return hashlib.sha256(repr([tuple(row) for row in rows]).encode()).hexdigest()


def _set_window(pool: ClientPool, window: int) -> None:
    setting = f"non_replicated_deduplication_window = {window:d}"
    rows = pool.query(
        "SELECT position(create_table_query, {setting:String}) > 0 FROM system.tables"
        " WHERE database = currentDatabase() AND name = 'journal'",
        {"setting": f"{setting},"},
    )
    if not rows[0][0]:
        pool.command(f"ALTER TABLE journal MODIFY SETTING {setting}")


def _journal_id(pool: ClientPool) -> str:
    rows = pool.query("SELECT journal_id FROM journal_meta")
    if not rows:
        # The token lets one of several first migrations win; what it wrote is what all of them read.
        pool.command(_MINT, {"id": uuid.uuid4().hex}, settings=_MINT_ONCE)
        rows = pool.query("SELECT journal_id FROM journal_meta")
    return str(rows[0][0])
