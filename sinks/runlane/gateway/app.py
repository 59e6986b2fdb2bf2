"""The application: routes, their reader, who may read, and the probes."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.middleware import Middleware

from runlane.contract.errors import RunlaneError
from runlane.contract.http_models import Problem
from runlane.contract.memory import MemoryReader
from runlane.contract.reader import Reader
from runlane.gateway import problems
from runlane.gateway.auth import Access, Principal
from runlane.gateway.caps import Caps, Gate
from runlane.gateway.guard import Guard
from runlane.gateway.live import Activity, Live
from runlane.gateway.page import Page, page_router
from runlane.gateway.routes import access as routes_access
from runlane.gateway.routes import activity, health, host, memory, runs, sessions, streams
from runlane.gateway.routes.health import Probe
from runlane.gateway.routes.host import HostCommands
from runlane.gateway.tickets import TicketBook

__all__ = ["Parts", "Probe", "create_app"]
_TITLE = "Runlane read API"
_VERSION = "1"
_OPEN = {"access_mode_v1_access_get"}


async def _no_faults() -> Mapping[str, str]:
    return {}


@dataclass(frozen=True, slots=True)
class Parts:
    """What a gateway serves beside the reads; without a part its routes are not there."""

    streams: Live | None = None
    activity: Activity | None = None
    memory: MemoryReader | None = None
    host: HostCommands | None = None
    page: Page | None = None
    links: TicketBook[str] | None = None
    caps: Caps = field(default_factory=Caps)


def create_app(
    reader: Reader,
    access: Access,
    *,
    live: Probe = _no_faults,
    ready: Probe | None = None,
    parts: Parts | None = None,
) -> FastAPI:
    """Return the ASGI application that serves ``reader`` and ``parts``.

    ``ready`` is, unless given, whether the reader answers. An ``access`` without tokens must be served on
    loopback only. The server in front must pass ``raw_path``, as uvicorn does.
    """
    parts = parts or Parts()
    app = FastAPI(
        title=_TITLE,
        version=_VERSION,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        middleware=[Middleware(Guard, hosts=access.allowed_hosts)],
        lifespan=_lifespan(parts),
    )
    app.state.reader = reader
    app.state.access = access
    app.state.live = live
    app.state.ready = ready or _answers(reader)
    problems.install(app)
    app.state.tickets = TicketBook[Principal]()
    app.state.links = parts.links
    app.state.gate = Gate(parts.caps)
    app.state.streams = parts.streams
    app.state.activity = parts.activity
    app.state.host = parts.host
    app.state.memory = parts.memory
    for router in _routers(parts):
        app.include_router(router)
    _describe(app, needs_token=not access.open)
    return app


def _routers(parts: Parts) -> Iterator[APIRouter]:
    if parts.streams is not None:
        # Before the routes of a run, since its first path would be that of a run called "stream".
        yield streams.router
    yield from (runs.router, sessions.router)
    if parts.activity is not None:
        yield activity.router
    if parts.memory is not None:
        yield memory.router
    if parts.host is not None:
        yield host.router
    yield from (routes_access.router, routes_access.open_router, health.router)
    if parts.links is not None:
        yield routes_access.link_router
    if parts.page is not None:
        yield page_router(parts.page)


def _lifespan(parts: Parts) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncGenerator[None]:
        yield
        for live in (parts.streams, parts.activity):
            if live is not None:
                await live.aclose()

    return lifespan


def _answers(reader: Reader) -> Probe:
    async def probe() -> Mapping[str, str]:
        try:
            await reader.list_sessions(limit=1)
        except RunlaneError as error:
            return {"journal": error.code}
        return {}

    return probe


def _describe(app: FastAPI, *, needs_token: bool) -> None:
    """Make the OpenAPI document say what FastAPI cannot see: problem details and bearer tokens."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            document = get_openapi(title=app.title, version=app.version, routes=app.routes)
            parts = document["components"]
            parts["schemas"]["Problem"] = Problem.model_json_schema()
            for unused in ("HTTPValidationError", "ValidationError"):
                parts["schemas"].pop(unused, None)
            for operation in (method for path in document["paths"].values() for method in path.values()):
                operation["responses"].pop("422", None)
                if operation["tags"] == health.router.tags or operation["operationId"] in _OPEN:
                    operation["security"] = []
            if needs_token:
                parts["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
                document["security"] = [{"token": []}]
            app.openapi_schema = document
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]
