import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from runlane.contract.commands import EndSession, PurgeSession
from runlane.contract.errors import (
    InvalidCommand,
    RunNotFound,
    RunSuspensionNotFound,
    SessionNotFound,
    SessionPurged,
)
from runlane.contract.limits import MAX_PAGE_BYTES
from runlane.contract.reader import Reader
from runlane.contract.values import CommittedRecord, Page, RunStatus, RunSuspension, Session, SessionStatus
from runlane.store.async_reader import AsyncJournalReader
from runlane.store.engine import ClientPool
from runlane.store.reader import JournalReader
from tests.store.world import (
    NOON,
    World,
    a_child,
    a_note,
    a_shot,
    a_start,
    completed,
    suspended,
)


@pytest.fixture
def reader(journal: ClientPool) -> JournalReader:
    return JournalReader(journal)


def two_runs(world: World) -> str:
    """Make a session with a parent and a child whose records alternate; return its lane."""
    run, child = a_start("run", "a"), a_start("child", "a", "run")
    lane = world.session(0, "a")
    world.start(0, run)
    world.commit(3, (f"r/{child.run_id}", _claim("child", lane)))
    world.commit(0, (lane, a_child(run, child)))
    for number in range(4):
        world.commit(0, (lane, a_note(run, number)), (lane, a_note(child, number)))
    return lane


def _claim(run_id: str, lane: str) -> Any:
    from runlane.contract.commands import ClaimRun

    return ClaimRun(run_id, lane)


def pages(read: Callable[[str], Page]) -> Iterator[list[CommittedRecord]]:
    cursor = ""
    while True:
        page = read(cursor)
        yield list(page.records)
        if not page.next_cursor:
            return
        cursor = page.next_cursor


def test_a_run_reads_as_it_was_decided(world: World, reader: JournalReader) -> None:
    lane = two_runs(world)
    for run in world.states[lane].runs():
        assert reader.load_run(run.run_id) == run.meta()
    found = reader.list_runs_by_session("a")
    assert {run.run_id for run in found} == {"run", "child"}
    world.commit(0, (lane, completed(a_start("child", "a", "run"))))
    assert [run.run_id for run in reader.list_runs_by_session("a", [RunStatus.COMPLETED])] == ["child"]
    assert reader.list_runs_by_session("a", [RunStatus.FAILED]) == ()
    with pytest.raises(RunNotFound):
        reader.load_run("unknown")


def test_a_one_shot_run_is_found_by_its_id(world: World, reader: JournalReader) -> None:
    shot = a_start("shot")
    world.commit(2, ("r/shot", a_shot(shot)))
    world.commit(2, ("r/shot", a_note(shot, 1)))
    assert reader.load_run("shot").session_id == ""
    assert [record.seq for record in reader.list_run_records("shot", "", 10).records] == [1, 2]


def test_a_claim_without_a_start_is_no_run(world: World, reader: JournalReader) -> None:
    world.commit(3, ("r/only-claimed", _claim("only-claimed", "s/a")))
    with pytest.raises(RunNotFound):
        reader.load_run("only-claimed")


@pytest.mark.guarantee("G8")
def test_a_checkpoint_comes_back_identical(world: World, reader: JournalReader) -> None:
    run = a_start("run", "a")
    lane = world.session(0, "a")
    world.start(0, run)
    with pytest.raises(RunSuspensionNotFound):
        reader.load_run_suspension("run")
    data = bytes(range(256)) * 3_000
    world.commit(0, (lane, suspended(run, data)))
    assert reader.load_run_suspension("run") == RunSuspension("cp", data)


def test_sessions_are_active_ended_purged_or_unknown(world: World, reader: JournalReader) -> None:
    lane = world.session(0, "a")
    assert reader.load_session("a") == Session("a", SessionStatus.ACTIVE, NOON)
    world.commit(0, (lane, EndSession("a", NOON)))
    assert reader.load_session("a") == Session("a", SessionStatus.ENDED, NOON, NOON)
    assert reader.load_session_status("a") is SessionStatus.ENDED
    for unknown in ("", "b", "\ud800", "x" * 257):
        with pytest.raises(SessionNotFound):
            reader.load_session_status(unknown)
        with pytest.raises(SessionNotFound):
            reader.list_session_run_records(unknown, "", 1)
        with pytest.raises(RunNotFound):
            reader.load_run(unknown)


