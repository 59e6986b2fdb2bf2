"""A run that is watched live, and the faults of a server that only a scripted one has.

Cuts in the middle of a run are made on the real gateway: `test_real_gateway.py`.
"""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.page import scenes
from tests.page.conftest import OpenTab
from tests.page.script import Script
from tests.page.server import Server
from tests.page.world import Run, World

RUN = "/runs/run_live"


def records(page: Any) -> list[dict[str, Any]]:
    """What the page holds, as it downloads it."""
    with page.expect_download() as waiting:
        page.keyboard.press("d")
    return [json.loads(line) for line in Path(waiting.value.path()).read_text().splitlines()]


def work(run: Run, many: int, pause: float = 0.0) -> None:
    """Append some tool calls."""
    script = Script(run)
    for _ in range(many):
        at = (time.time() - run.started_at.timestamp()) if run.started_at else 0
        script.call(at, at + 0.01, "step.do", f"step {len(run.records)}")
        time.sleep(pause)


def labels(page: Any) -> list[str]:
    """Names of the rows from top to bottom."""
    rows = page.eval_on_selector_all(
        ".row:not([hidden])",
        "rows => rows.map(r => [Number(r.dataset.at), r.querySelector('.lbl').textContent])",
    )
    return [label for _, label in sorted(rows)]


@pytest.fixture
def run(world: World) -> Run:
    """A run in a session of its own."""
    return world.run("run_live", "live-agent", session=world.session("live"))


def test_records_appear_as_they_are_committed(run: Run, open_tab: OpenTab) -> None:
    page = open_tab(RUN).page
    expect(page.locator(".conn")).to_have_text("Live")
    script = Script(run)
    call = script.call(1, None, "search.web")
    row = page.locator(".row.tool")
    expect(row).to_contain_text("search.web")
    expect(row).to_have_class(re.compile("now"))
    script.result(2, call, "search.web", "7 hits", seconds=1)
    expect(row).to_contain_text("7 hits")
    expect(row).not_to_have_class(re.compile("now"))
    run.add("run_completed", {"status": "success", "phase": "completed"})
    expect(page.locator(".title .st")).to_have_text("Completed")
    expect(page.locator(".conn")).to_have_text(re.compile(r"Ended \d\d:\d\d:\d\d"))
    expect(page.locator(".follow")).to_be_hidden()


def test_timers_stop_while_the_truth_is_unknown(run: Run, server: Server, open_tab: OpenTab) -> None:
    page = open_tab(RUN).page
    expect(page.locator(".conn")).to_have_text("Live")
    server.stop()
    expect(page.locator(".conn")).to_have_text(re.compile("Reconnecting"))
    before = page.locator(".timer").inner_text()
    page.wait_for_timeout(2500)
    assert page.locator(".timer").inner_text() == before
    server.start()
    expect(page.locator(".conn")).to_have_text("Live")
    expect(page.locator(".timer")).not_to_have_text(before)


@pytest.mark.parametrize("fault", ["rewind", "skip", "lag"])
def test_a_careless_server_shows_no_hole_and_no_double(
    world: World, run: Run, open_tab: OpenTab, fault: str
) -> None:
    page = open_tab(RUN).page
    expect(page.locator(".conn")).to_have_text("Live")
    if fault == "rewind":
        world.rewind = 7
    if fault == "skip":
        world.skipped = {4, 9, 10, 23}
    for _ in range(3):
        work(run, 6, 0.01)
        if fault != "skip":
            world.lagged += 1
    expect(page.locator("dd", has_text=re.compile(f"^{len(run.records)}$"))).to_be_visible()
    assert records(page) == run.records


def test_catching_up_counts_down_to_live(world: World, run: Run, server: Server, open_tab: OpenTab) -> None:
    page = open_tab(RUN).page
    expect(page.locator(".conn")).to_have_text("Live")
    server.stop()
    expect(page.locator(".conn")).to_have_text(re.compile("Reconnecting"))
    work(run, 30)
    world.lag = 1.0
    server.start()
    expect(page.locator(".conn")).to_have_text(re.compile(r"Catching up, \d+ left"))
    world.lag = 0.0
    expect(page.locator(".conn")).to_have_text("Live")
    assert records(page) == run.records


def test_text_being_written_is_marked_until_its_record_is_stored(
    world: World, run: Run, open_tab: OpenTab
) -> None:
    page = open_tab(RUN).page
    expect(page.locator(".conn")).to_have_text("Live")
    world.delta(run, "The cause ")
    world.delta(run, "is known")
    draft = page.locator(".row.draft")
    expect(draft).to_contain_text("The cause is known")
    expect(draft.locator("rect.b-draft")).to_have_count(1)
    page.keyboard.press("c")
    expect(page.locator(".body.draft")).to_contain_text("being written, not stored yet")
    Script(run).say(3, "The cause is known")
    expect(page.locator(".body.draft")).to_have_count(0)
    expect(page.locator(".msg .text")).to_have_text("The cause is known")


def test_the_output_of_a_running_call_shows_in_its_row(world: World, run: Run, open_tab: OpenTab) -> None:
    script = Script(run)
    call = script.call(1, None, "shell.run")
    page = open_tab(RUN).page
    expect(page.locator(".conn")).to_have_text("Live")
    world.delta(run, "compiling 3 of 9", call=call, stream="stdout")
    expect(page.locator(".row.tool")).to_contain_text("compiling 3 of 9")
    script.result(2, call, "shell.run", "built")
    expect(page.locator(".row.tool")).to_contain_text("built")


