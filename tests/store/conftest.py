"""A migrated journal on the embedded engine, and on a server: the endpoint of another process."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from runlane.store import ClientPool, connect, migrate
from tests.store.world import World

KEPT = ("schema_migrations", "journal_meta")
PASSWORD = "s3cret"


class Server:
    """The endpoint as a process of its own, which plays a ClickHouse server."""

    def __init__(self, path: Path) -> None:
        command = [
            sys.executable,
            "-m",
            "runlane.store.endpoint",
            "--path",
            str(path),
            "--password",
            PASSWORD,
        ]
        self.process = subprocess.Popen([*command, "--writable"], stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().strip()

    @property
    def dsn(self) -> str:
        return self.url.replace("http://", f"http://default:{PASSWORD}@") + "/default"

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(120)
        assert self.process.stdout is not None
        self.process.stdout.close()


@pytest.fixture(scope="module", params=["embedded", "server"])
def pool(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClientPool]:
    """A migrated database; one engine a process, so a module's tests share it."""
    path = tmp_path_factory.mktemp("clickhouse")
    server = Server(path) if request.param == "server" else None
    opened = connect(f"chdb://{path}" if server is None else server.dsn)
    migrate(opened)
    yield opened
    opened.close()
    if server is not None:
        server.stop()


@pytest.fixture
def journal(pool: ClientPool) -> ClientPool:
    """The module's database, emptied."""
    empty(pool)
    return pool


def empty(pool: ClientPool) -> None:
    """Empty all tables but those of the migrations; the journal forgets its tokens, too."""
    tables = pool.query(
        "SELECT name FROM system.tables WHERE database = currentDatabase() AND engine LIKE '%MergeTree'"
        " AND name NOT IN {kept:Array(String)} AND (total_rows > 0 OR name = 'journal')",
        {"kept": list(KEPT)},
    )
    for (name,) in tables:
        pool.command(f"TRUNCATE TABLE {name} SYNC")


@pytest.fixture
def world(journal: ClientPool) -> World:
    """A journal without a block, and what an owner does with it."""
    return World(journal)
