"""The page on the real gateway: from a worker's append over journal and stream into the document."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Response, expect

from runlane.client import RunStore
from runlane.contract.activity import ActivityShare, window_start
from runlane.contract.http_models import RecordBody
from runlane.gateway.page import CONTENT_SECURITY_POLICY
from tests.page import scenes
from tests.page.axe import SCHEMES, violations
from tests.page.conftest import OpenTab
from tests.page.real import Real
from tests.page.telling import tell
from tests.page.world import World

MOST_ROWS = 120
COLLECT_ROWS = """
async () => {
  const rows = document.querySelector('.rows');
  const seen = new Map();
  rows.scrollTop = 0;
  for (;;) {
    await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
    for (const row of rows.querySelectorAll('.row:not([hidden])')) {
      const texts = ['.lbl', '.sum'].map((part) => row.querySelector(part).textContent);
      seen.set(Number(row.dataset.at), texts.join(' '));
    }
    if (rows.scrollTop + rows.clientHeight >= rows.scrollHeight - 1) break;
    rows.scrollTop += rows.clientHeight / 2;
  }
  return [...seen].sort((a, b) => a[0] - b[0]).map(([, text]) => text);
}
"""


@pytest.fixture(scope="module")
def told(real: Real) -> Real:
    """The stack with runs of every kind, one of 10,000 records among them."""
    world = World()
    scenes.incident(world)
    scenes.crowd(world, 40)
    scenes.long_run(world)
    real.run(tell(real.store, world))
    return real


def settle(page: Any) -> None:
    """Wait until the page is connected and has all there is."""
    expect(page.locator(".conn")).to_have_text(re.compile("Live|Ended"))


async def work(store: RunStore, run_id: str, begun: threading.Event, enough: threading.Event) -> None:
    """A run that appends a record after the other until it is enough."""
    await store.create_session("cut", datetime.now(UTC).replace(microsecond=0))
    async with store.run(run_id, "live-agent", session_id="cut") as run:
        begun.set()
        n = 0
        while not enough.is_set():
            await run.append("step", {"n": n})
            await asyncio.sleep(0.02)
            n += 1


def test_cuts_in_the_middle_of_a_live_run_lose_and_double_nothing(real: Real, open_real: OpenTab) -> None:
    enough = threading.Event()
    begun = threading.Event()
    working = real.begin(work(real.store, "run_cut", begun, enough))
    assert begun.wait(60)
    page = open_real("/runs/run_cut").page
    badge = page.locator(".conn")
    expect(badge).to_have_text("Live")
    expect(page.locator(".row", has_text="n=5").first).to_be_visible()
    for cut, mend in ((real.relay.cut, real.relay.mend), (real.stop_gateway, real.start_gateway)):
        cut()
        expect(badge).to_have_text(re.compile("Reconnecting, try"))
        mend()
        expect(badge).to_have_text("Live")
    enough.set()
    working.result(60)
    expect(badge).to_have_text(re.compile("Ended"))

    stored = real.records("run_cut")
    rows = ["Run started ", *(f"step n={n}" for n in range(len(stored) - 2)), "Run completed "]
    assert [record.type for record in stored[1:-1]] == ["step"] * (len(stored) - 2)
    assert page.evaluate(COLLECT_ROWS) == rows
    with page.expect_download() as waiting:
        page.keyboard.press("d")
    downloaded = [json.loads(line) for line in Path(waiting.value.path()).read_text().splitlines()]
    assert downloaded == [RecordBody.of(record).model_dump(mode="json") for record in stored]


def test_10_000_records_are_all_reached_on_few_rows(told: Real, open_real: OpenTab) -> None:
    page = open_real("/runs/run_long").page
    settle(page)
    rows = page.locator(".row")
    page.keyboard.press("e")
    for place in (0.25, 0.5, 0.75):
        page.eval_on_selector(".rows", "(e, at) => e.scrollTop = e.scrollHeight * at", place)
        page.wait_for_timeout(100)
        assert rows.count() <= MOST_ROWS
    page.keyboard.press("End")
    expect(page.locator(".row[aria-selected=true]")).to_contain_text("Run completed")
    expect(page.locator(".insp")).to_contain_text("record 10,000")
    assert rows.count() <= MOST_ROWS
    assert len(told.records("run_long")) == 10_000


@pytest.mark.parametrize("scheme", SCHEMES)
def test_axe_finds_nothing_on_list_sheet_inspector_and_10_000_records(
    told: Real, open_real: OpenTab, scheme: str
) -> None:
    page = open_real("/", color_scheme=scheme).page
    settle(page)
    page.keyboard.press("j")
    assert violations(page) == []
    page.keyboard.press("?")
    expect(page.locator("#sheet")).to_be_visible()
    assert violations(page) == []
    page.goto(f"{told.url}/runs/run_01KP7QW6RCJ5HD")
    settle(page)
    for key in ("g", "x", "o"):
        page.keyboard.press(key)
    expect(page.locator(".insp h2")).to_contain_text("logs.search")
    for tab in ("o", "p", "r"):
        page.keyboard.press(tab)
        assert violations(page) == []
    page.goto(f"{told.url}/runs/run_long")
    settle(page)
    page.keyboard.press("e")
    page.keyboard.press("End")
    expect(page.locator(".row[aria-selected=true]")).to_contain_text("Run completed")
    assert violations(page) == []


def test_the_list_tells_the_real_runs_and_follows_a_purge(told: Real, open_real: OpenTab) -> None:
    world = World()
    session = world.session("doomed")
    run = world.run("run_doomed", "doomed-agent", session=session)
    scenes.Script(run).say(1, "private words")
    run.add("run_completed", {"status": "success", "phase": "completed"})
    told.run(tell(told.store, world))
    page = open_real("/").page
    settle(page)
    triage = page.locator(".runrow", has_text="incident-triage")
    for text in ("Running", "inc-2291", "60,300", "52"):
        expect(triage).to_contain_text(text)
    row = page.locator(".runrow", has=page.locator("[title='run_doomed']"))
    expect(row).to_contain_text("private words")
    other = open_real("/?session=doomed&since=all").page
    head = other.locator(".listhead")
    expect(head).to_contain_text("active, 1, in lane order")
    told.run(told.store.end_session("doomed", datetime.now(UTC).replace(microsecond=0)))
    expect(head).to_contain_text("ended, 1, in lane order")
    told.run(told.store.purge_session("doomed"))
    for one in (page, other):
        expect(one.locator(".runrow", has=one.locator("[title='run_doomed']"))).to_contain_text("purged")
        expect(one.locator("main")).not_to_contain_text("private words")
    other.reload()
    expect(other.locator(".empty")).to_contain_text("This session was purged")


def test_what_a_feed_tells_of_agents_stands_above_the_runs(real: Real, open_real: OpenTab) -> None:
    now = window_start(datetime.now(UTC))
    share = ActivityShare("busy-agent", 0, now, revision=1, starts=2, running=2, tokens=700, tool_calls=1)
    real.publish(share)
    page = open_real("/").page
    settle(page)
    row = page.locator(".agents tr", has_text="busy-agent")
    expect(row.locator("td")).to_have_text(["2", "2", "0", "0", "700", "1", ""])
    real.publish(replace(share, revision=2, running=1, failures=1))
    expect(row.locator("td")).to_have_text(["1", "2", "0", "1", "700", "1", ""])
    real.publish(replace(share, partition=1, running=4))
    expect(row.locator("td")).to_have_text(["5", "4", "0", "1", "1.4k", "2", ""])


def test_the_page_comes_with_the_headers_that_it_is_tested_with(real: Real, open_real: OpenTab) -> None:
    tab = open_real()
    answers: dict[str, Response] = {}
    tab.page.on("response", lambda answer: answers.update({answer.url: answer}))
    tab.open("/")
    settle(tab.page)
    document = answers[f"{real.url}/"].headers
    assert document["content-security-policy"] == CONTENT_SECURITY_POLICY
    for answer in answers.values():
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        cached = "immutable" if "/static/" in answer.url else "no-"
        assert cached in answer.headers["cache-control"]
