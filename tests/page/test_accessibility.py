"""axe finds nothing, light and dark; grids have one tab stop; all is reached without a mouse.

List, inspector, sheet and a run of 10,000 records are judged on the real gateway: `test_real_gateway.py`.
"""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.page import scenes
from tests.page.axe import SCHEMES, violations
from tests.page.conftest import OpenTab
from tests.page.world import World


def settle(page: Any) -> None:
    """Wait until the page is connected."""
    expect(page.locator(".conn")).to_have_text(re.compile("Live|Ended"))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_runs_list_with_agents_and_newer_runs(world: World, open_tab: OpenTab, scheme: str) -> None:
    scenes.incident(world)
    scenes.crowd(world, 40)
    scenes.activity(world)
    page = open_tab("/", color_scheme=scheme).page
    settle(page)
    expect(page.locator("#said")).to_contain_text("shown")
    page.keyboard.press("j")
    world.run("run_newer", "newer")
    expect(page.locator(".newer")).to_be_visible()
    expect(page.locator(".agents")).to_be_visible()
    assert violations(page) == []


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_conversation(world: World, open_tab: OpenTab, scheme: str) -> None:
    root = scenes.incident(world)
    page = open_tab(f"/runs/{root.id}?view=conversation", color_scheme=scheme).page
    settle(page)
    world.delta(root, "Interim summary")
    expect(page.locator(".draft")).to_be_visible()
    page.keyboard.press("e")
    page.keyboard.press("j")
    assert violations(page) == []


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("/?session=inc-2291", ".runrow"),
        ("/?q=no+such+thing", ".empty:has-text('Nothing matches')"),
        ("/runs/run_unknown", ".empty:has-text('There is no such run')"),
        ("/runs/run_01KP7QW6RCJ5HD", ".row"),
    ],
)
def test_tables_empty_states_and_a_narrow_screen(
    world: World, open_tab: OpenTab, scheme: str, path: str, shown: str
) -> None:
    scenes.incident(world)
    scenes.activity(world)
    page = open_tab(path, color_scheme=scheme, viewport={"width": 390, "height": 844}).page
    expect(page.locator(shown).first).to_be_visible()
    page.wait_for_timeout(600)
    assert violations(page) == []


def test_list_and_tree_are_one_tab_stop_each(world: World, open_tab: OpenTab) -> None:
    root = scenes.incident(world)
    page = open_tab(f"/runs/{root.id}").page
    settle(page)
    assert page.locator(".rows :is(a, button):not([tabindex='-1'])").count() == 0
    expect(page.locator(".rows")).to_have_attribute("tabindex", "0")
    page.keyboard.press("g")
    page.keyboard.press("j")
    expect(page.locator(".rows")).to_be_focused()
    described = page.locator(".rows").get_attribute("aria-activedescendant")
    expect(page.locator(f"#{described}")).to_have_attribute("aria-selected", "true")


def test_a_reader_without_a_mouse_reaches_record_and_back(world: World, open_tab: OpenTab) -> None:
    root = scenes.incident(world)
    page = open_tab(f"/runs/{root.id}").page
    settle(page)
    page.keyboard.press("g")
    page.keyboard.press("Enter")
    expect(page.locator(".panel")).to_be_focused()
    page.keyboard.press("Shift+Tab")
    expect(page.get_by_role("tab", name="Overview")).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tab", name="Payload")).to_be_focused()
    expect(page.get_by_role("tab", name="Payload")).to_have_attribute("aria-selected", "true")
