"""Whatever a request says, the answer is one that the OpenAPI document promises, and never a fault."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import response_schema_conformance, status_code_conformance

from runlane.client import MemoryEvents, MemoryStore
from runlane.gateway import Access, Live, Parts, create_app
from tests.gateway.live.world import HOST, TOKENS, WORKER, MemoryHistory, Topic


def _app() -> object:
    """A gateway with a session and a run. A granted stream never ends, so no request may name these."""
    store = MemoryStore()

    async def fill() -> None:
        await store.create_session("the-session", datetime.now(UTC).replace(microsecond=0))
        await store.run("the-run", "agent", session_id="the-session").__aenter__()

    asyncio.run(fill())
    live = Live(Topic(), MemoryHistory(store), store)
    return create_app(store, Access(TOKENS), parts=Parts(streams=live, host=store, memory=MemoryEvents()))


schema = schemathesis.openapi.from_asgi("/openapi.json", _app()).exclude(path="/v1/runs/stream")


@pytest.mark.slow
@pytest.mark.parametrize("token", [WORKER, HOST])
@schema.parametrize()
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
def test_no_request_is_answered_by_a_fault(case: schemathesis.Case, token: str) -> None:
    response = case.call(headers={"Authorization": f"Bearer {token}"})
    case.validate_response(
        response,
        checks=[not_a_server_error, status_code_conformance, response_schema_conformance],
    )
