"""Who may read what, and what holds for every request."""

from collections.abc import AsyncIterator

import httpx2
import pytest

from runlane.contract.http_models import RecordPageBody, RunPageBody, SessionPageBody
from runlane.contract.reader import SessionScope
from runlane.contract.values import RunSuspension
from runlane.gateway import Access, create_app
from tests.gateway.conftest import HOST, VIEWER, WORKER, As
from tests.gateway.memory_reader import MemoryReader, a_record

READS = [
    "/v1/runs",
    "/v1/runs/r1",
    "/v1/runs/r1/suspension",
    "/v1/runs/r1/records",
    "/v1/sessions",
    "/v1/sessions/mine",
    "/v1/sessions/mine/status",
    "/v1/sessions/mine/runs",
    "/v1/sessions/mine/records",
]


@pytest.mark.parametrize("path", READS)
@pytest.mark.parametrize("token", ["", "wrong", WORKER + "x", WORKER[:-1]])
async def test_no_or_a_wrong_token_reads_nothing(as_token: As, path: str, token: str) -> None:
    answer = await as_token(token).get(path)

    assert answer.status_code == 401
    assert answer.json()["code"] == "unauthorized"
    assert answer.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize("header", [WORKER, f"Basic {WORKER}", "Bearer", f"Bearer {WORKER},"])
async def test_only_a_bearer_header_counts(as_token: As, header: str) -> None:
    answer = await as_token("").get("/v1/runs", headers={"Authorization": header})

    assert answer.status_code == 401


async def test_the_token_is_judged_before_parameters(as_token: As) -> None:
    answer = await as_token("wrong").get("/v1/runs?limit=many&status=sleeping")

    assert answer.status_code == 401


async def test_a_checkpoint_goes_to_workers_only(as_token: As, reader: MemoryReader) -> None:
    reader.add_run("r1", "mine")
    reader.suspensions["r1"] = RunSuspension("cp", b"checkpoint bytes")

    answers = {token: await as_token(token).get("/v1/runs/r1/suspension") for token in (WORKER, HOST, VIEWER)}

    assert {token: answer.status_code for token, answer in answers.items()} == {
        WORKER: 200,
        HOST: 403,
        VIEWER: 404,
    }
    assert answers[HOST].json()["name"] == "NotPermitted"


@pytest.mark.parametrize("path", [path for path in READS if "suspension" not in path])
async def test_workers_and_hosts_read_everything_else(as_token: As, reader: MemoryReader, path: str) -> None:
    reader.add_session("mine")
    reader.add_run("r1", "other")

    assert [(await as_token(token).get(path)).status_code for token in (WORKER, HOST)] == [200, 200]


async def test_a_viewer_reads_the_sessions_of_its_scope(
    viewer: httpx2.AsyncClient, reader: MemoryReader
) -> None:
    for session_id, run_id in (("mine", "r1"), ("team-1", "r2")):
        reader.add_session(session_id)
        reader.add_run(run_id, session_id)
        reader.records.append(a_record(run_id, session_id, 1))

        assert (await viewer.get(f"/v1/sessions/{session_id}")).status_code == 200
        assert (await viewer.get(f"/v1/runs/{run_id}")).status_code == 200
        records = RecordPageBody.model_validate_json((await viewer.get(f"/v1/runs/{run_id}/records")).content)
        assert [record.run_id for record in records.records] == [run_id]


async def test_to_a_viewer_forbidden_and_missing_look_the_same(
    viewer: httpx2.AsyncClient, reader: MemoryReader
) -> None:
    reader.add_session("other")
    reader.purged.add("purged-other")
    reader.add_run("hidden", "other")
    reader.add_run("sessionless")
    reader.records.append(a_record("hidden", "other", 1))

    for tail in ("", "/records", "/suspension", "/records?cursor=x", "/records?limit=0"):
        answers = [await viewer.get(f"/v1/runs/{run}{tail}") for run in ("hidden", "sessionless", "missing")]
        assert {answer.status_code for answer in answers} == {404}
        assert len({answer.content for answer in answers}) == 1
    for tail in ("", "/status", "/runs", "/records", "/records?cursor=x"):
        answers = [
            await viewer.get(f"/v1/sessions/{name}{tail}")
            for name in ("other", "purged-other", "team-missing" if "?" not in tail else "missing")
        ]
        assert {answer.status_code for answer in answers} == {404}
        assert len({answer.content for answer in answers}) == 1


