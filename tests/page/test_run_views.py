"""One run read in three ways: timeline, conversation, inspector; and how its view is addressed."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.page import scenes
from tests.page.conftest import OpenTab
from tests.page.script import Script
from tests.page.world import Run, World

SHEET = "j k g G Enter Esc / f n ← → e w x a u o p r t c 0 + - [ ] . y d ?"
BIG = "123456789012345678901234567890.5000"


@pytest.fixture
def root(world: World) -> Run:
    """The incident."""
    return scenes.incident(world)


@pytest.fixture
def page(root: Run, open_tab: OpenTab) -> Any:
    """The incident's page, paused at its top."""
    page = open_tab(f"/runs/{root.id}", permissions=["clipboard-read", "clipboard-write"]).page
    expect(page.locator(".conn")).to_have_text("Live")
    expect(page.locator(".facts")).to_contain_text(scenes.CHILDREN)
    page.keyboard.press("g")
    return page


def test_the_header_tells_status_timer_and_facts(page: Any) -> None:
    expect(page.locator(".title .st")).to_contain_text("Running planning")
    expect(page.locator(".timer")).to_have_text(re.compile(r"[45]m \d\ds"))
    facts = page.locator(".facts")
    for text in (
        "inc-2291",
        f"60,300 {scenes.CHILDREN}",
        "14, 1 failed",
        "2, 1 waiting",
        "env=production team=payments",
    ):
        expect(facts).to_contain_text(text)


def test_turns_calls_waits_and_children_are_rows_with_bars(page: Any) -> None:
    tools = page.locator(".row.tool.err", has_text="logs.search")
    expect(tools.locator("rect.b-err")).to_have_count(1)
    expect(tools).to_contain_text("timeout 30.1 s")
    child = page.locator(".row.child", has_text="incident-research")
    expect(child).to_have_attribute("aria-level", "2")
    expect(child.get_by_role("link")).to_have_attribute("href", "/runs/run_01KP7QW7P4XN8T")
    group = page.locator(".row.group", has_text="docs.fetch")
    expect(group).to_contain_text("4 calls")
    page.keyboard.press("a")
    wait = page.locator(".row.wait", has_text="Roll back checkout-api to build 4471?")
    expect(wait.locator("rect.b-wait")).to_have_attribute("fill", "url(#hatch)")
    expect(wait).to_contain_text("waiting for an answer")


def test_search_and_kinds_narrow_the_rows_keep_ancestors_and_live_in_the_address(page: Any) -> None:
    page.keyboard.press("/")
    page.keyboard.type("postmortem 118")
    expect(page.locator(".row:not([hidden]) .lbl")).to_have_text(
        ["Turn 3", "incident-research", "docs.fetch"]
    )
    expect(page).to_have_url(re.compile("find=postmortem"))
    page.locator(".find input").fill("")
    page.get_by_role("button", name=re.compile("^Errors")).click()
    expect(page.locator(".row:not([hidden]) .lbl")).to_have_text(["Turn 1", "logs.search"])
    page.reload()
    expect(page.locator(".row:not([hidden]) .lbl")).to_have_text(["Turn 1", "logs.search"])


def test_rows_open_and_close_by_hand_by_key_and_all_at_once(page: Any) -> None:
    shown = page.locator(".rows")
    page.keyboard.press("w")
    expect(shown).to_have_attribute("aria-rowcount", "7")
    page.keyboard.press("e")
    expect(shown).not_to_have_attribute("aria-rowcount", "7")
    for key in ("g", "j", "j", "ArrowLeft"):
        page.keyboard.press(key)
    turn = page.locator(".row.turn", has_text="Turn 1")
    expect(turn).to_have_attribute("aria-expanded", "false")
    assert turn.locator("rect.b-tool, rect.b-err").count() == 3
    page.keyboard.press("ArrowRight")
    expect(turn).to_have_attribute("aria-expanded", "true")


def test_dragging_the_overview_zooms_and_0_resets(page: Any) -> None:
    bar = page.locator(".row.tool.err rect.b-err")
    before = float(bar.get_attribute("width").rstrip("%"))
    box = page.locator(".strip").bounding_box()
    page.mouse.move(box["x"] + 2, box["y"] + 20)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.25, box["y"] + 20, steps=4)
    page.mouse.up()
    after = float(bar.get_attribute("width").rstrip("%"))
    assert 3.3 < after / before < 4.7
    page.mouse.move(box["x"] + box["width"] * 0.25, box["y"] + 20)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 20, steps=4)
    page.mouse.up()
    assert 1.7 < float(bar.get_attribute("width").rstrip("%")) / before < 2.3
    page.keyboard.press("0")
    assert float(bar.get_attribute("width").rstrip("%")) == before
    page.keyboard.press("+")
    assert float(page.locator(".brush").get_attribute("width").rstrip("%")) < 60