def test_scrolling_up_pauses_and_only_a_count_grows(run: Run, open_tab: OpenTab) -> None:
    work(run, 60)
    page = open_tab(RUN).page
    follow = page.locator(".follow")
    expect(follow).to_have_text("Following")
    work(run, 2)
    expect(page.locator(".row", has_text=f"step {len(run.records) - 2}")).to_be_visible()
    page.locator(".rows").hover()
    page.mouse.wheel(0, -600)
    expect(follow).to_have_text("Paused")
    top, before = page.eval_on_selector(".rows", "e => e.scrollTop"), labels(page)
    work(run, 5)
    expect(follow).to_have_text("Paused, 10 new")
    assert page.eval_on_selector(".rows", "e => e.scrollTop") == top
    assert labels(page) == before
    page.keyboard.press(".")
    expect(follow).to_have_text("Following")
    expect(page.locator(".row", has_text=f"step {len(run.records) - 2}")).to_be_visible()


def test_selection_open_rows_and_window_stay_while_records_come(world: World, open_tab: OpenTab) -> None:
    root = scenes.incident(world)
    page = open_tab(f"/runs/{root.id}").page
    expect(page.locator(".conn")).to_have_text("Live")
    expect(page.locator(".facts")).to_contain_text(scenes.CHILDREN)
    page.keyboard.press("g")
    page.keyboard.press("x")
    page.keyboard.press("+")
    turn = page.locator(".row.turn", has_text="Turn 2")
    turn.locator("button").click()
    window = page.locator(".brush").get_attribute("x")
    selected = page.locator(".row[aria-selected=true]").get_attribute("aria-rowindex")
    before = labels(page)
    work(root, 5)
    expect(page.locator(".follow")).to_have_text("Paused, 10 new")
    assert page.locator(".row[aria-selected=true]").get_attribute("aria-rowindex") == selected
    assert page.locator(".brush").get_attribute("x") == window
    expect(turn).to_have_attribute("aria-expanded", "false")
    assert labels(page)[: len(before)] == before


def test_a_child_run_shows_inline_as_it_happens(world: World, run: Run, open_tab: OpenTab) -> None:
    page = open_tab(RUN).page
    expect(page.locator(".conn")).to_have_text("Live")
    script = Script(run)
    call = script.call(1, None, "agents.helper")
    child = world.run("run_child", "helper", session=run.session, parent=run.id)
    run.add(
        "child_run_linked",
        {"ToolName": "agents.helper", "ToolCallID": call, "ChildRunID": child.id, "ChildAgentID": "helper"},
    )
    row = page.locator(".row.child")
    expect(row).to_contain_text("helper")
    Script(child).call(0.1, 0.2, "inner.look", "found")
    inner = page.locator(".row", has_text="inner.look")
    expect(inner).to_have_attribute("aria-level", "2")
    child.add("run_completed", {"status": "success", "phase": "completed"})
    expect(row.locator("svg.completed")).to_be_visible()
    streams = [request for request in world.requests if request.endswith("/stream")]
    assert streams == ["GET /v1/sessions/live/stream"]


def test_without_a_session_run_and_child_have_a_stream_each(world: World, open_tab: OpenTab) -> None:
    run = world.run("run_alone", "one-shot")
    child = world.run("run_alone_child", "helper", parent=run.id)
    run.add(
        "child_run_linked",
        {"ToolName": "t", "ToolCallID": "c", "ChildRunID": child.id, "ChildAgentID": "helper"},
    )
    page = open_tab("/runs/run_alone").page
    expect(page.locator(".conn")).to_have_text("Live")
    Script(child).call(0.1, 0.2, "inner.look", "found")
    expect(page.locator(".row", has_text="inner.look")).to_be_visible()
    child.add("run_completed", {"status": "success", "phase": "completed"})
    run.add("run_completed", {"status": "success", "phase": "completed"})
    expect(page.locator(".conn")).to_have_text(re.compile("Ended"))


def test_a_purge_ends_the_stream_and_says_so(world: World, run: Run, open_tab: OpenTab) -> None:
    page = open_tab(RUN).page
    expect(page.locator(".conn")).to_have_text("Live")
    assert run.session is not None
    world.purge(run.session)
    expect(page.locator(".conn")).to_have_text("Purged")
    expect(page.locator(".empty")).to_contain_text("purged")


def test_an_unknown_run_says_no_more_than_a_hidden_one(open_tab: OpenTab) -> None:
    page = open_tab("/runs/run_nowhere").page
    expect(page.locator(".empty")).to_contain_text("There is no such run")


def test_with_tokens_each_stream_takes_a_ticket_of_its_own(
    world: World, run: Run, server: Server, open_tab: OpenTab
) -> None:
    world.token = "viewer-secret"
    page = open_tab(RUN).page
    expect(page.locator("#signin")).to_be_visible()
    page.get_by_label("Access token").fill("viewer-secret")
    page.keyboard.press("Enter")
    expect(page.locator(".conn")).to_have_text("Live")
    server.stop()
    expect(page.locator(".conn")).to_have_text(re.compile("Reconnecting"))
    server.start()
    expect(page.locator(".conn")).to_have_text("Live")
    assert world.requests.count("POST /v1/tickets") >= 2
    assert "viewer-secret" not in page.url
    page.reload()
    expect(page.locator(".conn")).to_have_text("Live")


def test_open_access_asks_for_no_ticket(world: World, run: Run, open_tab: OpenTab) -> None:
    page = open_tab(RUN).page
    expect(page.locator(".conn")).to_have_text("Live")
    assert "POST /v1/tickets" not in world.requests


def test_a_hidden_status_line_tells_what_changed(run: Run, open_tab: OpenTab) -> None:
    work(run, 3)
    page = open_tab(RUN).page
    status = page.locator("#said")
    expect(status).to_have_attribute("role", "status")
    expect(status).to_have_text("Running, 7 records")
    page.keyboard.press("]")
    expect(status).to_contain_text("last run of the list")