@pytest.mark.parametrize("query", ["", "?in_prefix=", "?in_session=other", "?in_session=mine&in_prefix=oth"])
async def test_lists_show_a_viewer_its_scope_only(
    viewer: httpx2.AsyncClient, reader: MemoryReader, query: str
) -> None:
    for number, session_id in enumerate(("mine", "minerva", "other", "team-1", "tea")):
        reader.add_session(session_id)
        reader.add_run(f"r{number}", session_id)
    reader.add_run("sessionless")

    sessions = SessionPageBody.model_validate_json((await viewer.get(f"/v1/sessions{query}")).content)
    runs = RunPageBody.model_validate_json((await viewer.get(f"/v1/runs{query}")).content)

    seen = {session.id for session in sessions.sessions}
    assert seen <= {"mine", "team-1"}
    assert {run.session_id for run in runs.runs} == seen
    assert seen or query == "?in_session=other"


def test_scopes_meet_in_what_both_hold() -> None:
    one = SessionScope(ids=("a", "team-1"), prefixes=("x-", "y-1"))
    other = SessionScope(ids=("y-17", "b"), prefixes=("team-", "y-", "x-9"))

    both = one.within(other)

    for session_id in ("", "a", "b", "team-1", "team-2", "x-1", "x-99", "y-1", "y-17", "y-2"):
        assert both.holds(session_id) == (one.holds(session_id) and other.holds(session_id))


@pytest.fixture
async def open_gateway(reader: MemoryReader) -> AsyncIterator[httpx2.AsyncClient]:
    transport = httpx2.ASGITransport(create_app(reader, Access()))
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:8080") as client:
        yield client


@pytest.mark.parametrize("host", ["127.0.0.1:8080", "localhost", "[::1]:8080", "LOCALHOST:1"])
async def test_without_tokens_a_loopback_name_reads(open_gateway: httpx2.AsyncClient, host: str) -> None:
    assert (await open_gateway.get("/v1/runs", headers={"Host": host})).status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "", "[", "10.0.0.1:8080"])
async def test_without_tokens_another_host_name_is_refused(
    open_gateway: httpx2.AsyncClient, host: str
) -> None:
    answer = await open_gateway.get("/v1/runs", headers={"Host": host})

    assert (answer.status_code, answer.json()["code"]) == (403, "host_refused")


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("http://127.0.0.1:8080", 200),
        ("http://127.0.0.1:3000", 403),
        ("http://localhost:8080", 403),
        ("https://evil.example", 403),
        ("null", 403),
    ],
)
async def test_without_tokens_only_its_own_origin_reads(
    open_gateway: httpx2.AsyncClient, origin: str, status: int
) -> None:
    assert (await open_gateway.get("/v1/runs", headers={"Origin": origin})).status_code == status


@pytest.mark.parametrize("path", ["/v1/runs", "/v1/runs/none", "/v1/nothing", "/livez", "/openapi.json"])
async def test_every_answer_carries_the_security_headers(worker: httpx2.AsyncClient, path: str) -> None:
    headers = (await worker.get(path)).headers

    assert headers["cache-control"] == "no-store"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-opener-policy"] == "same-origin"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert headers["content-security-policy"].startswith("default-src 'none'")


async def test_a_large_body_is_refused(worker: httpx2.AsyncClient) -> None:
    answer = await worker.request("GET", "/v1/runs", content=b"x" * 65537)

    assert answer.json()["code"] == "body_too_large"


def test_a_token_is_not_in_a_representation() -> None:
    from tests.gateway.conftest import TOKENS

    assert WORKER not in repr(TOKENS)
