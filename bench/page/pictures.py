"""``python -m bench.page.pictures DIR``: take the pictures of the page that the docs show."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Literal

from playwright.sync_api import Browser, Page, sync_playwright

from tests.page import scenes
from tests.page.server import Server
from tests.page.world import Run, World

ColorScheme = Literal["light", "dark"]
WIDE: Final = (1440, 900)
NARROW: Final = (390, 844)
DRAFT: Final = (
    "Interim summary for the incident channel. Since 13:48 UTC checkout in production answers slowly: p99 is "
    "2.9 s, normal is 410 ms.\n\nThe likely cause is build 4472, which lowered the database pool from 40 to "
    "8 connections per pod. A rollback to build 4471 is planned and waits for approval. Until then I have"
)
RUN: Final = "/runs/run_01KP7QW6RCJ5HD"
PICTURES: Final[Sequence[tuple[str, str, ColorScheme, tuple[int, int], str]]] = (
    ("runs-light", "/", "light", WIDE, "j j"),
    ("runs-dark", "/", "dark", WIDE, "j j"),
    ("run-light", RUN, "light", WIDE, "g x"),
    ("run-dark", RUN, "dark", WIDE, "g x"),
    ("run-narrow", RUN, "light", NARROW, "g x"),
    ("conversation-light", f"{RUN}?view=conversation", "light", WIDE, ""),
    ("long-run-light", "/runs/run_long?record=6012", "light", WIDE, ""),
    ("agents-light", "/agents", "light", WIDE, ""),
    ("keys-light", "/", "light", WIDE, "?"),
)
"""Name, address, theme, size, and the keys that are pressed before."""


def _settle(page: Page, world: World, root: Run) -> None:
    page.wait_for_selector(".conn:has-text('Live'), .conn:has-text('Ended')", timeout=30_000)
    world.delta(root, DRAFT)
    page.wait_for_timeout(700)


def take(folder: Path) -> None:
    """Write every picture to ``folder``."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name, path, scheme, size, keys in PICTURES:
            _one(browser, folder / f"{name}.png", path, scheme=scheme, size=size, keys=keys)
        browser.close()


def _one(
    browser: Browser, target: Path, path: str, *, scheme: ColorScheme, size: tuple[int, int], keys: str
) -> None:
    world = World()
    scenes.crowd(world)
    root = scenes.incident(world)
    scenes.long_run(world)
    scenes.activity(world)
    server = Server(world)
    server.start()
    context = browser.new_context(viewport={"width": size[0], "height": size[1]}, color_scheme=scheme)
    page = context.new_page()
    page.goto(server.url + path)
    _settle(page, world, root)
    for key in keys.split():
        page.keyboard.press(key)
    page.wait_for_timeout(300)
    page.screenshot(path=target)
    context.close()
    server.stop()


if __name__ == "__main__":
    take(Path(sys.argv[1]))
