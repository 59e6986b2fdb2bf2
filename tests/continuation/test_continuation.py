"""Prepared continuations (contract 4, last bullet): prepare, keep, parse, start."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta, timezone
from typing import Any

import pytest

from runlane.client import (
    MemoryStore,
    ParentCall,
    PreparedRun,
    ToolCall,
    parse_prepared,
    prepare_continuation,
    start_prepared,
)
from runlane.contract.errors import (
    CorruptRun,
    InvalidCommand,
    PredecessorNotFound,
    RunNotActive,
    RunNotFound,
)
from runlane.contract.payloads import decode_child_run_linked, decode_run_started
from runlane.contract.values import Page, RunMeta, RunStatus
from tests.client.scripted import NOW
from tests.recovery.doubles import Edit, doubled, without

VERSION = "helper.v1"
CLARIFY = ("await_clarification", {"ID": "which", "Question": "which one?"})


@pytest.fixture
async def store() -> MemoryStore:
    store = MemoryStore()
    await store.create_session("session", NOW)
    return store


async def suspend(store: MemoryStore, *waits: tuple[str, dict[str, Any]], run: str = "first") -> None:
    """A suspended root run that waits for what `waits` say."""
    async with store.run(run, "helper", session_id="session", labels={"old": "1"}) as first:
        for record_type, payload in waits:
            await first.append(record_type, payload)
        await first.suspend("s1", b"\x00checkpoint", version=VERSION, pending_count=len(waits))


async def prepare(store: Any, **options: Any) -> PreparedRun:
    given: dict[str, Any] = {"run_id": "second", "version": VERSION, "started_at": NOW} | options
    return await prepare_continuation(store, given.pop("predecessor", "first"), **given)


async def test_a_suspended_run_goes_on_with_its_answers(store: MemoryStore) -> None:
    await suspend(store, CLARIFY)
    prepared = await prepare(store, answers={"which": {"text": "the red one"}}, labels={"new": "2"})
    async with start_prepared(store, prepared.marshal()) as run:
        assert run.prepared.answers == {"which": b'{"text":"the red one"}'}
        assert run.prepared.suspension_id == "s1"
        await run.append("planner_note", {"Note": "the red one"})
    meta = await store.load_run("second")
    assert (meta.status, meta.agent_id, meta.session_id) == (RunStatus.COMPLETED, "helper", "session")
    assert (meta.labels, meta.started_at) == ({"new": "2"}, NOW)
    started = (await store.list_run_records("second")).records[0]
    assert decode_run_started(started.payload).predecessor_run_id == "first"
    assert (await store.load_run("first")).status is RunStatus.SUSPENDED


async def test_preparing_writes_nothing(store: MemoryStore) -> None:
    await suspend(store, CLARIFY)
    before = [lane.next_lane_seq for lane in store.lanes.all()]
    await prepare(store, answers={"which": "1"})
    with pytest.raises(RunNotFound):
        await store.load_run("second")
    assert [lane.next_lane_seq for lane in store.lanes.all()] == before


async def test_a_start_is_repeated_exactly_by_whoever_holds_the_bytes(store: MemoryStore) -> None:
    await suspend(store)
    data = (await prepare(store)).marshal()
    await start_prepared(store, data).__aenter__()
    async with start_prepared(store, data) as run:
        await run.append("planner_note", {"Note": "n"})
    await start_prepared(store, parse_prepared(data)).__aenter__()
    assert len((await store.list_run_records("second")).records) == 3


async def test_a_child_goes_on_under_its_running_parent(store: MemoryStore) -> None:
    parent = await store.run("parent", "planner", session_id="session").__aenter__()
    async with parent.child("first", "helper", call=ToolCall("search", "call-7")) as first:
        await first.suspend("s1", b"x", version=VERSION)
    data = (await prepare(store)).marshal()
    assert parse_prepared(data).parent_call == ParentCall("planner", "search", "call-7")
    for _ in range(2):
        await start_prepared(store, data).__aenter__()
    links = [r for r in (await store.list_run_records("parent")).records if r.type == "child_run_linked"]
    second = decode_child_run_linked(links[-1].payload)
    assert len(links) == 2
    assert (second.child_run_id, second.tool_name, second.tool_call_id) == ("second", "search", "call-7")
    assert (await store.load_run("second")).parent_run_id == "parent"


async def test_the_longest_run_id_still_has_a_link_key(store: MemoryStore) -> None:
    parent = await store.run("parent", "planner", session_id="session").__aenter__()
    async with parent.child("first", "helper", call=ToolCall("search", "c")) as first:
        await first.suspend("s1", b"x", version=VERSION)
    prepared = await prepare(store, run_id="r" * 256)
    async with start_prepared(store, prepared) as run:
        assert run.run_id == "r" * 256


async def test_a_session_that_ended_meanwhile_stops_the_start(store: MemoryStore) -> None:
    await suspend(store)
    prepared = await prepare(store)
    await store.end_session("session", NOW)
    with pytest.raises(RunNotActive):
        await start_prepared(store, prepared).__aenter__()


@pytest.mark.parametrize("version", ["", "helper.v2", "HELPER.V1"])
async def test_a_checkpoint_of_another_version_is_refused(store: MemoryStore, version: str) -> None:
    await suspend(store)
    with pytest.raises(InvalidCommand) as refused:
        await prepare(store, version=version)
    assert refused.value.code == "checkpoint_version"


@pytest.mark.parametrize("version", ["runlane.prepared-run.v2", "", None, 1])
async def test_prepared_bytes_of_another_version_are_refused_before_anything_is_written(
    store: MemoryStore, version: Any
) -> None:
    await suspend(store)
    written = (await prepare(store)).marshal()
    other = written.replace(b'"runlane.prepared-run.v1"', _json(version))
    before = [lane.next_lane_seq for lane in store.lanes.all()]
    with pytest.raises(InvalidCommand) as refused:
        start_prepared(store, other)
    assert refused.value.code == "prepared_version"
    assert [lane.next_lane_seq for lane in store.lanes.all()] == before


def _json(value: Any) -> bytes:
    return (
        b"null" if value is None else str(value).encode() if isinstance(value, int) else f'"{value}"'.encode()
    )


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda data: b"", "json.syntax"),
        (lambda data: b"[]", "prepared_run"),
        (lambda data: b"{}", "prepared_run"),
        (lambda data: data[:-1] + b',"later":1}', "prepared_run"),
        (lambda data: data.replace(b'"run_id":"second"', b'"run_id":2'), "prepared_run"),
        (lambda data: data.replace(b"+00:00", b""), "prepared_run"),
        (lambda data: data.replace(b'"started_at":"', b'"started_at":"x'), "prepared_run"),
        (lambda data: data + data, "json.syntax"),
    ],
)
async def test_bytes_that_are_no_prepared_run_are_refused(store: MemoryStore, change: Any, code: str) -> None:
    await suspend(store)
    with pytest.raises(InvalidCommand) as refused:
        parse_prepared(change((await prepare(store)).marshal()))
    assert refused.value.code == code


async def test_bytes_are_read_back_as_they_were(store: MemoryStore) -> None:
    await suspend(store, CLARIFY)
    prepared = await prepare(
        store, answers={"which": b'{"n": 1.50, "<": "\\u00e9 \xc3\xa9"}'}, labels={"a": "é"}
    )
    assert parse_prepared(prepared.marshal()) == prepared
    assert parse_prepared(prepared.marshal()).marshal() == prepared.marshal()


QUESTIONS = ("await_questions", {"ID": "ask", "ToolName": "t", "ToolCallID": "c1"})
TOOLS = ("await_external_tools", {"ID": "tools", "Items": [{"ToolName": "t", "ToolCallID": "c2"}]})
CONFIRM = ("await_confirmation", {"ID": "ok", "ToolName": "t", "ToolCallID": "c3"})
CONFIRMED = ("tool_authorization", {"ToolName": "t", "ToolCallID": "c3", "Approved": True})


async def test_each_thing_that_is_waited_for_has_one_answer(store: MemoryStore) -> None:
    await suspend(store, CLARIFY, QUESTIONS, TOOLS, CONFIRM)
    answers: dict[str, Any] = {name: {} for name in ("which", "ask", "tools", "ok")}
    assert set((await prepare(store, answers=answers)).answers) == set(answers)
    for missing in answers:
        with pytest.raises(InvalidCommand) as refused:
            await prepare(store, answers={name: {} for name in answers if name != missing})
        assert refused.value.code == "answer_missing"
    with pytest.raises(InvalidCommand) as refused:
        await prepare(store, answers=answers | {"else": {}})
    assert refused.value.code == "answer_unknown"


async def test_a_confirmation_that_was_given_is_waited_for_no_more(store: MemoryStore) -> None:
    await suspend(store, CONFIRM, CONFIRMED, CLARIFY)
    assert set((await prepare(store, answers={"which": {}})).answers) == {"which"}


async def test_a_run_that_waits_for_nothing_by_name_is_answered_by_its_suspension(store: MemoryStore) -> None:
    await suspend(store)
    assert (await prepare(store)).answers == {}
    assert (await prepare(store, answers={"s1": "[1]"})).answers == {"s1": b"[1]"}
    with pytest.raises(InvalidCommand) as refused:
        await prepare(store, answers={"else": "1"})
    assert refused.value.code == "answer_unknown"


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ("{", "json.syntax"),
        ('{"a":1,"a":2}', "json.duplicate_key"),
        ('"' + "x" * 921_600 + '"', "payload_too_large"),
    ],
)
async def test_an_answer_is_json_that_the_store_would_take(
    store: MemoryStore, answer: str, code: str
) -> None:
    await suspend(store)
    with pytest.raises(InvalidCommand) as refused:
        await prepare(store, answers={"s1": answer})
    assert refused.value.code == code


async def test_a_large_answer_survives_its_escapes(store: MemoryStore) -> None:
    await suspend(store)
    answer = '"' + "<" * 400_000 + '"'
    prepared = await prepare(store, answers={"s1": answer})
    assert parse_prepared(prepared.marshal()) == prepared


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"run_id": ""}, "run_id_required"),
        ({"run_id": "a\n"}, "id_not_printable"),
        ({"run_id": "first"}, "predecessor_is_self"),
        ({"started_at": NOW.replace(tzinfo=None)}, "time_without_zone"),
        ({"started_at": NOW + timedelta(microseconds=1)}, "time_not_whole_millisecond"),
        ({"labels": {str(n): "" for n in range(65)}}, "too_many_labels"),
    ],
)
async def test_what_no_start_would_take_is_not_prepared(
    store: MemoryStore, options: dict[str, Any], code: str
) -> None:
    await suspend(store)
    with pytest.raises(InvalidCommand) as refused:
        await prepare(store, **options)
    assert refused.value.code == code


async def test_a_time_of_another_zone_is_the_same_instant(store: MemoryStore) -> None:
    await suspend(store)
    prepared = await prepare(store, started_at=NOW.astimezone(timezone(timedelta(hours=5, minutes=30))))
    assert prepared.start.started_at == NOW
    assert parse_prepared(prepared.marshal()) == prepared


async def test_only_a_suspended_run_of_a_session_is_continued(store: MemoryStore) -> None:
    with pytest.raises(PredecessorNotFound):
        await prepare(store)
    async with store.run("running", "helper", session_id="session"):
        with pytest.raises(InvalidCommand) as refused:
            await prepare(store, predecessor="running")
        assert refused.value.code == "predecessor_not_suspended"
    async with store.run("single", "helper") as single:
        await single.suspend("s", b"x", version=VERSION)
    with pytest.raises(InvalidCommand) as refused:
        await prepare(store, predecessor="single")
    assert refused.value.code == "predecessor_run_id_forbidden"


class Edited:
    """Reads a store, with one run's records changed."""

    def __init__(self, store: MemoryStore, run: str, edit: Edit) -> None:
        self.store, self.run, self.edit = store, run, edit

    async def load_run(self, run_id: str) -> RunMeta:
        return await self.store.load_run(run_id)

    async def list_run_records(self, run_id: str, cursor: str, limit: int) -> Page:
        page = await self.store.list_run_records(run_id, cursor, limit)
        return replace(page, records=tuple(self.edit(list(page.records)))) if run_id == self.run else page


@pytest.mark.parametrize("edit", [without("run_suspended"), doubled("run_suspended")])
async def test_a_suspension_without_its_one_record_is_corruption(store: MemoryStore, edit: Edit) -> None:
    await suspend(store)
    with pytest.raises(CorruptRun):
        await prepare(Edited(store, "first", edit))


async def test_a_child_without_its_link_is_corruption(store: MemoryStore) -> None:
    parent = await store.run("parent", "planner", session_id="session").__aenter__()
    async with parent.child("first", "helper", call=ToolCall("search", "c")) as first:
        await first.suspend("s1", b"x", version=VERSION)
    with pytest.raises(CorruptRun):
        await prepare(Edited(store, "parent", without("child_run_linked")))
