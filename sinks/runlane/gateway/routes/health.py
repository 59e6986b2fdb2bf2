"""Whether the process lives, and whether it makes progress; open to everyone, so it tells only that."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict
from starlette.responses import JSONResponse, Response

Probe = Callable[[], Awaitable[Mapping[str, str]]]
"""Returns what is wrong, by component; empty when all is well. The text holds no secret and no data."""


class HealthBody(BaseModel):
    """The answer of both probes."""

    model_config = ConfigDict(frozen=True)

    ok: bool
    faults: dict[str, str]


_RESPONSES: dict[int | str, dict[str, Any]] = {
    503: {"model": HealthBody, "description": "`faults` names what is wrong"}
}
router = APIRouter(tags=["health"], responses=_RESPONSES)


@router.get("/livez", response_model=HealthBody)
async def livez(request: Request) -> Response:
    """Answer 200 while the process should be left running."""
    return await _answer(request.app.state.live)


@router.get("/readyz", response_model=HealthBody)
async def readyz(request: Request) -> Response:
    """Answer 200 while the process makes progress."""
    return await _answer(request.app.state.ready)


async def _answer(probe: Probe) -> Response:
    faults = dict(await probe())
    body = HealthBody(ok=not faults, faults=faults)
    return JSONResponse(body.model_dump(), 503 if faults else 200)
