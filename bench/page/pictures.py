"""``python -m bench.page.pictures DIR``: take the docs' pictures of the page, on a real gateway."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Literal

from playwright.sync_api import Browser, sync_playwright

from runlane.contract.activity import ActivityFold
from runlane.contract.delta import Delta
from tests.page import scenes
from tests.page.real import Real
from tests.page.telling import tell
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
    ("session-light", "/?session=inc-2291&since=all", "light", WIDE, ""),
    ("run-light", RUN, "light", WIDE, "g x"),
    ("run-dark", RUN, "dark", WIDE, "g x"),
    ("run-narrow", RUN, "light", NARROW, "g x"),
    ("inspector-light", RUN, "light", WIDE, "g x p"),
    ("conversation-light", f"{RUN}?view=conversation", "light", WIDE, ""),
    ("long-run-light", "/runs/run_long?record=6012", "light", WIDE, ""),
    ("keys-light", "/", "light", WIDE, "?"),
)
"""Name, address, theme, size, and the keys that are pressed before."""


def take(folder: Path) -> None:
    """Write every picture to ``folder``."""
    world = World()
    scenes.crowd(world, every=5)
    root = scenes.incident(world)
    scenes.long_run(world)
    with tempfile.TemporaryDirectory() as data, Real(Path(data)) as real, sync_playwright() as playwright:
        real.run(tell(real.store, world))
        _count(real, world)
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name, path, scheme, size, keys in PICTURES:
            _one(browser, real, root, folder / f"{name}.png", path, scheme=scheme, size=size, keys=keys)
        browser.close()


def _count(real: Real, world: World) -> None:
    """Tell of the agents what a feed makes of these records."""
    fold = ActivityFold(0)
    records = [record for run_id in world.runs for record in real.records(run_id)]
    for record in sorted(records, key=lambda one: one.committed_at):
        fold.take(record)
    for share in fold.news():
        real.publish(share)


def _one(
    browser: Browser,
    real: Real,
    root: Run,
    target: Path,
    path: str,
    *,
    scheme: ColorScheme,
    size: tuple[int, int],
    keys: str,
) -> None:
    context = browser.new_context(viewport={"width": size[0], "height": size[1]}, color_scheme=scheme)
    context.request.get(real.url + real.entrance())
    page = context.new_page()
    page.goto(real.url + path)
    page.wait_for_selector(".conn:has-text('Live'), .conn:has-text('Ended')", timeout=30_000)
    real.run(_write(real, root))
    page.wait_for_timeout(700)
    for key in keys.split():
        page.keyboard.press(key)
    page.wait_for_timeout(300)
    page.screenshot(path=target)
    context.close()


async def _write(real: Real, run: Run) -> None:
    real.store.send_delta(Delta(run.id, "", "assistant", DRAFT), session_id="inc-2291")


if __name__ == "__main__":
    take(Path(sys.argv[1]))
