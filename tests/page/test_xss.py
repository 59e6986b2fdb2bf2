"""Hostile text in every field and every view: none of it runs, and a page without escaping is caught."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from runlane.gateway.page import STATIC, Page
from tests.page.conftest import WATCH_POLICY, OpenTab
from tests.page.hostile import PAYLOADS, Fields, hostile_run, payload
from tests.page.server import Server
from tests.page.world import Run, World


def hits(page: Any) -> int:
    """How often a payload ran."""
    found: int = page.evaluate("window.hits ?? 0")
    return found


COUNT_HITS = "window.hit = () => { window.hits = (window.hits ?? 0) + 1 };"


def walk_every_view(page: Any, url: str, run: Run) -> None:
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
    run.world.delta(run, payload(0) + payload(4))
    expect(page.locator(".body.draft")).to_be_attached()
    page.keyboard.press("t")
    page.locator(".find input").fill("<img src=x onerror=window.hit(1)>")


def test_at_least_a_hundred_different_payloads_are_tried() -> None:
    assert len(set(PAYLOADS)) >= 100


def test_no_payload_runs_in_any_field_of_any_view(world: World, server: Server, open_tab: OpenTab) -> None:
    take = Fields()
    runs = [hostile_run(world, take, index) for index in range(2)]
    assert take.used >= 2 * len(PAYLOADS) * 0.9
    tab = open_tab()
    tab.page.add_init_script(COUNT_HITS)
    for index, run in enumerate(runs):
        page = tab.open("/")
        expect(page.locator(".runrow").nth(index)).to_be_visible()
        page.locator(".runrow", has=page.locator(f".c-id [title={json.dumps(run.id)}]")).locator(
            "a"
        ).first.click()
        expect(page.locator("h1")).to_have_text(re.sub(r"\s+", " ", run.agent).strip())
        expect(page.locator(".conn")).to_have_text("Live")
        walk_every_view(page, server.url, run)
        assert hits(page) == 0
    for path in (
        f"/?q={PAYLOADS[0]}&agent={PAYLOADS[4]}&status={PAYLOADS[30]}",
        f"/runs/{PAYLOADS[3]}".replace("/", "%2F").replace("%2Fruns%2F", "/runs/"),
    ):
        page = tab.open(path)
        page.wait_for_timeout(300)
        assert hits(page) == 0
    assert tab.breaches() == []


def test_every_payload_is_shown_as_the_text_it_is(world: World, open_tab: OpenTab) -> None:
    run = world.run("run_texts", "texts", session=world.session("texts"))
    for text in PAYLOADS:
        run.add("assistant_message", {"Message": text, "Structured": None})
    run.add("run_completed", {"status": "success", "phase": "completed"})
    page = open_tab("/runs/run_texts").page
    expect(page.locator(".conn")).to_have_text(re.compile("Ended"))
    page.keyboard.press("g")
    shown = []
    for _ in PAYLOADS:
        page.keyboard.press("j")
        shown.append(page.locator(".panel p.text").text_content())
    assert shown == PAYLOADS


@pytest.fixture
def unsafe(tmp_path: Path) -> Page:
    """The page with its escaping removed: the words beside a row go into the document as markup."""
    copy = Path(shutil.copytree(STATIC, tmp_path / "static"))
    timeline = copy / "timeline.js"
    text = timeline.read_text()
    safe = '<span class="sum cut">${this.#sum(node)}</span>'
    assert text.count(safe) == 1
    timeline.write_text(text.replace(safe, '<span class="sum cut" .innerHTML=${this.#sum(node)}></span>'))
    return Page(copy)


def test_a_page_without_escaping_is_caught_by_the_policy(world: World, unsafe: Page, browser: Any) -> None:
    run = world.run("run_control", "control")
    for text in PAYLOADS:
        run.add("assistant_message", {"Message": text, "Structured": None})
    server = Server(world, unsafe)
    server.start()
    context = browser.new_context()
    context.add_init_script(COUNT_HITS + WATCH_POLICY)
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(f"{server.url}/runs/run_control")
    page.wait_for_timeout(1500)
    breaches = page.evaluate("window.breaches ?? []")
    context.close()
    server.stop()
    assert any("TrustedHTML" in error for error in errors)
    assert any(breach.startswith("require-trusted-types-for") for breach in breaches)


def test_the_same_page_without_a_policy_runs_the_payloads(world: World, unsafe: Page, browser: Any) -> None:
    """The control: the tests above count no hits because of the escaping, not for want of payloads."""
    run = world.run("run_control", "control")
    for text in PAYLOADS:
        run.add("assistant_message", {"Message": text, "Structured": None})
    server = Server(world, unsafe, policy="")
    server.start()
    context = browser.new_context()
    context.add_init_script(COUNT_HITS)
    page = context.new_page()
    page.goto(f"{server.url}/runs/run_control")
    page.wait_for_function("window.hits > 0", timeout=10_000)
    context.close()
    server.stop()
