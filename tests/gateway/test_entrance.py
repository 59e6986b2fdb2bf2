"""Getting in: tickets, the cookie, caps, and host commands over HTTP."""

from collections.abc import AsyncIterator

import httpx2
import pytest

from runlane.contract.errors import NotPermitted, Overloaded
from runlane.gateway import Access, Caps, Principal, Role
from runlane.gateway.caps import Gate
from runlane.gateway.tickets import MOST_TICKETS, TICKET_SECONDS, TicketBook
from tests.gateway.live.world import HOST, VIEWER, WORKER, World, begin, end, numbers, serve


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with serve(World()) as served:
        yield served


async def test_a_ticket_lets_one_connect_in(world: World) -> None:
    await world.session()
    await end(await begin(world))
    async with world.client(VIEWER) as http:
        ticket = (await http.post("/v1/tickets")).json()
    assert ticket["expires_in"] == TICKET_SECONDS
    async with world.stream(f"/v1/runs/r/stream?ticket={ticket['ticket']}", "") as viewer:
        assert numbers(await viewer.rest()) == [1, 2]
    async with world.client("") as http:
        again = await http.get(f"/v1/runs/r/stream?ticket={ticket['ticket']}")
        other = await http.get("/v1/runs/r?ticket=x")
    assert (again.status_code, other.status_code) == (401, 401)


async def test_a_ticket_has_the_rights_of_its_token(world: World) -> None:
    await world.session("other")
    await begin(world, "hidden", "other")
    async with world.client(VIEWER) as http:
        ticket = (await http.post("/v1/tickets")).json()["ticket"]
    async with world.client("") as http:
        answer = await http.get(f"/v1/runs/hidden/stream?ticket={ticket}")
    assert answer.status_code == 404


def test_a_ticket_is_void_once_used_or_old() -> None:
    clock = Clock()
    book = TicketBook[Principal](clock)
    viewer = Principal(Role.VIEWER)
    first, second = book.issue(viewer), book.issue(viewer)

    assert book.redeem(first) == viewer
    clock.now += TICKET_SECONDS
    for ticket in (first, second, "", "none"):
        with pytest.raises(NotPermitted):
            book.redeem(ticket)


def test_who_takes_too_many_tickets_voids_its_own_oldest_and_no_others() -> None:
    book = TicketBook[Principal](Clock())
    greedy, other = Principal(Role.VIEWER), Principal(Role.WORKER)
    waiting = book.issue(other)
    taken = [book.issue(greedy) for _ in range(MOST_TICKETS + 1)]

    with pytest.raises(NotPermitted):
        book.redeem(taken[0])
    assert [book.redeem(ticket) for ticket in taken[1:]] == [greedy] * MOST_TICKETS
    assert book.redeem(waiting) == other


async def test_the_cookie_keeps_the_token_from_scripts_and_other_sites(world: World) -> None:
    async with world.client(HOST) as http:
        answer = await http.post("/v1/cookie")
        cookie = answer.headers["set-cookie"]
        value = answer.cookies["runlane_token"]
    assert answer.status_code == 204
    for part in ("HttpOnly", "SameSite=strict", "Path=/v1"):
        assert part in cookie
    async with world.client("") as http:
        http.cookies.set("runlane_token", value)
        assert (await http.get("/v1/runs")).status_code == 200
        foreign = await http.post("/v1/sessions", json={"id": "s"}, headers={"Origin": "http://evil.example"})
        missing = await http.post("/v1/sessions", json={"id": "s"})
        own = await http.post("/v1/sessions", json={"id": "s"}, headers={"Origin": world.url})
        gone = await http.delete("/v1/cookie")
    assert (foreign.status_code, missing.status_code, own.status_code) == (403, 403, 200)
    assert 'runlane_token=""' in gone.headers["set-cookie"]


async def test_a_link_signs_one_browser_in() -> None:
    world = World()
    ticket = world.links.issue(WORKER)
    async with serve(world), world.client("") as http:
        entered = await http.get(f"/enter?ticket={ticket}")
        signed_in = await http.get("/v1/runs")
        http.cookies.clear()
        again = await http.get(f"/enter?ticket={ticket}")
        refused = await http.get("/v1/runs")
    assert (entered.status_code, entered.headers["location"]) == (303, "/")
    assert "HttpOnly" in entered.headers["set-cookie"]
    assert WORKER not in str(entered.url)
    assert (signed_in.status_code, refused.status_code) == (200, 401)
    assert "set-cookie" not in again.headers


async def test_a_gateway_says_whether_it_needs_a_token(world: World) -> None:
    async with world.client("") as http:
        assert (await http.get("/v1/access")).json() == {"mode": "token"}
    async with serve(World(Access())) as lax, lax.client("") as http:
        assert (await http.get("/v1/access")).json() == {"mode": "open"}
        refused = await http.get("/v1/runs/stream", headers={"Host": "evil.example"})
        foreign = await http.get("/v1/runs/stream", headers={"Origin": "http://evil.example"})
    assert (refused.json()["code"], foreign.json()["code"]) == ("host_refused", "origin_refused")