def test_hours_of_waiting_are_folded_into_a_marked_break(world: World, open_tab: OpenTab) -> None:
    run = world.run("run_idle", "patient", started_at=scenes.now() - scenes.timedelta(hours=5))
    script = Script(run)
    script.call(0, 40, "first.step", "ok")
    script.call(4 * 3600, 4 * 3600 + 40, "last.step", "ok")
    script.put(4 * 3600 + 41, "run_completed", {"status": "success", "phase": "completed"})
    page = open_tab("/runs/run_idle").page
    expect(page.locator(".folded")).to_have_count(1)
    expect(page.locator(".map")).to_contain_text("3h 59m")
    width = float(
        page.locator(".row", has_text="first.step").locator("rect.b-tool").get_attribute("width").rstrip("%")
    )
    assert width > 30


def test_the_inspector_follows_the_row_and_shows_overview_payload_and_raw(page: Any, root: Run) -> None:
    page.keyboard.press("x")
    inspector = page.locator(".insp")
    expect(inspector.locator("h2")).to_contain_text("logs.search")
    expect(inspector).to_contain_text("no answer in 30 s, retryable")
    expect(inspector).to_contain_text("+0:04.300")
    expect(inspector).to_contain_text("30.100 s")
    expect(inspector.locator("pre").first).to_contain_text('"query": "service:checkout-api level:error"')
    page.keyboard.press("p")
    expect(inspector.get_by_role("tab", selected=True)).to_have_text("Payload")
    expect(inspector.locator("pre")).to_have_count(2)
    page.keyboard.press("r")
    assert inspector.locator("pre").all_inner_texts() == [
        json.dumps(r, ensure_ascii=False, separators=(",", ":")) for r in root.records[10:12]
    ]


def test_payload_is_laid_out_with_every_number_as_it_was_written(world: World, root: Run, page: Any) -> None:
    text = f'{{"a":{{}},"n":{BIG},"list":[1,2.0,"x\\u0041"],"e":[]}}'
    root.add("custom_type", text)
    expect(page.locator(".facts")).to_contain_text("Records53")
    page.keyboard.press("G")
    page.keyboard.press("p")
    pre = page.locator(".insp pre")
    expect(pre).to_have_text(
        f'{{\n  "a": {{}},\n  "n": {BIG},\n  "list": [\n    1,\n    2.0,\n    "x\\u0041"\n  ],\n  "e": []\n}}'
    )
    page.locator(".insp .btn", has_text="Copy").click()
    expect(page.locator("#said")).to_have_text("payload copied")
    assert page.evaluate("navigator.clipboard.readText()") == text
    with page.expect_download() as waiting:
        page.locator(".insp .btn", has_text="Download").click()
    assert Path(waiting.value.path()).read_text() == text


def test_of_a_large_payload_the_first_256_kb_are_shown(root: Run, page: Any) -> None:
    root.add("huge", json.dumps({"text": "x" * 400_000}))
    expect(page.locator(".facts")).to_contain_text("Records53")
    page.keyboard.press("G")
    page.keyboard.press("r")
    expect(page.locator(".insp")).to_contain_text("256 kB of 391 kB shown")
    assert len(page.locator(".insp pre").inner_text()) == 256 * 1024


def test_all_records_download_in_replay_order(root: Run, page: Any) -> None:
    with page.expect_download() as waiting:
        page.keyboard.press("d")
    assert waiting.value.suggested_filename == f"{root.id}.jsonl"
    assert [json.loads(line) for line in Path(waiting.value.path()).read_text().splitlines()] == root.records


def test_a_link_to_one_record_opens_it(page: Any, root: Run, open_tab: OpenTab) -> None:
    page.keyboard.press("x")
    expect(page).to_have_url(re.compile(r"\?record=11$"))
    page.keyboard.press("y")
    expect(page.locator("#said")).to_have_text("link copied")
    link = page.evaluate("navigator.clipboard.readText()")
    other = open_tab(link.removeprefix(page.url.split("/runs")[0])).page
    expect(other.locator(".row[aria-selected=true] .lbl")).to_have_text("logs.search")
    expect(other.locator(".follow")).to_have_text("Paused")
    expect(other.locator(".insp h2")).to_contain_text("logs.search")


