"""First rows, the way to the last record, and long tasks while scrolling, of a run of 10,000 records."""

from __future__ import annotations

import json
import shutil
import statistics
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from playwright.sync_api import Browser, Page, sync_playwright

from tests.page import scenes
from tests.page.real import Real
from tests.page.server import Server
from tests.page.telling import tell
from tests.page.world import World

RECORDS: Final = 10_000
ROUNDS: Final = 5
MOST_FIRST_ROWS_MS: Final = 500
MOST_END_MS: Final = 3_000
MOST_TASK_MS: Final = 50
MOST_ROWS: Final = 120
_ROW: Final = ".row:not([hidden])"
# The time origin is the start of the navigation; a row counts once a frame has shown it.
_WATCH_ROWS: Final = """
new MutationObserver((_, self) => {
  if (!document.querySelector('.row:not([hidden])')) return;
  self.disconnect();
  requestAnimationFrame(() => requestAnimationFrame(() => { window.firstRows = performance.now() }));
}).observe(document, { childList: true, subtree: true, attributes: true });
const note = (list) => (window.tasks ??= []).push(...list.getEntries().map((e) => [e.startTime, e.duration]));
new PerformanceObserver(note)
  .observe({ type: 'longtask', buffered: true });
"""
_END: Final = """
async () => {
  const from = performance.now();
  const selected = () => document.querySelector('.row[aria-selected=true]')?.textContent ?? '';
  while (!selected().includes('Run completed')) {
    document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'End', bubbles: true }));
    await new Promise(requestAnimationFrame);
  }
  return performance.now() - from;
}
"""
_SCROLL: Final = """
async () => {
  const rows = document.querySelector('.rows');
  const from = performance.now();
  const frames = [];
  rows.scrollTop = 0;
  for (let i = 0; i < 240; i += 1) {
    const before = performance.now();
    rows.scrollTop += i % 60 < 40 ? 180 : 6000;
    await new Promise(requestAnimationFrame);
    frames.push(performance.now() - before);
  }
  await new Promise((resolve) => setTimeout(resolve, 200));
  return [from, frames];
}
"""


@dataclass(frozen=True, slots=True)
class PageFigures:
    """Milliseconds and counts; each the worst of the rounds but for ``median``.

    ``scroll_task_cpu_ms`` is the processor time of the longest task while scrolling: on a busy machine, where
    a task waits for a processor, it tells what the page itself needs.
    """

    first_rows_ms: float
    first_rows_ms_median: float
    end_ms: float
    scroll_long_tasks: int
    scroll_task_cpu_ms: float
    scroll_frame_ms_p95: float
    rows_in_document: int

    @property
    def within_bounds(self) -> bool:
        """Whether the page keeps what it promises."""
        return (
            self.first_rows_ms <= MOST_FIRST_ROWS_MS
            and self.end_ms <= MOST_END_MS
            and self.scroll_long_tasks == 0
            and self.rows_in_document <= MOST_ROWS
        )


@dataclass(frozen=True, slots=True)
class _Round:
    first_rows: float
    end: float
    long_tasks: int
    task_cpu: float
    frames: list[float]
    rows: int


@dataclass(frozen=True, slots=True)
class Site:
    """Where the page is, and the path that signs a browser in, if it takes one."""

    url: str
    entrance: Callable[[], str] | None = None


def _round(browser: Browser, site: Site) -> _Round:
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    context.add_init_script(_WATCH_ROWS)
    if site.entrance is not None:
        context.request.get(site.url + site.entrance())
    page = context.new_page()
    page.goto(f"{site.url}/runs/run_long")
    # End is pressed as soon as there are rows, while the page still reads the rest.
    page.wait_for_selector(_ROW)
    end = float(page.evaluate(_END))
    page.keyboard.press("e")
    browser.start_tracing(page=page, categories=["toplevel", "__metadata"])
    start, frames = page.evaluate(_SCROLL)
    task_cpu = _longest_task_cpu(browser.stop_tracing())
    first = float(page.evaluate("window.firstRows"))
    found = _Round(first, end, _long_tasks(page, start), task_cpu, frames, page.locator(".row").count())
    context.close()
    return found


def _long_tasks(page: Page, start: float) -> int:
    tasks: list[list[float]] = page.evaluate("window.tasks ?? []")
    return sum(began >= start and took > MOST_TASK_MS for began, took in tasks)


def _longest_task_cpu(trace: bytes) -> float:
    """Return the longest task of a renderer's main thread, in milliseconds of processor time."""
    events: list[dict[str, Any]] = json.loads(trace)["traceEvents"]
    mains = {
        (event["pid"], event["tid"])
        for event in events
        if event["name"] == "thread_name" and event["args"]["name"] == "CrRendererMain"
    }
    spent = [
        event["tdur"]
        for event in events
        if event["name"].endswith("RunTask") and "tdur" in event and (event["pid"], event["tid"]) in mains
    ]
    return max(spent, default=0) / 1000


def measure(site: Site) -> PageFigures:
    """Return the figures of ``ROUNDS`` visits, each with an empty cache."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        rounds = [_round(browser, site) for _ in range(ROUNDS)]
        browser.close()
    frames = [frame for one in rounds for frame in one.frames]
    return PageFigures(
        first_rows_ms=round(max(one.first_rows for one in rounds), 1),
        first_rows_ms_median=round(statistics.median(one.first_rows for one in rounds), 1),
        end_ms=round(max(one.end for one in rounds), 1),
        scroll_long_tasks=max(one.long_tasks for one in rounds),
        scroll_task_cpu_ms=round(max(one.task_cpu for one in rounds), 1),
        scroll_frame_ms_p95=round(statistics.quantiles(frames, n=20)[-1], 1),
        rows_in_document=max(one.rows for one in rounds),
    )


def report() -> dict[str, dict[str, float] | bool]:
    """Return the figures over the real gateway and over a server in memory, with the verdict, for JSON."""
    world = World()
    scenes.long_run(world, RECORDS)
    with tempfile.TemporaryDirectory() as folder, Real(Path(folder)) as real:
        real.run(tell(real.store, world))
        gateway = measure(Site(real.url, real.entrance))
    server = Server(world)
    server.start()
    try:
        memory = measure(Site(server.url))
    finally:
        server.stop()
    good = gateway.within_bounds and memory.within_bounds
    return {"gateway": asdict(gateway), "memory": asdict(memory), "within_bounds": good}
