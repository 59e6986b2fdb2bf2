"""A run of 10,000 records on a bounded number of elements. How fast it is, `bench/page` measures."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.page import scenes
from tests.page.conftest import OpenTab
from tests.page.script import Script, says, text
from tests.page.world import World

MOST_ROWS = 120


@pytest.fixture
def page(world: World, open_tab: OpenTab) -> Any:
    """The long run, read to its end."""
    scenes.long_run(world)
    page = open_tab("/runs/run_long").page
    expect(page.locator(".conn")).to_have_text(re.compile("Ended"))
    return page


def test_old_turns_start_closed_and_keep_their_bars(page: Any) -> None:
    turns = page.locator(".row.turn:not([hidden])")
    expect(turns.first).to_have_attribute("aria-expanded", "false")
    assert turns.nth(3).locator("rect.b-tool").count() > 0
    assert page.locator(".strip path").count() <= 8


def test_a_link_leads_to_a_record_deep_inside(page: Any, open_tab: OpenTab) -> None:
    other = open_tab("/runs/run_long?record=7777").page
    expect(other.locator(".row[aria-selected=true]")).to_be_in_viewport()
    expect(other.locator(".insp")).to_contain_text("7,777")


def test_a_link_leads_to_a_record_that_needs_more_room_than_there_was(
    world: World, open_tab: OpenTab
) -> None:
    # Its turn, the last but one, is closed until the link opens it: before, the rows end above the record.
    scenes.long_run(world, 2_003, id_="run_linked")
    page = open_tab("/runs/run_linked?record=2000").page
    expect(page.locator(".insp")).to_contain_text("2,000")
    expect(page.locator(".row[aria-selected=true]")).to_be_in_viewport()


def test_a_link_leads_to_one_of_many_calls_in_a_turn_that_was_closed(world: World, open_tab: OpenTab) -> None:
    run = world.run("run_grouped", "worker", session=world.session("grouped"))
    script = Script(run)
    for n in range(400):
        script.turn = f"t{n // 4}"
        script.call(n, n + 0.5, "docs.fetch", f"page {n}")
    page = open_tab("/runs/run_grouped?record=24").page
    expect(page.locator(".row[aria-selected=true]")).to_contain_text("page 11")
    expect(page.locator(".row[aria-selected=true]")).to_be_in_viewport()
    expect(page.locator(".insp")).to_contain_text("page 11")


def test_the_conversation_holds_a_window_of_messages(world: World, open_tab: OpenTab) -> None:
    run = world.run("run_chatty", "talker", session=world.session("chat"))
    script = Script(run)
    for n in range(900):
        script.turn = f"t{n}"
        script.put(
            n,
            "transcript_messages_appended",
            [
                text("user", says(f"question {n}")),
                text("assistant", says(f"answer {n}")),
            ],
        )
    script.turn = ""
    script.put(900, "run_completed", {"status": "success", "phase": "completed"})
    page = open_tab("/runs/run_chatty?view=conversation").page
    expect(page.locator(".conn")).to_have_text(re.compile("Ended"))
    page.keyboard.press("G")
    expect(page.locator(".msg", has_text="answer 899")).to_be_attached()
    assert page.locator(".msg").count() <= MOST_ROWS
    page.keyboard.press("g")
    expect(page.locator(".msg", has_text=re.compile("question 0$"))).to_be_in_viewport()
    assert page.locator(".msg").count() <= MOST_ROWS
    assert page.locator(".toc button").count() <= MOST_ROWS
    for _ in range(12):
        page.get_by_role("button", name=re.compile("later$")).click()
    expect(page.locator(".msg", has_text=re.compile("answer 180$"))).to_be_attached()
    assert page.locator(".msg").count() <= MOST_ROWS