def test_the_conversation_is_that_of_the_transcript(page: Any) -> None:
    page.keyboard.press("c")
    expect(page).to_have_url(re.compile("view=conversation"))
    messages = page.locator(".msg")
    expect(messages.nth(0)).to_contain_text("3 earlier messages")
    expect(messages.nth(1)).to_contain_text("Production only. Find the cause")
    agent = messages.nth(2)
    expect(agent).to_contain_text("3 tool calls")
    expect(agent.locator(".call.failed")).to_contain_text("no answer in 30 s")
    expect(agent).to_contain_text("p99 rose from 410 ms to 2.9 s at 13:48")
    expect(page.locator(".ask")).to_contain_text("Roll back checkout-api to build 4471?")
    expect(page.locator(".toc button")).to_have_count(5)
    page.locator(".toc button", has_text="propose a rollback").click()
    expect(page.locator(".msg[aria-current=true] .who")).to_contain_text("turn 4")
    page.keyboard.press("t")
    expect(page.locator(".rows")).to_be_visible()


def test_times_switch_between_utc_and_local_and_stay_so(root: Run, open_tab: OpenTab) -> None:
    page = open_tab(f"/runs/{root.id}", timezone_id="Asia/Tokyo").page
    started = page.locator(".facts time")
    utc = f"{root.started_at:%H:%M:%S}"
    expect(started).to_have_text(re.compile(utc))
    page.locator(".chip", has_text="UTC").click()
    local = f"{root.started_at + scenes.timedelta(hours=9):%H:%M:%S}"
    expect(started).to_have_text(re.compile(local))
    page.reload()
    expect(started).to_have_text(re.compile(local))


def test_the_theme_follows_the_system_and_can_be_switched(root: Run, open_tab: OpenTab) -> None:
    page = open_tab(f"/runs/{root.id}", color_scheme="dark").page
    surface = "getComputedStyle(document.querySelector('.top')).backgroundColor"
    assert page.evaluate(surface) == "rgb(21, 24, 27)"
    page.get_by_role("button", name="Switch light and dark").click()
    assert page.evaluate(surface) == "rgb(255, 255, 255)"
    page.reload()
    assert page.evaluate(surface) == "rgb(255, 255, 255)"


@pytest.mark.parametrize(("motion", "animation"), [("reduce", "none"), ("no-preference", "blink")])
def test_the_caret_stands_still_where_motion_is_unwanted(
    world: World, root: Run, open_tab: OpenTab, motion: str, animation: str
) -> None:
    page = open_tab(f"/runs/{root.id}?view=conversation", reduced_motion=motion).page
    expect(page.locator(".conn")).to_have_text("Live")
    world.delta(root, "Interim")
    expect(page.locator(".caret")).to_be_attached()
    assert page.evaluate("getComputedStyle(document.querySelector('.caret')).animationName") == animation


def test_on_a_narrow_screen_the_record_lies_over_the_page(root: Run, open_tab: OpenTab) -> None:
    page = open_tab(f"/runs/{root.id}", viewport={"width": 390, "height": 844}).page
    expect(page.locator(".conn")).to_have_text("Live")
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    page.keyboard.press("g")
    page.keyboard.press("x")
    expect(page.locator(".insp h2")).to_contain_text("logs.search")
    expect(page.locator(".panel")).to_be_hidden()
    page.get_by_role("button", name="Open the record").click()
    expect(page.locator(".panel")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".panel")).to_be_hidden()


def test_a_suspended_run_names_the_one_that_continues_it(world: World, open_tab: OpenTab) -> None:
    session = world.session("talk")
    first = world.run("run_first", "asker", session=session)
    first.add(
        "run_suspended", {"SuspensionID": "s", "Version": "v7", "PendingCount": 1, "RequiredTools": None}
    )
    world.run("run_second", "asker", session=session, predecessor="run_first")
    page = open_tab("/runs/run_first").page
    link = page.locator(".facts a", has_text="run_second")
    link.click()
    expect(page.locator(".facts a", has_text="run_first")).to_be_visible()
    expect(page.locator(".row").first).to_contain_text("continues run_first")


def test_a_key_leads_to_the_parent_run(root: Run, open_tab: OpenTab) -> None:
    page = open_tab("/runs/run_01KP7QW7P4XN8T").page
    expect(page.locator("h1")).to_have_text("incident-research")
    page.keyboard.press("u")
    expect(page.locator("h1")).to_have_text("incident-triage")


def test_the_sheet_lists_every_key_and_closes(page: Any) -> None:
    page.keyboard.press("?")
    sheet = page.locator("#sheet")
    expect(sheet).to_be_visible()
    assert sheet.locator("kbd").all_inner_texts() == SHEET.split(" ")
    page.keyboard.press("Escape")
    expect(sheet).to_be_hidden()
