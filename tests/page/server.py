"""The gateway's interface over a `World`: read API, streams and the real page, on a port of its own."""

from __future__ import annotations

import asyncio
import json
import secrets
import socket
import threading
import time
from collections.abc import AsyncIterator
from datetime import datetime
from typing import Annotated, Any

import uvicorn
from fastapi import FastAPI, Query, Request
from starlette.middleware import Middleware
from starlette.responses import JSONResponse, Response, StreamingResponse

from runlane.contract.http_models import PROBLEM_MEDIA_TYPE, from_path_segment
from runlane.gateway.guard import Guard
from runlane.gateway.page import Page, page_router
from tests.page.world import Run, Session, World

TICK = 0.01
HEARTBEAT = 15.0


def problem(status: int, code: str) -> JSONResponse:
    """An answer in the form of the read API's errors."""
    body = {"status": status, "code": code, "retryable": status >= 500, "detail": code.replace("_", " ")}
    return JSONResponse(body, status, media_type=PROBLEM_MEDIA_TYPE)


def frame(event: str, data: Any, number: int | None = None) -> str:
    """One server-sent event."""
    lines = [f"event: {event}", f"data: {json.dumps(data, ensure_ascii=False)}"]
    if number is not None:
        lines.insert(0, f"id: {number}")
    return "\n".join(lines) + "\n\n"


def page_of(records: list[dict[str, Any]], cursor: str, limit: int, key: str) -> dict[str, Any]:
    """A page of records after a cursor."""
    after = int(cursor or 0)
    page = records[after : after + min(limit, 1000)]
    more = after + len(page) < len(records)
    return {"records": page, "next_cursor": str(page[-1][key]) if more else ""}


class Streams:
    """The streams of a world; each looks for news a hundred times a second."""

    def __init__(self, world: World) -> None:
        self.world = world

    def answer(self, frames: AsyncIterator[str]) -> Response:
        """A response that carries `frames`."""
        return StreamingResponse(frames, media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})

    async def records(self, subject: Run | Session, after: int) -> AsyncIterator[str]:
        """Head, the records after a cursor, then what comes, with deltas in between."""
        world, records = self.world, subject.records
        key = "seq" if isinstance(subject, Run) else "lane_seq"
        at, lagged, delta = max(0, after - world.rewind), world.lagged, len(world.deltas)
        yield "retry: 1000\n\n"
        yield frame("head", {"head": len(records), "status": subject.status})
        while True:
            for record in records[at:]:
                if world.lag:
                    await asyncio.sleep(world.lag)
                at += 1
                if record["seq"] not in world.skipped:
                    yield frame("record", record, record[key])
            for text in world.deltas[delta:]:
                yield frame("delta", text)
            delta = len(world.deltas)
            last = self._last(subject, lagged, told=at >= len(records))
            if last:
                yield frame(last, {})
                return
            await asyncio.sleep(TICK)

    def _last(self, subject: Run | Session, lagged: int, *, told: bool) -> str:
        """The event that ends a stream, if it is time for one."""
        if isinstance(subject, Session) and subject.purged:
            return "purged"
        if told and subject.status not in {"running", "active"}:
            return "end"
        return "lagged" if lagged != self.world.lagged else ""

    async def runs(self) -> AsyncIterator[str]:
        """Every run, `sync`, then each change and each purge once a tick."""
        world, at, purges = self.world, len(self.world.changed), len(self.world.purged)
        yield "retry: 1000\n\n"
        yield frame("head", {"head": at, "status": ""})
        for run in list(world.runs.values()):
            yield frame("run", run.summary())
        yield frame("sync", {})
        while True:
            fresh = dict.fromkeys(world.changed[at:])
            at += len(world.changed[at:])
            for run_id in fresh:
                if run_id in world.runs:
                    yield frame("run", world.runs[run_id].summary())
            for session_id in world.purged[purges:]:
                words = "".join(frame("run", told) for told in world.last_words[session_id])
                yield words + frame("gone", {"session_id": session_id})
            purges = len(world.purged)
            await asyncio.sleep(TICK * 5)

    async def activity(self) -> AsyncIterator[str]:
        """The windows of every agent, `sync`, then each that is new or changed."""
        at = len(self.world.activity)
        yield "retry: 1000\n\n"
        for window in self.world.activity[:at]:
            yield frame("window", window)
        yield frame("sync", {})
        while True:
            for window in self.world.activity[at:]:
                at += 1
                yield frame("window", window)
            await asyncio.sleep(TICK * 5)


def _search(world: World, query: dict[str, Any]) -> dict[str, Any]:
    runs = sorted(world.runs.values(), key=lambda run: (run.started_at, run.id), reverse=True)
    statuses, since = query["status"] or [], query["since"]
    found = [
        run
        for run in runs
        if (not statuses or run.status in statuses)
        and query["agent"] in {"", run.agent}
        and query["session"] in {"", run.session.id if run.session else ""}
        and (since is None or run.started_at >= since)
    ]
    after = int(query["cursor"] or 0)
    page = found[after : after + query["limit"]]
    more = after + len(page) < len(found)
    return {
        "runs": [run.body() for run in page],
        "next_cursor": str(after + len(page)) if more else "",
        "as_of": None,
    }


