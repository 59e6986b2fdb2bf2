"""What each read touches, in rows as the server counts them: its own granules, whatever lies beside."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from runlane.contract.ids import session_lane
from runlane.contract.reader import RunQuery
from runlane.store.engine import ClientPool, Parameters
from runlane.store.filling import refresh_search
from runlane.store.reader import JournalReader
from tests.store.conftest import Server
from tests.store.world import World, a_note, a_start

pytestmark = pytest.mark.slow

SESSIONS, RUNS, NOTES = 12, 3, 1_000
GRANULE = 1_024


class CountingPool(ClientPool):
    """Adds up the rows that the queries since ``reset`` read from tables."""

    read = 0

    def query(
        self,
        sql: str,
        parameters: Parameters | None = None,
        *,
        raw: Sequence[str] = (),
        settings: Mapping[str, Any] | None = None,
    ) -> Sequence[Sequence[Any]]:
        with self.client() as client:
            formats: Any = dict.fromkeys(raw, "bytes") or None
            result = client.query(
                sql, dict(parameters or {}), settings=dict(settings or {}), column_formats=formats
            )
        self.read += int(result.summary["read_rows"])
        return result.result_rows


@pytest.fixture(scope="module", params=["many parts", "one part"])
def large(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A journal of many sessions whose runs alternate, before and after its parts are merged."""
    server = Server(Path(tmp_path_factory.mktemp("clickhouse")))
    pool = CountingPool(server.dsn, 60.0)
    world = World(pool)
    runs = [a_start(f"{n}-{r}", f"session-{n:02}") for n in range(SESSIONS) for r in range(RUNS)]
    for n in range(SESSIONS):
        world.session(0, f"session-{n:02}")
    for run in runs:
        world.start(0, run)
    for start in range(0, NOTES, 100):
        notes = range(start, start + 100)
        world.commit(
            0, *((session_lane(run.session_id), a_note(run, note)) for note in notes for run in runs)
        )
    refresh_search(pool)
    if request.param == "one part":
        pool.command("OPTIMIZE TABLE journal FINAL")
    yield world
    pool.close()
    server.stop()


READS: dict[str, tuple[Callable[[World, JournalReader], object], int]] = {
    "tips": (lambda world, _: world.chains.tips({0: 50}), 1),
    "end": (lambda world, _: world.chains.end(0), 1),
    "claim and run": (lambda _, reader: reader.load_run("3-1"), 2),
    "session": (lambda _, reader: reader.load_session("session-03"), 1),
    # The page's records lie in a third of its lane's rows.
    "run page": (lambda _, reader: reader.list_run_records("3-1", "500", 100), 8),
    "session page": (lambda _, reader: reader.list_session_run_records("session-03", "1500", 100), 6),
    "one key": (lambda world, _: world.lanes.load_keys("s/session-03", [("3-1", "3-1/note-500")]), 2),
    "unknown key": (lambda world, _: world.lanes.load_keys("s/session-03", [("3-1", "no such")]), 1),
    "empty lane": (lambda world, _: world.lanes.load("r/unknown", max_bytes=10**9), 2),
    "search": (lambda _, reader: reader.search_runs(RunQuery(limit=5)), 2),
}


@pytest.mark.parametrize("name", READS)
def test_a_read_touches_its_own_granules(large: World, name: str) -> None:
    read, granules = READS[name]
    pool = large.pool
    assert isinstance(pool, CountingPool)
    (parts,) = pool.query("SELECT count() FROM system.parts WHERE table = 'journal' AND active")[0]
    (rows,) = pool.query("SELECT count() FROM journal")[0]
    assert rows > 2 * SESSIONS * RUNS * NOTES
    pool.read = 0
    read(large, JournalReader(pool))
    assert pool.read <= granules * GRANULE * min(parts, 12), f"{pool.read} of {rows} rows in {parts} parts"
    assert pool.read < rows / 2
