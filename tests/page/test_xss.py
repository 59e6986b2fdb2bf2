"""Hostile text in every field and every view: none of it runs, and a page without escaping is caught.

It goes the way of all text: appended to a real store, over the journal and the real gateway into the page.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Page, expect

from runlane.contract.activity import ActivityShare, window_start
from runlane.contract.delta import Delta
from runlane.contract.http_models import path_segment
from runlane.gateway.page import STATIC
from runlane.gateway.page import Page as Files
from tests.page.conftest import PATIENCE_MS, WATCH_POLICY, OpenTab
from tests.page.hostile import PAYLOADS, Fields, hostile_run
from tests.page.real import Real
from tests.page.telling import tell
from tests.page.world import Run, World

COUNT_HITS = "window.hit = () => { window.hits = (window.hits ?? 0) + 1 };"


@pytest.fixture(scope="module")
def hostile(real: Real) -> list[Run]:
    """Two runs that the store holds, with a payload in every field."""
    world, take = World(), Fields()
    runs = [hostile_run(world, take, index) for index in range(2)]
    assert take.used >= 2 * len(PAYLOADS)
    real.run(tell(real.store, world))
    for run in runs:
        real.publish(ActivityShare(run.agent, 0, window_start(datetime.now(UTC)), revision=1, starts=1))
    return runs


@pytest.fixture(scope="module")
def texts(real: Real) -> str:
    """The path of a run that says each payload."""
    world = World()
    run = world.run("run_texts", "texts", session=world.session("texts"))
    for text in PAYLOADS:
        run.add("assistant_message", {"Message": text, "Structured": None})
    run.add("run_completed", {"status": "success", "phase": "completed"})
    real.run(tell(real.store, world))
    return f"/runs/{run.id}"


def hits(page: Any) -> int:
    """How often a payload ran."""
    found: int = page.evaluate("window.hits ?? 0")
    return found


async def send(real: Real, run: Run, text: str) -> None:
    """Text that is being written."""
    session = run.session.id if run.session else ""
    real.store.send_delta(Delta(run.id, "", "assistant", text), session_id=session)


def walk_every_view(page: Any, real: Real, run: Run) -> None:
    """Show all rows, tabs, folds, drafts, tables and the list of one run."""
    for key in ("e", "g"):
        page.keyboard.press(key)
    for tab in ("o", "p", "r"):
        page.keyboard.press(tab)
        for _ in range(int(page.locator(".rows").get_attribute("aria-rowcount") or 0)):
            page.keyboard.press("j")
        page.keyboard.press("g")
    page.locator(".row:not([hidden])").first.hover()
    page.keyboard.press("c")
    expect(page.locator(".msg").first).to_be_visible()
    page.keyboard.press("e")
    real.run(send(real, run, PAYLOADS[0] + PAYLOADS[4]))
    expect(page.locator(".body.draft")).to_be_attached()
    page.keyboard.press("t")
    page.locator(".find input").fill("<img src=x onerror=window.hit(1)>")


def test_at_least_a_hundred_different_payloads_are_tried() -> None:
    assert len(set(PAYLOADS)) >= 100


def test_no_payload_runs_in_any_field_of_any_view(real: Real, hostile: list[Run], open_real: OpenTab) -> None:
    tab = open_real()
    tab.page.add_init_script(COUNT_HITS)
    for run in hostile:
        page = tab.open("/")
        expect(page.locator(".agents tbody tr")).to_have_count(len(hostile))
        page.locator(f".runrow a[href='/runs/{quote(run.id, safe='!*()~')}']").first.click()
        expect(page.locator("h1")).to_have_text(re.sub(r"\s+", " ", run.agent).strip())
        expect(page.locator(".conn")).to_have_text("Live")
        expect(page.locator(".row:not([hidden])", has_text="Cancel requested")).to_be_attached()
        walk_every_view(page, real, run)
        assert hits(page) == 0
    session = hostile[0].session
    assert session is not None
    for path in (
        f"/?session={quote(session.id)}&since=all",
        f"/?q={PAYLOADS[0]}&agent={PAYLOADS[4]}&status={PAYLOADS[30]}",
        f"/runs/{path_segment(PAYLOADS[3])}",
    ):
        page = tab.open(path)
        page.wait_for_timeout(300)
        assert hits(page) == 0
    assert tab.breaches() == []


def test_every_payload_is_shown_as_the_text_it_is(texts: str, open_real: OpenTab) -> None:
    page = open_real(texts).page
    expect(page.locator(".conn")).to_have_text(re.compile("Ended"))
    page.keyboard.press("g")
    shown = []
    for _ in PAYLOADS:
        page.keyboard.press("j")
        shown.append(page.locator(".panel p.text").text_content())
    assert shown == PAYLOADS


@pytest.fixture
def unsafe(tmp_path: Path) -> Files:
    """The page with its escaping removed: the words beside a row go into the document as markup."""
    copy = Path(shutil.copytree(STATIC, tmp_path / "static"))
    timeline = copy / "timeline.js"
    text = timeline.read_text()
    safe = '<span class="sum cut">${this.#sum(node)}</span>'
    assert text.count(safe) == 1
    timeline.write_text(text.replace(safe, '<span class="sum cut" .innerHTML=${this.#sum(node)}></span>'))
    return Files(copy)


@contextmanager
def visit(browser: Browser) -> Iterator[Page]:
    """A page whose faults are what a test looks for."""
    context = browser.new_context()
    context.add_init_script(COUNT_HITS + WATCH_POLICY)
    page = context.new_page()
    yield page
    context.close()


def test_a_page_without_escaping_is_caught_by_the_policy(
    real: Real, texts: str, unsafe: Files, browser: Browser
) -> None:
    errors: list[str] = []
    with real.serve(unsafe, policy=True) as server, visit(browser) as page:
        page.on("pageerror", lambda error: errors.extend([str(error)]))
        page.goto(server.url + texts)
        # The policy forbids `wait_for_function` too, as it evaluates a text.
        while not (breaches := page.evaluate("window.breaches ?? []")):
            page.wait_for_timeout(50)
        assert hits(page) == 0
    assert any("TrustedHTML" in error for error in errors)
    assert any(breach.startswith("require-trusted-types-for") for breach in breaches)


def test_the_same_page_without_a_policy_runs_the_payloads(
    real: Real, texts: str, unsafe: Files, browser: Browser
) -> None:
    """The control: the tests above count no hits because of the escaping, not for want of payloads."""
    with real.serve(unsafe, policy=False) as server, visit(browser) as page:
        page.goto(server.url + texts)
        page.wait_for_function("window.hits > 0", timeout=PATIENCE_MS)
