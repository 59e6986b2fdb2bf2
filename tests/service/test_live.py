"""Streams on the embedded parts: a worker, a follower and a browser's request beside a running `up`."""

import asyncio
import re
import signal
from datetime import UTC, datetime
from pathlib import Path

import httpx2
import pytest

from runlane.client import Connection, RunStore
from runlane.client.sse import EventParser, ServerEvent
from tests.service.commands import PATIENCE, Process, runlane

pytestmark = pytest.mark.slow


class Watching:
    """The events of one stream, as they come."""

    def __init__(self, http: httpx2.AsyncClient, path: str) -> None:
        self.seen: list[ServerEvent] = []
        self.news = asyncio.Event()
        self.task = asyncio.create_task(self._watch(http, path))

    async def _watch(self, http: httpx2.AsyncClient, path: str) -> None:
        parser = EventParser()
        async with http.stream("GET", path) as answer:
            async for piece in answer.aiter_bytes():
                self.seen += parser.feed(piece)
                self.news.set()

    async def until(self, name: str) -> ServerEvent:
        async with asyncio.timeout(PATIENCE):
            while True:
                found = [event for event in self.seen if event.name == name]
                if found:
                    return found[-1]
                self.news.clear()
                await self.news.wait()


async def test_what_a_worker_writes_reaches_every_watcher(tmp_path: Path) -> None:
    with Process("up", "--data", str(tmp_path), "--port", "0") as stack:
        stack.wait_for("Ctrl-C")
        file = tmp_path / "connection.json"
        running = Connection.load(file)
        headers = {"Authorization": f"Bearer {running.tokens.worker}"}
        async with (
            RunStore.from_connection(file) as store,
            httpx2.AsyncClient(base_url=running.api, headers=headers, timeout=PATIENCE) as http,
        ):
            await store.create_session("s", datetime.now(UTC).replace(microsecond=0))
            runs = Watching(http, "/v1/runs/stream")
            await runs.until("sync")
            run = await store.run("r", "agent", session_id="s").__aenter__()
            following = asyncio.create_task(_seqs(store))
            one, session = (Watching(http, f"/v1/{path}/stream") for path in ("runs/r", "sessions/s"))
            await asyncio.gather(one.until("record"), session.until("record"))
            run.delta("", "assistant", "Let me")
            await asyncio.gather(one.until("delta"), session.until("delta"))
            for number in range(20):
                await run.post("note", {"n": number})
            await run.__aexit__(None, None, None)
            await one.task
            summary = await runs.until("run")
            assert (await following) == list(range(1, 23))
            stored = (await store.list_run_records("r", "", 100)).records
            runs.task.cancel()
            session.task.cancel()
            await asyncio.gather(runs.task, session.task, return_exceptions=True)
            tailed = await asyncio.to_thread(runlane, "tail", "r", "--data", str(tmp_path))
        assert [event.id for event in one.seen if event.name == "record"] == [one.id for one in stored]
        assert one.seen[-1].name == "end"
        assert '"run_id":"r"' in summary.data
        assert tailed.stdout.count("\n") == 22
        assert stack.end(signal.SIGTERM) == 0


async def test_the_link_that_up_prints_opens_the_page(tmp_path: Path) -> None:
    with Process("up", "--data", str(tmp_path), "--port", "0", "--demo") as stack:
        stack.wait_for("demo: session")
        link = re.search(r"http://\S+/enter\?ticket=\S+", stack.output)
        assert link is not None
        async with httpx2.AsyncClient(timeout=PATIENCE, follow_redirects=True) as browser:
            page = await browser.get(link[0])
            origin = str(page.url).rstrip("/")
            runs = await browser.get(f"{origin}/v1/runs")
            ticket = await browser.post(f"{origin}/v1/tickets", headers={"Origin": origin})
        assert page.headers["content-type"].startswith("text/html")
        assert runs.status_code == 200
        assert ticket.status_code == 200


async def _seqs(store: RunStore) -> list[int]:
    return [record.seq async for record in store.follow(run="r")]
