"""Every route there is, with no, a wrong, a used, an expired and a foreign token: nothing leaks.

The routes come from the application itself and its OpenAPI document, so that a new one cannot be forgotten.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import AsyncIterator
from dataclasses import fields

import pytest
from starlette.routing import Route

from runlane.contract.activity import ActivityShare
from runlane.gateway import ENTRANCE, Parts, Principal, Role
from runlane.gateway.identity import COOKIE
from runlane.gateway.page import PAGE_PATHS
from runlane.gateway.tickets import TICKET_SECONDS, TicketBook
from tests.gateway.live.world import NOW, VIEWER, WORKER, World, begin, serve

OPEN = {("get", "/livez"), ("get", "/readyz"), ("get", "/v1/access"), ("delete", "/v1/cookie")}
"""Operations that tell no data."""
OUTSIDE = {*PAGE_PATHS, "/static/{version}/{name:path}", ENTRANCE, "/openapi.json"}
"""The page, which holds no data, the link that signs a browser in, and the document of the API."""
LISTS = {("get", "/v1/runs"), ("get", "/v1/sessions"), ("get", "/v1/runs/stream")}
"""What a viewer may ask for and gets its own part of."""
OWN = {("post", "/v1/tickets"), ("post", "/v1/cookie")}
SECRETS = (b"hidden", b"secret-agent", b"other-session", b"confidential")
NAMES = {"run_id": "hidden", "session_id": "other-session", "agent_id": "secret-agent"}


@pytest.fixture
async def world() -> AsyncIterator[World]:
    """A gateway with every part, which holds a run that the viewer of the tests may not see."""
    async with serve(World()) as served:
        served.shares.kept = [ActivityShare("secret-agent", 0, NOW, starts=1)]
        await served.session("other-session")
        run = await begin(served, "hidden", "other-session")
        await run.append("note", {"text": "confidential"})
        yield served


def operations(world: World) -> list[tuple[str, str]]:
    """Every operation that needs a token: method, and path as the document has it."""
    document: dict[str, dict[str, object]] = world.app.openapi()["paths"]
    return sorted({(method, path) for path, methods in document.items() for method in methods} - OPEN)


def address(path: str) -> str:
    """The path with what it names filled in."""
    return re.sub(r"\{(\w+)\}", lambda match: NAMES[match[1]], path)


def body(method: str, path: str) -> dict[str, str] | None:
    """What an operation wants, so that only its token can be wrong."""
    return {"id": "new"} if (method, path) == ("post", "/v1/sessions") else None


def leaks(content: bytes) -> list[bytes]:
    """What an answer tells of what is hidden."""
    return [secret for secret in SECRETS if secret in content]


def test_the_tests_see_every_part_and_every_route_of_a_gateway(world: World) -> None:
    assert [part.name for part in fields(Parts) if getattr(world.parts, part.name) is None] == []
    document = world.app.openapi()["paths"]
    routes = {route.path for route in world.app.routes if isinstance(route, Route)}
    assert routes - set(document) - OUTSIDE == set()


@pytest.mark.parametrize("token", ["", "wrong-token-0123456789", WORKER[:-1], WORKER + "x"])
async def test_without_a_true_token_nothing_is_granted(world: World, token: str) -> None:
    async with world.client(token) as http:
        for method, path in operations(world):
            answer = await http.request(method, address(path), json=body(method, path))
            assert (answer.status_code, answer.json()["code"]) == (401, "unauthorized"), (method, path)
            assert answer.headers["www-authenticate"] == "Bearer"
            assert leaks(answer.content) == [], (method, path)


async def test_a_cookie_that_is_wrong_grants_nothing(world: World) -> None:
    async with world.client("") as http:
        http.cookies.set(COOKIE, "wrong-token-0123456789")
        for method, path in operations(world):
            answer = await http.request(method, address(path), json=body(method, path))
            assert (answer.status_code, leaks(answer.content)) == (401, []), (method, path)


@pytest.mark.parametrize("fault", ["used", "expired", "made up"])
async def test_a_void_ticket_opens_no_stream_and_nothing_else(world: World, fault: str) -> None:
    moments = itertools.count(0.0, TICKET_SECONDS if fault == "expired" else 0.0)
    book = world.app.state.tickets = TicketBook[Principal](lambda: next(moments))
    async with world.client("") as http:
        for method, path in operations(world):
            ticket = "made-up" if fault == "made up" else book.issue(Principal(Role.WORKER))
            if fault == "used":
                book.redeem(ticket)
            answer = await http.request(method, f"{address(path)}?ticket={ticket}", json=body(method, path))
            assert (answer.status_code, leaks(answer.content)) == (401, []), (method, path)


async def test_a_foreign_token_finds_nothing(world: World) -> None:
    async with world.client(VIEWER) as http:
        for method, path in operations(world):
            if (method, path) in LISTS | OWN:
                continue
            answer = await http.request(method, address(path), json=body(method, path))
            assert (answer.status_code, leaks(answer.content)) == (404, []), (method, path)


async def test_lists_leave_out_what_is_foreign(world: World) -> None:
    async with world.client(VIEWER) as http:
        for _, path in sorted(LISTS - {("get", "/v1/runs/stream")}):
            answer = await http.get(path)
            assert (answer.status_code, leaks(answer.content)) == (200, []), path
    async with world.stream("/v1/runs/stream", VIEWER) as viewer:
        told = await viewer.until("sync")
    assert [event.name for event in told if event.name == "run"] == []
