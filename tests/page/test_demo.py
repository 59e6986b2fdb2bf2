"""`runlane up --demo`, as a newcomer meets it: the printed link opens a page on which runs go on."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import Browser, expect

from tests.page.conftest import tabs
from tests.service.commands import Process


def test_the_link_shows_a_run_while_it_goes_on(tmp_path: Path, browser: Browser) -> None:
    with Process("up", "--demo", "--data", str(tmp_path), "--port", "0") as stack:
        stack.wait_for("demo: session")
        link = re.search(r"http://\S+/enter\?ticket=\S+", stack.output)
        assert link is not None
        place = urlsplit(link[0])
        with tabs(browser, f"{place.scheme}://{place.netloc}") as new:
            page = new(f"{place.path}?{place.query}").page
            expect(page.locator(".conn")).to_have_text("Live")
            run = page.locator(".runrow", has_text="researcher").first
            expect(run).to_be_visible()
            run.get_by_role("link", name="researcher").click()
            expect(page.locator(".lbl", has_text="Run started")).to_be_visible()
            expect(page.locator(".row.tool", has_text="search")).to_be_visible()
            expect(page.locator(".row.child", has_text="summariser")).to_be_visible()
            page.reload()
            expect(page.locator(".lbl", has_text="Run started")).to_be_visible()
            page.keyboard.press("Escape")
            # The feed starts beside the stack and counts what was committed before.
            expect(page.locator(".agents tr", has_text="researcher")).to_be_visible()
