"""What products keep of their agents' runs (contract 9)."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Request

from runlane.contract.errors import RunNotFound
from runlane.contract.http_models import MemoryBody, from_path_segment
from runlane.contract.memory import MemoryReader
from runlane.gateway.auth import Role
from runlane.gateway.identity import Caller
from runlane.gateway.problems import PROBLEM_RESPONSES
from runlane.gateway.routes.params import Bounds, RunId

router = APIRouter(prefix="/v1/memory", tags=["memory"], responses=PROBLEM_RESPONSES)


def _reader(request: Request, caller: Caller) -> MemoryReader:
    if caller.role is Role.VIEWER:
        # What a token may not read looks like what is not there.
        raise RunNotFound("the run is unknown")
    reader: MemoryReader = request.app.state.memory
    return reader


def _agent_id(agent_id: Annotated[str, Path(description="one percent-encoded segment")]) -> str:
    return from_path_segment(agent_id)


@router.get("/{agent_id}/{run_id}")
async def load_memory(
    reader: Annotated[MemoryReader, Depends(_reader)],
    agent_id: Annotated[str, Depends(_agent_id)],
    run_id: RunId,
    bounds: Bounds,
) -> MemoryBody:
    """Return a page of what a run of an agent remembers, oldest first; an unknown run remembers nothing."""
    return MemoryBody.of(await reader.memory_page(agent_id, run_id, bounds.cursor, bounds.limit))
