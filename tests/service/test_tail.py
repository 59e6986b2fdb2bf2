"""`tail` shows every record once, in order, and cannot be steered by what is stored."""

import pytest

from runlane.client import MemoryStore
from runlane.contract.values import CommittedRecord
from runlane.service.cli import reads
from runlane.service.cli.output import plain
from runlane.service.cli.reads import RunHistory, SessionHistory, follow, record_json, record_line
from tests.gateway.memory_reader import a_record


async def test_a_running_run_is_followed_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reads, "_PAGE", 2)
    store = MemoryStore()
    run = await store.run("r", "agent").__aenter__()
    todo = [1, 2, 3]

    async def work(_seconds: float) -> None:
        if todo:
            await run.append("note", {"n": todo.pop(0)})
        else:
            await run.__aexit__(None, None, None)

    seen = [record async for record in follow(RunHistory(store, "r"), once=False, pause=work)]

    assert [record.seq for record in seen] == [1, 2, 3, 4, 5]
    assert [record.type for record in seen][-1] == "run_completed"


async def test_once_shows_what_is_there() -> None:
    store = MemoryStore()
    run = await store.run("r", "agent").__aenter__()
    await run.append("note", {})

    seen = [record async for record in follow(RunHistory(store, "r"), once=True)]

    assert [record.type for record in seen] == ["run_started", "note"]


async def test_a_session_ends_when_it_has_ended_and_nothing_runs() -> None:
    store = MemoryStore()
    history = SessionHistory(store, "s")
    await store.create_session("s", a_record("r", "s", 1).timestamp)
    async with store.run("r", "agent", session_id="s"):
        await store.end_session("s", a_record("r", "s", 1).timestamp)
        assert not await history.ended()
    assert await history.ended()

    seen: list[CommittedRecord] = [record async for record in follow(history, once=False)]

    assert [record.type for record in seen] == ["run_started", "run_completed"]


def test_control_characters_are_shown_not_sent() -> None:
    record = a_record("run\x1b[31m", "s", 1, b'{"a":"\x1b]0;title\x07\xe2\x80\xae"}')

    line = record_line(record)

    assert "\x07" not in line
    assert "\u202e" not in line
    assert "\x1b]" not in line
    assert "\\u001b]0;title\\u0007\\u202e" in line
    assert plain("a\nb\x9b") == "a\\u000ab\\u009b"


def test_a_long_payload_is_cut_for_people_and_whole_for_programs() -> None:
    record = a_record("r", "s", 1, b'"' + b"x" * 5000 + b'"')

    assert len(record_line(record)) < 250
    assert len(record_json(record)["payload"]) == 5002
