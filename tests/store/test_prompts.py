"""The views of prompts say what `prompt_refs` derives from the records."""

from __future__ import annotations

import json
import random
import re
from dataclasses import replace
from pathlib import Path

import pytest

from runlane.client import prompt_refs
from runlane.contract.commands import (
    AppendRunRecord,
    ClaimRun,
    Command,
    EndSession,
    StartChildRun,
    StartRootRun,
)
from runlane.contract.ids import run_lane, session_lane
from runlane.contract.payloads import RunStarted
from runlane.contract.values import RunStart
from runlane.store.async_reader import AsyncJournalReader
from tests.store.world import NOON, World, a_child, a_record, a_root, a_start, completed, suspended

PAGE = (Path(__file__).parents[2] / "docs" / "transcripts.md").read_text()
EXAMPLES = re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL)
SESSION = "chat"
LANE = session_lane(SESSION)


def rendered(run: RunStart, prompt: str, number: int) -> Command:
    name, _, version = prompt.partition("@")
    body = json.dumps({"PromptID": name, "Version": version}).encode()
    return AppendRunRecord(a_record(run, f"{run.run_id}/prompt-{number}", "prompt_rendered", body))


def a_continuation(run_id: str, predecessor: RunStart) -> StartRootRun:
    run = replace(
        a_start(run_id, SESSION), agent_id=predecessor.agent_id, predecessor_run_id=predecessor.run_id
    )
    root = a_root(run)
    payload = RunStarted(predecessor_run_id=predecessor.run_id, labels=dict(run.labels)).encode()
    assert root.started is not None
    return replace(root, started=replace(root.started, payload=payload))


def tell(world: World, *commands: Command) -> None:
    """Commit commands that must all be accepted; the run of a start is claimed first."""
    for command in commands:
        if isinstance(command, StartRootRun | StartChildRun):
            run_id = command.run.run_id
            world.commit(3, (run_lane(run_id), ClaimRun(run_id, LANE)))
    decided = world.decisions(0, *((LANE, command) for command in commands))
    assert [answer.code for answer, _ in decided] == [""] * len(commands)
    world.commit_decided(0, [(answer, decision.changes) for answer, decision in decided])


async def derived(world: World, run_id: str) -> list[tuple[str, str]]:
    reader = AsyncJournalReader(world.pool, threads=1)
    try:
        return [(ref.prompt_id, ref.version) for ref in await prompt_refs(reader, run_id)]
    finally:
        reader.close()


def viewed(world: World, run_id: str) -> list[tuple[str, str]]:
    rows = world.pool.query(f"SELECT prompt_id, version FROM v_prompt_refs(run = '{run_id}')")
    return [(prompt, version) for prompt, version in rows]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
async def test_the_view_finds_what_the_records_say_in_the_same_order(world: World, seed: int) -> None:
    choose = random.Random(seed)
    world.session(0, SESSION)
    running: list[RunStart] = []
    tell_started: dict[str, RunStart] = {}
    for number in range(9):
        waiting = [run for run in tell_started.values() if run not in running and not run.parent_run_id]
        kind = choose.choice(["root", "child", "child", "child", "continuation"])
        if kind == "child" and running:
            parent = choose.choice(running)
            run = a_start(f"run-{number}", SESSION, parent.run_id)
            tell(world, a_child(parent, run))
        elif kind == "continuation" and waiting:
            before = choose.choice(waiting)
            command = a_continuation(f"run-{number}", before)
            tell(world, command)
            run = command.run
        else:
            run = a_start(f"run-{number}", SESSION)
            tell(world, a_root(run))
        running.append(run)
        tell_started[run.run_id] = run
        for prompt in range(choose.randrange(4)):
            name = f"p{choose.randrange(6)}@{choose.randrange(2)}"
            tell(world, rendered(run, name, prompt))
        if choose.random() < 0.3:
            ending = running.pop(choose.randrange(len(running)))
            tell(world, suspended(ending, b"checkpoint"))
    for run_id in tell_started:
        assert viewed(world, run_id) == await derived(world, run_id), run_id
    assert viewed(world, "unknown") == []


async def test_the_examples_of_the_page(world: World) -> None:
    """The runs of the page's Python example: r2 and its child r3."""
    world.session(0, SESSION)
    parent, child = a_start("r2", SESSION), a_start("r3", SESSION, "r2")
    tell(world, a_root(parent), rendered(parent, "plan@3", 1), a_child(parent, child))
    tell(world, rendered(child, "search@1", 1), rendered(child, "plan@3", 2), completed(child))
    assert viewed(world, "r2") == [("plan", "3"), ("search", "1")] == await derived(world, "r2")
    assert len(EXAMPLES) == 2
    for sql in EXAMPLES:
        assert world.pool.query(sql), sql


async def test_a_run_that_was_stopped_at_its_start_has_no_prompts(world: World) -> None:
    world.session(0, SESSION)
    before = a_start("before", SESSION)
    tell(world, a_root(before), rendered(before, "p@1", 1), suspended(before, b"checkpoint"))
    tell(world, EndSession(SESSION, NOON), a_continuation("stopped", before))
    assert viewed(world, "before") == [("p", "1")] == await derived(world, "before")
    assert viewed(world, "stopped") == [] == await derived(world, "stopped")
