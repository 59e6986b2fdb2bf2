"""Prompt references (cases of section prompt-refs)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from runlane.client import MemoryStore, ToolCall
from runlane.client.prompts import PromptRef, prompt_refs
from runlane.client.run import Run
from runlane.contract.errors import ContractError, CorruptRun, InvalidCommand, RunNotFound
from runlane.contract.payloads import ChildRunLinked, RunCompleted, RunStarted
from runlane.contract.values import Page, RunMeta, RunStatus
from tests.client.scripted import NOW
from tests.recovery.doubles import Edit, changed, doubled, without


class Reads:
    """Counts the runs that are read; may change what is seen."""

    def __init__(self, store: MemoryStore) -> None:
        self.store = store
        self.read: list[str] = []
        self.edits: dict[str, Edit] = {}
        self.metas: dict[str, dict[str, Any]] = {}

    async def load_run(self, run_id: str) -> RunMeta:
        return replace(await self.store.load_run(run_id), **self.metas.get(run_id, {}))

    async def list_run_records(self, run_id: str, cursor: str, limit: int) -> Page:
        assert limit == 500
        self.read.append(run_id)
        page = await self.store.list_run_records(run_id, cursor, limit)
        return Page(tuple(self.edits.get(run_id, list)(list(page.records))), page.next_cursor)


class Family:
    """A store in which runs say which prompts they rendered."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        self.reads = Reads(self.store)

    async def run(self, run: str, *prompts: str, predecessor: str = "") -> Run:
        started = self.store.run(run, "agent", session_id="session", predecessor_run_id=predecessor)
        return await self._begin(started, prompts)

    async def child(self, parent: Run, run: str, *prompts: str, predecessor: str = "") -> Run:
        call = ToolCall("tool", f"call/{run}")
        return await self._begin(
            parent.child(run, "agent", call=call, predecessor_run_id=predecessor), prompts
        )

    async def refs(self, run: str) -> list[str]:
        return [f"{ref.prompt_id}@{ref.version}" for ref in await prompt_refs(self.reads, run)]

    async def corrupt(self, run: str = "root") -> str:
        with pytest.raises(CorruptRun) as refused:
            await self.refs(run)
        assert isinstance(refused.value, ContractError)
        return refused.value.code

    async def _begin(self, run: Run, prompts: tuple[str, ...]) -> Run:
        await run.__aenter__()
        for prompt in prompts:
            name, _, version = prompt.partition("@")
            await run.append("prompt_rendered", {"PromptID": name, "Version": version})
        return run


@pytest.fixture
async def family() -> Family:
    family = Family()
    await family.store.create_session("session", NOW)
    return family


@pytest.mark.case("C389")
async def test_refs_come_breadth_first_and_once(family: Family) -> None:
    root = await family.run("root", "a@1", "a@1", "a@2")
    first = await family.child(root, "first", "b@1", "a@1")
    await family.child(root, "second", "c@1", "b@1")
    await family.child(first, "grandchild", "d@1", "c@1", "e@1")
    assert await family.refs("root") == ["a@1", "a@2", "b@1", "c@1", "d@1", "e@1"]
    assert await prompt_refs(family.store, "first") == (
        PromptRef("b", "1"),
        PromptRef("a", "1"),
        PromptRef("d", "1"),
        PromptRef("c", "1"),
        PromptRef("e", "1"),
    )
    assert family.reads.read == ["root", "first", "second", "grandchild"]


@pytest.mark.case("C391")
async def test_a_continuation_comes_before_what_it_continues(family: Family) -> None:
    first = await family.run("first", "old@1")
    await family.child(first, "child", "helper@1")
    await first.suspend("s", b"checkpoint")
    await family.run("root", "new@1", predecessor="first")
    assert await family.refs("root") == ["new@1", "old@1", "helper@1"]
    assert await family.refs("first") == ["old@1", "helper@1"]


@pytest.mark.case("C392")
async def test_an_unrelated_run_is_never_read(family: Family) -> None:
    await family.run("root", "a@1")
    unrelated = await family.run("unrelated")
    await unrelated.append("prompt_rendered", "[]")
    assert await family.refs("root") == ["a@1"]
    assert family.reads.read == ["root"]
    assert await family.corrupt("unrelated") == "record_payload"


async def test_paths_that_meet_are_fine_and_read_once(family: Family) -> None:
    root = await family.run("root")
    first = await family.child(root, "first", "a@1")
    await first.suspend("s", b"checkpoint")
    await family.child(root, "second", "b@1", predecessor="first")
    assert await family.refs("root") == ["a@1", "b@1"]
    assert family.reads.read == ["root", "first", "second"]