async def test_a_host_creates_ends_and_purges_a_session(world: World) -> None:
    async with world.client(HOST) as http:
        created = await http.post("/v1/sessions", json={"id": "a/b", "at": "2026-03-01T12:00:00Z"})
        again = await http.post("/v1/sessions", json={"id": "a/b"})
        ended = await http.post("/v1/sessions/a%2Fb/end")
        active = await http.request("DELETE", "/v1/sessions/none")
        purged = await http.delete("/v1/sessions/a%2Fb")
        gone = await http.get("/v1/sessions/a%2Fb")

    assert created.json() == again.json()
    assert created.json()["created_at"] == "2026-03-01T12:00:00Z"
    assert ended.json()["status"] == "ended"
    assert active.status_code == 404
    assert purged.json() == {"session_id": "a/b"}
    assert gone.status_code == 410


async def test_an_active_session_is_not_purged(world: World) -> None:
    await world.session()
    async with world.client(HOST) as http:
        answer = await http.delete("/v1/sessions/mine")
    assert (answer.status_code, answer.json()["name"]) == (409, "SessionActive")


@pytest.mark.parametrize(("token", "status"), [(WORKER, 403), (VIEWER, 404)])
async def test_only_a_host_token_commands(world: World, token: str, status: int) -> None:
    await world.session()
    async with world.client(token) as http:
        answers = [
            await http.post("/v1/sessions", json={"id": "new"}),
            await http.post("/v1/sessions/mine/end"),
            await http.delete("/v1/sessions/mine"),
        ]
    assert [answer.status_code for answer in answers] == [status] * 3


@pytest.mark.parametrize(
    "body", [{}, {"id": 7}, {"id": "x", "more": 1}, {"id": "x", "at": "2026-03-01T12:00:00"}]
)
async def test_a_body_of_another_form_is_refused(world: World, body: object) -> None:
    async with world.client(HOST) as http:
        answer = await http.post("/v1/sessions", json=body)
        large = await http.post("/v1/sessions", content=b" " * 100_000)
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_parameter")
    assert (large.status_code, large.json()["code"]) == (400, "body_too_large")


async def test_more_streams_than_may_be_open_are_refused() -> None:
    async with serve(World(caps=Caps(streams_per_caller=1))) as world:
        await world.session()
        await begin(world)
        async with world.stream("/v1/runs/r/stream", VIEWER) as viewer:
            await viewer.take(2)
            async with world.client(VIEWER) as http:
                answer: httpx2.Response = await http.get("/v1/runs/r/stream")
            async with world.stream("/v1/runs/r/stream", WORKER) as other:
                await other.take(2)
        assert (answer.status_code, answer.json()["code"]) == (429, "too_many_streams")


async def test_guessing_tokens_is_slowed_down_before_a_guess_can_be_right() -> None:
    async with serve(World(caps=Caps(wrong_tokens_per_second=0.001, burst_seconds=3000))) as world:
        async with world.client("wrong-token-0123456789") as http:
            codes = [(await http.get("/v1/runs")).status_code for _ in range(5)]
        async with world.client(WORKER) as http:
            right = await http.get("/v1/runs")
        async with world.client("") as http:
            none = await http.get("/v1/runs")
            ticket = await http.get("/v1/runs/stream?ticket=guess")
    assert codes == [401, 401, 401, 429, 429]
    assert (right.status_code, none.status_code, ticket.status_code) == (429, 401, 429)


async def test_a_request_without_a_token_is_no_guess() -> None:
    async with serve(World(caps=Caps(wrong_tokens_per_second=0.001, burst_seconds=2000))) as world:
        async with world.client("") as http:
            codes = {(await http.get("/v1/runs")).status_code for _ in range(5)}
        async with world.client(WORKER) as http:
            right = await http.get("/v1/runs")
    assert (codes, right.status_code) == ({401}, 200)


def test_a_bucket_fills_up_again() -> None:
    clock = Clock()
    gate = Gate(Caps(requests_per_second=2, burst_seconds=1), clock)
    gate.request("a")
    gate.request("a")
    with pytest.raises(Overloaded):
        gate.request("a")
    gate.request("b")
    clock.now += 0.5
    gate.request("a")
    with pytest.raises(Overloaded):
        gate.request("a")


async def test_the_page_comes_with_its_own_policy(world: World) -> None:
    async with world.client("") as http:
        answer = await http.get("/runs/r")
    assert answer.status_code == 200
    assert "require-trusted-types-for 'script'" in answer.headers["content-security-policy"]
    assert "trusted-types lit-html" in answer.headers["content-security-policy"]
