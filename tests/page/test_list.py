"""The runs list: live without moving, filtered by its address, readable when empty or cut off."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from playwright.sync_api import expect

from runlane.contract.values import SessionStatus
from tests.page import scenes
from tests.page.conftest import OpenTab
from tests.page.server import Server
from tests.page.world import World


def settle(page: Any) -> None:
    """Wait for the stream and for the search: what that tells late is shown, not counted as newer."""
    expect(page.locator(".conn")).to_have_text("Live")
    expect(page.locator("#said")).to_contain_text("shown")


def ids(page: Any) -> list[str]:
    """The run ids in the rows, from top to bottom."""
    found: list[tuple[int, str]] = page.eval_on_selector_all(
        ".runrow:not([hidden])",
        "rows => rows.map(row => [Number(row.dataset.at), row.querySelector('.c-id .mono').title])",
    )
    return [run for _, run in sorted(found)]


def test_a_row_tells_status_agent_session_duration_tokens_and_last_activity(
    world: World, open_tab: OpenTab
) -> None:
    scenes.incident(world)
    page = open_tab("/").page
    row = page.locator(".runrow", has_text="incident-triage")
    expect(row).to_contain_text("Running")
    for text in ("inc-2291", "60,300", "52", "Nothing changes until the rollback"):
        expect(row).to_contain_text(text)
    expect(row.locator("[class*=running]").last).to_have_text(re.compile(r"[45]m \d\ds"))


def test_a_new_run_waits_above_until_it_is_asked_for(world: World, open_tab: OpenTab) -> None:
    scenes.crowd(world, 12)
    page = open_tab("/").page
    settle(page)
    before = ids(page)
    world.run("run_fresh_1", "late-agent")
    world.run("run_fresh_2", "late-agent")
    expect(page.locator(".newer")).to_have_text("Show 2 newer")
    assert ids(page) == before
    page.keyboard.press("n")
    expect(page.locator(".newer")).to_be_hidden()
    assert ids(page) == ["run_fresh_2", "run_fresh_1", *before]


def test_the_first_run_shows_up_by_itself(world: World, open_tab: OpenTab) -> None:
    page = open_tab("/").page
    expect(page.locator(".empty")).to_contain_text("No run yet")
    world.run("run_first", "first-agent")
    expect(page.locator(".runrow", has_text="first-agent")).to_be_visible()


def test_a_row_changes_in_place_when_its_run_ends(world: World, open_tab: OpenTab) -> None:
    scenes.crowd(world, 8)
    run = world.runs["run_01KP7Q001A0MV1T"]
    page = open_tab("/").page
    settle(page)
    row = page.locator(".runrow", has=page.locator(f"[title='{run.id}']"))
    expect(row).to_contain_text("Running")
    order = ids(page)
    run.add(
        "run_completed",
        {
            "status": "failed",
            "phase": "failed",
            "failure": {"message": "gave up", "kind": "internal", "retryable": True},
        },
    )
    expect(row).to_contain_text("Failed")
    expect(row).to_contain_text("internal: gave up")
    assert ids(page) == order


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("?status=failed", {"contract-diff"}),
        ("?status=failed&status=suspended", {"contract-diff", "access-review", "change-executor"}),
        ("?agent=log-digest", {"log-digest"}),
        ("?session=tkt-88403", {"access-review", "research-brief"}),
        ("?q=ledger.look", {"invoice-matching"}),
        ("?q=env%3Dproduction", {"incident-triage"}),
        ("?since=1h&agent=incident-triage", {"incident-triage"}),
    ],
)
def test_filters_come_from_the_address_and_survive_reload_and_live_changes(
    world: World, open_tab: OpenTab, query: str, wanted: set[str]
) -> None:
    scenes.incident(world)
    scenes.crowd(world, 8)
    page = open_tab("/" + query).page

    def agents() -> set[str]:
        return set(page.locator(".runrow:not([hidden]) .c-agent a").all_inner_texts())

    for number in range(2):
        settle(page)
        assert agents() == wanted
        world.run(f"run_other_{number}", f"unrelated-{number}")
        expect(page.locator(f"option[value=unrelated-{number}]")).to_have_count(1)
        assert agents() == wanted
        assert query in page.url
        page.reload()


def test_controls_write_the_address(world: World, open_tab: OpenTab) -> None:
    scenes.crowd(world, 30)
    page = open_tab("/").page
    page.locator(".chips button", has_text="Failed").click()
    expect(page).to_have_url(re.compile(r"\?status=failed$"))
    page.get_by_label("Agent").select_option("contract-diff")
    page.keyboard.press("/")
    page.keyboard.type("pdf")
    expect(page).to_have_url(re.compile(r"\?status=failed&q=pdf&agent=contract-diff$"))
    expect(page.locator(".runrow:not([hidden])")).to_have_count(1)
    page.get_by_label("Search runs").fill("no such thing")
    expect(page.locator(".empty")).to_contain_text("Nothing matches")
    page.get_by_role("button", name="Clear filters").click()
    expect(page).to_have_url(re.compile(r"/\?since=all$"))
    expect(page.locator(".runrow:not([hidden])")).to_have_count(30)


def test_keys_move_and_open_and_back_returns_to_the_filtered_list(world: World, open_tab: OpenTab) -> None:
    scenes.crowd(world, 20)
    page = open_tab("/?agent=support-reply").page
    settle(page)
    page.keyboard.press("j")
    page.keyboard.press("j")
    selected = page.locator(".runrow[aria-selected=true]")
    expect(selected).to_have_attribute("aria-rowindex", "2")
    expect(page.locator(".list[role=grid]")).to_have_attribute("aria-activedescendant", "row-1")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/runs/run_01KP7Q008A0MV8T"))
    expect(page.locator("h1")).to_have_text("support-reply")
    page.keyboard.press("]")
    expect(page).to_have_url(re.compile("/runs/run_01KP7Q016A0MV6T"))
    page.keyboard.press("Escape")
    expect(page).to_have_url(re.compile(r"/\?agent=support-reply$"))


def test_a_thousand_runs_stay_on_few_elements_and_are_read_in_pages(world: World, open_tab: OpenTab) -> None:
    scenes.crowd(world, 1000)
    page = open_tab("/?since=all").page
    settle(page)
    page.keyboard.press("g")
    for _ in range(8):
        page.keyboard.press("G")
        page.wait_for_timeout(100)
    expect(page.locator(".runrow[aria-selected=true]")).to_have_attribute("aria-rowindex", "1000")
    assert page.locator(".runrow").count() <= 120


def test_when_the_gateway_is_gone_the_screen_stays_and_says_so(
    world: World, server: Server, open_tab: OpenTab
) -> None:
    scenes.crowd(world, 5)
    page = open_tab("/").page
    settle(page)
    server.stop()
    expect(page.locator(".conn")).to_have_text(re.compile(r"Reconnecting, try \d+ in \d+ s"))
    running = page.locator(".runrow .running").last
    text = running.inner_text()
    page.wait_for_timeout(2200)
    assert running.inner_text() == text
    assert len(ids(page)) == 5
    world.run("run_meanwhile", "meanwhile")
    server.start()
    expect(page.locator(".conn")).to_have_text("Live")
    expect(page.locator(".newer")).to_have_text("Show 1 newer")


def test_the_last_minutes_of_each_agent_are_summed_up_live(world: World, open_tab: OpenTab) -> None:
    scenes.activity(world)
    page = open_tab("/").page
    row = page.locator(".agents tr", has_text="invoice-matching")
    expect(row.locator("td")).to_have_text(["1", "45", "23", "2", "192k", "112", "1.8 s"])
    newest = [window for window in world.activity if window["agent_id"] == "invoice-matching"][-1]
    world.activity.append(newest | {"running": 41, "failures": newest["failures"] + 7})
    expect(row.locator("td.running")).to_have_text("41")
    expect(row.locator("td.failed")).to_have_text("9")
    old = newest | {"agent_id": "asleep", "window_start": "2026-01-01T00:00:00Z"}
    world.activity.append(old)
    expect(page.locator(".agents tbody tr")).to_have_count(3)


def test_without_a_feed_no_agents_are_shown(world: World, open_tab: OpenTab) -> None:
    scenes.crowd(world, 6)
    tab = open_tab()
    page = tab.page
    with page.expect_response("**/v1/activity?minutes=1"):
        tab.open("/")
    expect(page.locator(".runrow").first).to_be_visible()
    page.wait_for_timeout(2500)
    expect(page.locator(".agents")).to_have_count(0)
    assert world.requests.count("GET /v1/activity/stream") == 1


def test_a_session_is_its_runs_in_lane_order_with_its_state(world: World, open_tab: OpenTab) -> None:
    session = world.session("tkt-1")
    for n in range(3):
        scenes.Script(world.run(f"run_{n}", f"agent-{n}", session=session)).say(n, "done")
    page = open_tab("/").page
    page.locator(".runrow").get_by_role("link", name="tkt-1").first.click()
    expect(page).to_have_url(re.compile(r"/\?session=tkt-1&since=all"))
    head = page.locator(".listhead")
    expect(head).to_contain_text("Session tkt-1")
    expect(head).to_contain_text("active, 3, in lane order")
    assert ids(page) == ["run_0", "run_1", "run_2"]
    world.run("run_3", "agent-3", session=session)
    expect(page.locator(".newer")).to_be_visible()
    page.keyboard.press("n")
    expect(page.locator(".runrow:not([hidden])")).to_have_count(4)
    assert ids(page) == ["run_0", "run_1", "run_2", "run_3"]
    session.status = SessionStatus.ENDED
    expect(head).to_contain_text("ended, 4, in lane order")


def test_what_is_told_together_with_a_purge_or_read_late_brings_nothing_back(
    world: World, open_tab: OpenTab
) -> None:
    session = world.session("doomed")
    run = world.run("run_doomed", "doomed-agent", session=session)
    page = open_tab("/").page
    row = page.locator(".runrow", has=page.locator("[title='run_doomed']"))
    expect(row).to_contain_text("doomed-agent")
    settle(page)
    body = json.dumps({"runs": [run.body()], "next_cursor": ""})
    scenes.Script(run).say(1, "private words")
    world.purge(session)
    expect(row.locator(".c-st")).to_have_text("purged")
    page.route("**/v1/runs?*", lambda route: route.fulfill(body=body, content_type="application/json"))
    page.locator(".chips button", has_text="Completed").click()
    page.locator(".chips button", has_text="Completed").click()
    page.wait_for_timeout(300)
    expect(page.locator("main")).not_to_contain_text("private words")
    expect(page.locator("main")).not_to_contain_text("doomed-agent")


def test_a_purge_while_the_stream_was_cut_leaves_no_words_either(
    world: World, server: Server, open_tab: OpenTab
) -> None:
    session = world.session("doomed")
    run = world.run("run_doomed", "doomed-agent", session=session)
    scenes.Script(run).say(1, "private words")
    world.run("run_kept", "kept-agent", session=world.session("kept"))
    page = open_tab("/").page
    row = page.locator(".runrow", has=page.locator("[title='run_doomed']"))
    expect(row).to_contain_text("private words")
    server.stop()
    expect(page.locator(".conn")).to_have_text(re.compile("Reconnecting"))
    world.purge(session)
    server.start()
    expect(row.locator(".c-st")).to_have_text("purged")
    expect(page.locator("main")).not_to_contain_text("private words")
    expect(page.locator("main")).to_contain_text("kept-agent")


def test_a_purge_leaves_rows_without_what_they_said(world: World, open_tab: OpenTab) -> None:
    session = world.session("doomed")
    run = world.run("run_doomed", "doomed-agent", session=session, labels={"who": "someone"})
    scenes.Script(run).say(1, "private words")
    world.run("run_kept", "kept-agent", session=world.session("kept"))
    page = open_tab("/").page
    row = page.locator(".runrow", has=page.locator("[title='run_doomed']"))
    expect(row).to_contain_text("private words")
    settle(page)
    before = ids(page)
    world.purge(session)
    expect(row.locator(".c-st")).to_have_text("purged")
    assert ids(page) == before
    expect(page.locator("main")).not_to_contain_text("private words")
    expect(page.locator("main")).not_to_contain_text("doomed-agent")
    page.locator(".chips button", has_text="Running").click()
    assert ids(page) == ["run_kept"]
