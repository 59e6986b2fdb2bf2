"""A world, the server that serves it, and tabs of a real Chromium that tell every breach of the policy."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.page.real import Real
from tests.page.server import Server
from tests.page.world import World

CHROMIUM = shutil.which("chromium")
PATIENCE_MS = 60_000
expect.set_options(PATIENCE_MS)
WATCH_POLICY = """
addEventListener('securitypolicyviolation', (e) =>
  (window.breaches ??= []).push(`${e.violatedDirective} ${e.blockedURI} ${e.sourceFile}:${e.lineNumber}`));
"""


@dataclass
class Tab:
    """One page, with what went wrong in it."""

    page: Page
    url: str
    faults: list[str] = field(default_factory=list)

    def open(self, path: str) -> Page:
        """Go to an address of the page."""
        self.page.goto(self.url + path)
        return self.page

    def breaches(self) -> list[str]:
        """Breaches of the content security policy so far."""
        found: list[str] = self.page.evaluate("window.breaches ?? []")
        return found


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that drive a browser are slow ones."""
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker("slow")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Debian's Chromium; closed after each module, as it holds an event loop of its own."""
    if CHROMIUM is None:
        pytest.skip("chromium is not installed")
    with sync_playwright() as playwright:
        # A scroll is over at once, not some frames later.
        flags = ["--no-sandbox", "--disable-smooth-scrolling"]
        running = playwright.chromium.launch(executable_path=CHROMIUM, args=flags)
        yield running
        running.close()


@pytest.fixture
def world() -> World:
    """An empty world."""
    return World()


@pytest.fixture
def server(world: World) -> Iterator[Server]:
    """The world's server."""
    serving = Server(world)
    serving.start()
    yield serving
    serving.stop()


OpenTab = Callable[..., Tab]


@contextmanager
def tabs(browser: Browser, url: str, entrance: Callable[[], str] | None = None) -> Generator[OpenTab]:
    """Lend what opens a tab; a script error or a breach of the policy in one is a failure at the end."""
    contexts: list[BrowserContext] = []
    opened: list[Tab] = []

    def new(path: str = "", **options: Any) -> Tab:
        context = browser.new_context(**({"viewport": {"width": 1440, "height": 900}} | options))
        context.set_default_timeout(PATIENCE_MS)
        context.add_init_script(WATCH_POLICY)
        page = context.new_page()
        tab = Tab(page, url)
        page.on("pageerror", lambda error: tab.faults.append(f"{error} {error.stack}"))
        contexts.append(context)
        opened.append(tab)
        if entrance is not None:
            context.request.get(url + entrance())
        if path:
            tab.open(path)
        return tab

    yield new
    faults = [fault for tab in opened for fault in tab.faults + tab.breaches()]
    for context in contexts:
        context.close()
    assert faults == []


@pytest.fixture
def open_tab(browser: Browser, server: Server) -> Iterator[OpenTab]:
    """Open a tab on the world's server."""
    with tabs(browser, server.url) as new:
        yield new


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Real]:
    """A whole stack with a gateway to cut off."""
    with Real(tmp_path_factory.mktemp("stack")) as running:
        yield running


@pytest.fixture
def open_real(browser: Browser, real: Real) -> Iterator[OpenTab]:
    """Open a tab on the real gateway, signed in."""
    with tabs(browser, real.url, real.entrance) as new:
        yield new
