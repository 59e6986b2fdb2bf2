"""The store of the pytest plugin: its fixtures, its reads for people, several loops and threads at once."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from runlane.client import MemoryStore, SyncRunStore
from runlane.contract.errors import InvalidCommand, NotPermitted, RunNotFound
from runlane.contract.reader import RunQuery, SessionScope
from runlane.contract.values import RunStatus, SessionStatus
from tests.client.make import begin, one_shot, record
from tests.client.scripted import NOW


def test_the_fixture_needs_no_event_loop_of_its_own(run_store: MemoryStore) -> None:
    asyncio.run(begin(run_store))
    assert asyncio.run(run_store.load_run("run")).status is RunStatus.RUNNING


async def test_the_two_fixtures_show_one_store(run_store: MemoryStore, sync_run_store: SyncRunStore) -> None:
    await begin(run_store)
    assert sync_run_store.append_run_record(record("k")).id == "2"
    assert len((await run_store.list_run_records("run")).records) == 2


async def test_every_test_gets_an_empty_store(run_store: MemoryStore) -> None:
    with pytest.raises(RunNotFound):
        await run_store.load_run("run")
    assert run_store.lanes.all() == []


def test_threads_share_a_sync_store(sync_run_store: SyncRunStore) -> None:
    sync_run_store.create_session("session", NOW)

    def work(number: int) -> int:
        with sync_run_store.run(f"run{number}", "agent", session_id="session") as run:
            return len([run.append("note", {"n": n}).id for n in range(20)])

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(work, range(16))) == [20] * 16
    page = sync_run_store.list_session_run_records("session", limit=1000)
    assert [record.lane_seq for record in page.records] == list(range(2, 2 + 16 * 22))


def test_an_exception_fails_a_sync_run(sync_run_store: SyncRunStore) -> None:
    def interrupted() -> None:
        with sync_run_store.run("run", "agent") as run:
            run.post("note", {})
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert sync_run_store.load_run("run").status is RunStatus.CANCELED
    with pytest.raises(ValueError, match="boom"), sync_run_store.run("next", "agent"):
        raise ValueError("boom")
    assert sync_run_store.load_run("next").status is RunStatus.FAILED


async def test_a_store_without_a_host_key_may_not_make_sessions() -> None:
    with pytest.raises(NotPermitted):
        await MemoryStore(host=False).create_session("session", NOW)


async def test_the_clock_stamps_commits_and_never_goes_back() -> None:
    times = iter([NOW, NOW + timedelta(seconds=2), NOW, NOW])
    store = MemoryStore(clock=lambda: next(times))
    await begin(store)
    assert (await store.load_run("run")).updated_at == NOW + timedelta(seconds=2)


async def test_runs_are_found_newest_first_page_by_page(run_store: MemoryStore) -> None:
    await run_store.create_session("session", NOW)
    for number in range(5):
        run = run_store.run(
            f"run{number}",
            "agent" if number % 2 else "other",
            session_id="session",
            labels={"parity": str(number % 2)},
            started_at=NOW + timedelta(seconds=number),
        )
        await run.__aenter__()
    await one_shot(run_store, "single")

    async def found(query: RunQuery) -> list[str]:
        return [run.run_id for run in (await run_store.search_runs(query)).runs]

    assert await found(RunQuery()) == ["run4", "run3", "run2", "run1", "run0", "single"]
    assert await found(RunQuery(agent_id="other")) == ["run4", "run2", "run0"]
    assert await found(RunQuery(labels={"parity": "1"})) == ["run3", "run1"]
    assert await found(RunQuery(statuses=(RunStatus.COMPLETED,))) == []
    assert await found(RunQuery(scope=SessionScope(prefixes=("sess",)), limit=1)) == ["run4"]
    after = RunQuery(started_from=NOW + timedelta(seconds=1), started_until=NOW + timedelta(seconds=3))
    assert await found(after) == ["run2", "run1"]
    pages, cursor = [], ""
    while True:
        page = await run_store.search_runs(RunQuery(cursor=cursor, limit=4))
        pages.append([run.run_id for run in page.runs])
        cursor = page.next_cursor
        if not cursor:
            break
    assert pages == [["run4", "run3", "run2", "run1"], ["run0", "single"]]
    with pytest.raises(InvalidCommand):
        await found(RunQuery(cursor="nonsense"))


async def test_sessions_are_listed_by_id_page_by_page(run_store: MemoryStore) -> None:
    for name in ("c", "a", "b"):
        await run_store.create_session(name, NOW)
    await run_store.end_session("b", NOW)
    first = await run_store.list_sessions(limit=2)
    assert ([s.id for s in first.sessions], first.next_cursor) == (["a", "b"], "b")
    second = await run_store.list_sessions(cursor="b", limit=1)
    assert ([s.id for s in second.sessions], second.next_cursor) == (["c"], "")
    ended = await run_store.list_sessions(SessionStatus.ENDED)
    assert [s.id for s in ended.sessions] == ["b"]
    assert (await run_store.list_sessions(scope=SessionScope(ids=("c",)))).sessions[0].id == "c"