def create_app(world: World) -> FastAPI:
    """The application that serves `world`."""
    app = FastAPI(openapi_url=None, middleware=[Middleware(Guard, hosts=())])
    streams = Streams(world)

    @app.middleware("http")
    async def access(request: Request, proceed: Any) -> Response:
        path = request.url.path
        world.requests.append(f"{request.method} {path}")
        if world.token and path.startswith("/v1/") and path != "/v1/access":
            bearer = request.headers.get("authorization") == f"Bearer {world.token}"
            ticket = request.query_params.get("ticket", "")
            if not bearer and not (path.endswith("/stream") and ticket in world.tickets):
                return problem(401, "unauthorized")
            world.tickets.discard(ticket)
        response: Response = await proceed(request)
        return response

    @app.get("/v1/access")
    async def mode() -> Any:
        return {"mode": "token" if world.token else "open"}

    @app.post("/v1/tickets")
    async def ticket() -> Any:
        world.tickets.add(fresh := secrets.token_urlsafe(16))
        return {"ticket": fresh}

    _runs(app, world, streams)
    _run(app, world, streams)
    _sessions(app, world, streams)
    app.include_router(page_router(Page()))
    return app


def _runs(app: FastAPI, world: World, streams: Streams) -> None:
    @app.get("/v1/runs")
    async def search(  # noqa: PLR0917 - FastAPI fills them by name
        status: Annotated[list[str] | None, Query()] = None,
        agent: str = "",
        session: str = "",
        since: Annotated[datetime | None, Query(alias="from")] = None,
        cursor: str = "",
        limit: int = 100,
    ) -> Any:
        asked = {"status": status, "agent": agent, "session": session, "since": since}
        return _search(world, asked | {"cursor": cursor, "limit": limit})

    @app.get("/v1/runs/stream")
    async def runs() -> Response:
        return streams.answer(streams.runs())

    @app.get("/v1/activity/stream")
    async def activity() -> Response:
        return streams.answer(streams.activity()) if world.activity else problem(404, "not_found")


def _run(app: FastAPI, world: World, streams: Streams) -> None:
    def find(run_id: str) -> Run | None:
        return world.runs.get(from_path_segment(run_id))

    @app.get("/v1/runs/{run_id}")
    async def load(run_id: str) -> Any:
        run = find(run_id)
        return run.body() if run else problem(404, "run_not_found")

    @app.get("/v1/runs/{run_id}/records")
    async def records(run_id: str, cursor: str = "", limit: int = 100) -> Any:
        run = find(run_id)
        if run is None:
            return problem(404, "run_not_found")
        return JSONResponse(page_of(run.records, cursor, limit, "seq"))

    @app.get("/v1/runs/{run_id}/stream")
    async def stream(run_id: str, after: int = 0) -> Response:
        run = find(run_id)
        if run is None:
            return problem(404, "run_not_found")
        return streams.answer(streams.records(run, after))


def _sessions(app: FastAPI, world: World, streams: Streams) -> None:
    @app.get("/v1/sessions")
    async def sessions() -> Any:
        shown = sorted((s for s in world.sessions.values() if not s.purged), key=lambda s: s.id)
        return {"sessions": [world.session_body(session) for session in shown], "next_cursor": ""}

    @app.get("/v1/sessions/{session_id}/runs")
    async def runs(session_id: str) -> Any:
        wanted = from_path_segment(session_id)
        return {"runs": [r.body() for r in world.runs.values() if r.session and r.session.id == wanted]}

    @app.get("/v1/sessions/{session_id}/stream")
    async def stream(
        session_id: str, after: int = 0, begin: Annotated[str, Query(alias="from")] = ""
    ) -> Response:
        session = world.sessions.get(from_path_segment(session_id))
        if session is None or session.purged:
            return problem(410 if session else 404, "session_purged")
        return streams.answer(streams.records(session, len(session.records) if begin == "latest" else after))

    @app.get("/v1/sessions/{session_id}")
    async def load(session_id: str) -> Any:
        session = world.sessions.get(from_path_segment(session_id))
        if session is None or session.purged:
            return problem(410 if session else 404, "session_purged")
        return world.session_body(session)


class Server:
    """Serves a world on a loopback port, which it keeps over `stop` and `start`."""

    def __init__(self, world: World) -> None:
        self.world = world
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Serve; returns once it does."""
        app = create_app(self.world)
        config = uvicorn.Config(
            app, "127.0.0.1", self.port, log_level="critical", lifespan="off", timeout_graceful_shutdown=0
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, daemon=True)
        self._thread.start()
        while not self._server.started:
            time.sleep(0.01)

    def stop(self) -> None:
        """Stop as a killed process would: open streams break."""
        self._server.should_exit = self._server.force_exit = True
        self._thread.join(10)
