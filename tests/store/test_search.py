from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from runlane.contract.commands import ClaimRun, EndSession, PurgeSession
from runlane.contract.errors import InvalidCommand
from runlane.contract.ids import run_lane
from runlane.contract.reader import RunQuery, SessionScope
from runlane.contract.values import RunMeta, RunStart, RunStatus, SessionStatus
from runlane.store.filling import rebuild_search, refresh_search
from runlane.store.reader import JournalReader
from tests.store.world import NOON, World, a_root, a_shot, a_start, completed

pytestmark = pytest.mark.slow

START = NOON.replace(microsecond=0)


def a_run(number: int, session: str = "", agent: str = "", **labels: str) -> RunStart:
    run = a_start(f"run-{number}", session)
    return replace(
        run, started_at=START + timedelta(hours=number // 2), agent_id=agent or "agent", labels=labels
    )


@pytest.fixture
def runs(world: World) -> list[RunStart]:
    """Eight runs, two each hour: six in sessions a and ab, two without one; the odd ones are completed."""
    found = [
        a_run(number, "a" if number < 3 else "ab", f"agent-{number % 2}", n=str(number % 3))
        for number in range(6)
    ]
    found += [a_run(6, "", "x'\\", quote="'\\"), a_run(7, "", "agent-1")]
    for session in ("a", "ab"):
        world.session(0, session)
    for run in found:
        if run.session_id:
            lane = f"s/{run.session_id}"
            world.commit(3, (run_lane(run.run_id), ClaimRun(run.run_id, lane)))
            world.commit(0, (lane, a_root(run)))
        else:
            world.commit(1, (run_lane(run.run_id), a_shot(run)))
    refresh_search(world.pool)
    for number, run in enumerate(found):
        if number % 2:
            lane = f"s/{run.session_id}" if run.session_id else run_lane(run.run_id)
            world.commit(0 if run.session_id else 1, (lane, completed(run)))
    refresh_search(world.pool)
    return found


def ids(found: Sequence[RunMeta]) -> list[int]:
    return [int(run.run_id.removeprefix("run-")) for run in found]


@pytest.fixture
def reader(world: World) -> JournalReader:
    return JournalReader(world.pool)


ALL = SessionScope(ids=("ab",), prefixes=())


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (RunQuery(), [6, 7, 4, 5, 2, 3, 0, 1]),
        (RunQuery(statuses=(RunStatus.COMPLETED,)), [7, 5, 3, 1]),
        (RunQuery(statuses=(RunStatus.COMPLETED, RunStatus.RUNNING), limit=3), [6, 7, 4]),
        (RunQuery(statuses=(RunStatus.FAILED,)), []),
        (RunQuery(agent_id="agent-1"), [7, 5, 3, 1]),
        (RunQuery(agent_id="x'\\"), [6]),
        (RunQuery(session_id="a"), [2, 0, 1]),
        (RunQuery(session_id="ab", statuses=(RunStatus.RUNNING,)), [4]),
        (RunQuery(labels={"n": "1"}), [4, 1]),
        (RunQuery(labels={"n": ""}), []),
        (RunQuery(labels={"quote": "'\\"}), [6]),
        (RunQuery(started_from=START + timedelta(hours=2)), [6, 7, 4, 5]),
        (RunQuery(started_until=START + timedelta(hours=2)), [2, 3, 0, 1]),
        (RunQuery(scope=SessionScope(ids=("a",))), [2, 0, 1]),
        (RunQuery(scope=SessionScope(prefixes=("a",))), [4, 5, 2, 3, 0, 1]),
        (RunQuery(scope=SessionScope(ids=("a",), prefixes=("ab",))), [4, 5, 2, 3, 0, 1]),
        (RunQuery(scope=SessionScope()), []),
        (RunQuery(scope=SessionScope(prefixes=("",))), [4, 5, 2, 3, 0, 1]),
    ],
)
def test_a_search_finds_the_newest_first(
    runs: list[RunStart], reader: JournalReader, query: RunQuery, expected: list[int]
) -> None:
    assert ids(reader.search_runs(query).runs) == expected


def test_a_search_shows_runs_as_they_are(world: World, runs: list[RunStart], reader: JournalReader) -> None:
    for run in reader.search_runs(RunQuery()).runs:
        assert run == reader.load_run(run.run_id)


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 8])
def test_pages_of_a_search_hold_every_run_once(
    runs: list[RunStart], reader: JournalReader, limit: int
) -> None:
    found: list[int] = []
    query = RunQuery(limit=limit)
    while True:
        page = reader.search_runs(query)
        found += ids(page.runs)
        if not page.next_cursor:
            break
        query = replace(query, cursor=page.next_cursor)
    assert found == [6, 7, 4, 5, 2, 3, 0, 1]