async def test_long_histories_are_read_in_pages(family: Family) -> None:
    root = await family.run("root", *(f"p@{number}" for number in range(501)))
    await family.child(root, "child", "last@1")
    assert (await family.refs("root"))[-2:] == ["p@500", "last@1"]
    assert family.reads.read == ["root", "root", "child"]


async def test_a_sessionless_run_has_refs_too(family: Family) -> None:
    async with family.store.run("single", "agent") as single:
        await single.append("prompt_rendered", {"PromptID": "a", "Version": "1"})
        async with single.child("single-child", "agent", call=ToolCall("t", "c")) as child:
            await child.append("prompt_rendered", {"PromptID": "b", "Version": "1"})
    assert await family.refs("single") == ["a@1", "b@1"]


async def test_a_run_is_named_and_known(family: Family) -> None:
    with pytest.raises(InvalidCommand) as refused:
        await family.refs("")
    assert refused.value.code == "run_id_required"
    with pytest.raises(RunNotFound):
        await family.refs("unknown")


async def test_a_stopped_run_has_no_refs(family: Family) -> None:
    first = await family.run("first", "a@1")
    await first.suspend("s", b"checkpoint")
    await family.store.end_session("session", NOW)
    stopped = family.store.run("root", "agent", session_id="session", predecessor_run_id="first")
    with pytest.raises(ContractError):
        await stopped.__aenter__()
    assert await family.refs("root") == []
    assert family.reads.read == ["root"]
    family.reads.edits["root"] = without("run_completed")
    assert await family.corrupt() == "stopped_records"
    family.reads.edits["root"] = changed("run_completed", payload=RunCompleted.canceled().encode())
    assert await family.corrupt() == "stopped_completion"


@pytest.mark.parametrize(
    ("edit", "code"),
    [
        (without("run_started"), "not_one_start"),
        (doubled("run_started"), "not_one_start"),
        (lambda records: records[::-1], "not_one_start"),
        (lambda records: [], "not_one_start"),
        (changed("run_started", payload=b"null"), "record_payload"),
        (changed("run_started", payload=RunStarted(parent_run_id="p").encode()), "start_parent"),
        (
            changed("run_started", payload=RunStarted(predecessor_run_id="root").encode()),
            "predecessor_is_self",
        ),
        (
            changed("run_started", payload=RunStarted(predecessor_run_id="gone").encode()),
            "predecessor_missing",
        ),
        (changed("prompt_rendered", run_id="other"), "record_owner"),
        (changed("prompt_rendered", agent_id="other"), "record_owner"),
        (changed("prompt_rendered", session_id="other"), "record_owner"),
        (changed("prompt_rendered", payload=b'{"PromptID":1}'), "record_payload"),
    ],
)
async def test_records_that_contradict_their_run_are_corruption(
    family: Family, edit: Edit, code: str
) -> None:
    await family.run("root", "a@1")
    family.reads.edits["root"] = edit
    assert await family.corrupt() == code


@pytest.mark.parametrize(
    ("meta", "code"),
    [
        ({"status": RunStatus.RUNNING}, "predecessor_not_suspended"),
        ({"session_id": "other"}, "predecessor_mismatch"),
        ({"agent_id": "other"}, "predecessor_mismatch"),
        ({"parent_run_id": "other"}, "predecessor_mismatch"),
    ],
)
async def test_a_predecessor_fits_its_successor(family: Family, meta: dict[str, Any], code: str) -> None:
    first = await family.run("first")
    await first.suspend("s", b"checkpoint")
    await family.run("root", predecessor="first")
    family.reads.metas["first"] = meta
    assert await family.corrupt() == code


@pytest.mark.parametrize("meta", [{"session_id": "o"}, {"agent_id": "o"}, {"parent_run_id": "o"}])
async def test_a_link_fits_its_child(family: Family, meta: dict[str, Any]) -> None:
    root = await family.run("root")
    await family.child(root, "child")
    family.reads.metas["child"] = meta
    assert await family.corrupt() == "child_mismatch"


async def test_a_linked_child_is_stored(family: Family) -> None:
    root = await family.run("root")
    await family.child(root, "child")
    link = ChildRunLinked(tool_name="t", tool_call_id="c", child_run_id="gone", child_agent_id="agent")
    family.reads.edits["root"] = changed("child_run_linked", payload=link.encode())
    assert await family.corrupt() == "child_missing"


async def test_a_circle_of_relations_is_corruption(family: Family) -> None:
    for run in ("first", "root"):
        await (await family.run(run)).suspend("s", b"checkpoint")
    for run, other in (("first", "root"), ("root", "first")):
        payload = RunStarted(predecessor_run_id=other).encode()
        family.reads.edits[run] = changed("run_started", payload=payload)
    assert await family.corrupt() == "relation_cycle"
