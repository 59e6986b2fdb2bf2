"""The application: routes, their reader, who may read, and the probes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.middleware import Middleware

from runlane.contract.errors import RunlaneError
from runlane.contract.http_models import Problem
from runlane.contract.reader import Reader
from runlane.gateway import problems
from runlane.gateway.auth import Access
from runlane.gateway.guard import Guard
from runlane.gateway.routes import health, runs, sessions
from runlane.gateway.routes.health import Probe

__all__ = ["Probe", "create_app"]
_TITLE = "Runlane read API"
_VERSION = "1"


async def _no_faults() -> Mapping[str, str]:
    return {}


def create_app(
    reader: Reader, access: Access, *, live: Probe = _no_faults, ready: Probe | None = None
) -> FastAPI:
    """Return the ASGI application that serves ``reader``.

    ``ready`` is, unless given, whether the reader answers. An ``access`` without tokens must be served on
    loopback only. The server in front must pass ``raw_path``, as uvicorn does.
    """
    app = FastAPI(
        title=_TITLE,
        version=_VERSION,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        middleware=[Middleware(Guard, hosts=access.allowed_hosts)],
    )
    app.state.reader = reader
    app.state.access = access
    app.state.live = live
    app.state.ready = ready or _answers(reader)
    problems.install(app)
    for module in (runs, sessions, health):
        app.include_router(module.router)
    _describe(app, needs_token=not access.open)
    return app


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
                if operation["tags"] == health.router.tags:
                    operation["security"] = []
            if needs_token:
                parts["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
                document["security"] = [{"token": []}]
            app.openapi_schema = document
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]