def test_limit_and_cursor_of_a_search_are_checked(reader: JournalReader) -> None:
    with pytest.raises(InvalidCommand):
        reader.search_runs(RunQuery(limit=0))
    for cursor in ("x", "0", "WzFd", "WyJhIiwgImIiXQ", "\u0661", "[1,2]"):
        with pytest.raises(InvalidCommand) as refused:
            reader.search_runs(RunQuery(cursor=cursor))
        assert refused.value.code == "invalid_cursor"


def test_a_search_says_how_old_it_is(world: World, reader: JournalReader) -> None:
    assert reader.search_runs(RunQuery()).as_of is None
    refresh_search(world.pool)
    assert reader.search_runs(RunQuery()).as_of is None
    world.claim(0)
    refresh_search(world.pool)
    assert reader.search_runs(RunQuery()).as_of == world.now
    before = world.now
    world.session(0, "a")
    assert reader.search_runs(RunQuery()).as_of == before
    refresh_search(world.pool)
    assert reader.search_runs(RunQuery()).as_of == world.now - timedelta(seconds=1)


def test_filling_twice_or_anew_changes_nothing(
    world: World, runs: list[RunStart], reader: JournalReader
) -> None:
    before = reader.search_runs(RunQuery())
    refresh_search(world.pool)
    world.pool.command("TRUNCATE TABLE search_progress SYNC")
    refresh_search(world.pool)
    assert reader.search_runs(RunQuery()) == before
    rebuild_search(world.pool)
    assert reader.search_runs(RunQuery()) == before


@pytest.mark.guarantee("G7")
def test_a_purged_sessions_runs_are_gone_at_once_and_stay_out_of_a_rebuild(
    world: World, runs: list[RunStart], reader: JournalReader
) -> None:
    world.commit(0, *(("s/a", completed(run)) for run in runs[:3]), ("s/a", EndSession("a", NOON)))
    world.commit(0, ("s/a", PurgeSession("a")))
    assert ids(reader.search_runs(RunQuery()).runs) == [6, 7, 4, 5, 3]
    for _ in range(2):
        rebuild_search(world.pool)
        assert ids(reader.search_runs(RunQuery()).runs) == [6, 7, 4, 5, 3]
        assert world.pool.query("SELECT count() FROM run_search WHERE lane = 's/a'") == [(0,)]
        world.erase("s/a")


@pytest.mark.parametrize("filled", ["never", "before the ends", "at last"])
def test_sessions_are_listed_by_id_however_far_the_derived_table_is(
    world: World, reader: JournalReader, filled: str
) -> None:
    names = ["a", "a'\\", "ab", "b", "é"]
    for name in reversed(names):
        world.session(0, name)
    world.commit(1, ("r/run", a_shot(a_start("run"))))
    if filled == "before the ends":
        refresh_search(world.pool)
    world.commit(0, ("s/ab", EndSession("ab", NOON)), ("s/b", EndSession("b", NOON)))
    world.commit(0, ("s/b", PurgeSession("b")))
    if filled == "at last":
        refresh_search(world.pool)
    left = [name for name in names if name != "b"]

    def listed(**filters: object) -> list[str]:
        found: list[str] = []
        cursor = ""
        while True:
            page = reader.list_sessions(cursor=cursor, limit=2, **filters)  # type: ignore[arg-type]
            found += [session.id for session in page.sessions]
            assert len(page.sessions) <= 2
            if not page.next_cursor:
                return found
            cursor = page.next_cursor

    assert listed() == left
    assert listed(status=SessionStatus.ENDED) == ["ab"]
    assert listed(status=SessionStatus.ACTIVE) == [name for name in left if name != "ab"]
    assert listed(scope=SessionScope(prefixes=("a",))) == ["a", "a'\\", "ab"]
    assert listed(scope=SessionScope(ids=("ab", "b", "é"))) == ["ab", "é"]
    assert listed(scope=SessionScope()) == []
    assert reader.list_sessions(limit=1).sessions[0] == reader.load_session("a")
    for cursor in ("\x00", "x" * 300):
        with pytest.raises(InvalidCommand):
            reader.list_sessions(cursor=cursor)
    with pytest.raises(InvalidCommand):
        reader.list_sessions(limit=0)