@pytest.mark.guarantee("G7")
@pytest.mark.parametrize("erased", [False, True])
def test_a_purged_session_is_purged_for_every_read(world: World, reader: JournalReader, erased: bool) -> None:
    lane = two_runs(world)
    for name, parent in (("run", ""), ("child", "run")):
        world.commit(0, (lane, completed(a_start(name, "a", parent))))
    world.commit(0, (lane, EndSession("a", NOON)), (lane, PurgeSession("a")))
    if erased:
        world.erase(lane)
    reads: list[Callable[[], object]] = [
        lambda: reader.load_session("a"),
        lambda: reader.load_session_status("a"),
        lambda: reader.list_runs_by_session("a"),
        lambda: reader.list_session_run_records("a", "", 5),
    ]
    for read in reads:
        with pytest.raises(SessionPurged):
            read()
    for read in (
        lambda: reader.load_run("run"),
        lambda: reader.load_run_suspension("run"),
        lambda: reader.list_run_records("child", "", 5),
    ):
        with pytest.raises(RunNotFound):
            read()
    assert reader.list_sessions().sessions == ()


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 100])
def test_pages_hold_every_record_once_in_commit_order(
    world: World, reader: JournalReader, limit: int
) -> None:
    two_runs(world)
    for run_id in ("run", "child"):
        found = list(pages(lambda cursor, run_id=run_id: reader.list_run_records(run_id, cursor, limit)))
        records = [record for page in found for record in page]
        assert [record.seq for record in records] == list(range(1, len(records) + 1))
        assert {record.run_id for record in records} == {run_id}
        assert all(len(page) == limit for page in found[:-1])
        assert found[-1]
    found = list(pages(lambda cursor: reader.list_session_run_records("a", cursor, limit)))
    records = [record for page in found for record in page]
    # The session's creation is no run's record, but has a lane_seq.
    assert [record.lane_seq for record in records] == list(range(2, len(records) + 2))
    assert len(records) == 1 + 1 + 1 + 8


def test_a_page_grows_with_what_is_appended_and_never_changes(world: World, reader: JournalReader) -> None:
    lane = two_runs(world)
    before = reader.list_run_records("run", "2", 100)
    assert before.next_cursor == ""
    world.commit(0, (lane, a_note(a_start("run", "a"), 77)))
    after = reader.list_run_records("run", "2", 100)
    assert after.records[:-1] == before.records
    assert reader.list_run_records("run", "999", 5) == Page((), "")


def test_a_page_stops_before_its_bytes_exceed_the_limit(world: World, reader: JournalReader) -> None:
    run = a_start("run", "a")
    lane = world.session(0, "a")
    world.start(0, run)
    sizes = [900_000] * 6 + [10] * 3
    for number, size in enumerate(sizes):
        world.commit(0, (lane, a_note(run, number, json.dumps("x" * (size - 2)).encode())))
    for read in (
        lambda cursor: reader.list_run_records("run", cursor, 1000),
        lambda cursor: reader.list_session_run_records("a", cursor, 1000),
    ):
        found = list(pages(read))
        assert [len(record.payload) for page in found for record in page][1:] == sizes
        assert len(found) == 2
        assert all(sum(len(record.payload) for record in page) <= MAX_PAGE_BYTES for page in found)


def test_limit_then_cursor_then_existence_are_checked(reader: JournalReader) -> None:
    for read, missing in (
        (reader.list_run_records, RunNotFound),
        (reader.list_session_run_records, SessionNotFound),
    ):
        with pytest.raises(InvalidCommand) as limit:
            read("unknown", "no cursor", 0)
        assert limit.value.code == "limit_not_positive"
        with pytest.raises(InvalidCommand) as cursor:
            read("unknown", "0", 1)
        assert cursor.value.code == "invalid_cursor"
        with pytest.raises(missing):
            read("unknown", "1", 1)


def test_payloads_come_back_byte_for_byte(world: World, reader: JournalReader) -> None:
    run = a_start("run", "a")
    lane = world.session(0, "a")
    world.start(0, run)
    payloads = [
        b'{"a": 1.0, "b":-0, "c":"\\u0000 \\ud83d\\ude00 \\/"}',
        ("[" + "9" * 4_000 + "]").encode(),
        '\n \t"ü\U0001f600\\\\\'%s{x:String}" \r'.encode(),
        b'"\x7f"',
        b"0",
    ]
    world.commit(0, *((lane, a_note(run, number, payload)) for number, payload in enumerate(payloads)))
    assert [record.payload for record in reader.list_run_records("run", "1", 10).records] == payloads


async def test_the_async_reader_is_the_contracts_reader(world: World, journal: ClientPool) -> None:
    lane = two_runs(world)
    found: Reader = AsyncJournalReader(journal, threads=2)
    try:
        assert await found.load_run("run") == next(
            run.meta() for run in world.states[lane].runs() if run.run_id == "run"
        )
        assert (await found.load_session("a")).id == "a"
        assert await found.load_session_status("a") is SessionStatus.ACTIVE
        assert len(await found.list_runs_by_session("a")) == 2
        assert len((await found.list_run_records("run", "", 3)).records) == 3
        assert len((await found.list_session_run_records("a", "", 3)).records) == 3
        assert [session.id for session in (await found.list_sessions()).sessions] == ["a"]
        with pytest.raises(RunSuspensionNotFound):
            await found.load_run_suspension("run")
    finally:
        found.close()
