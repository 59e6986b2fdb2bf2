"""The reads over the read API answer what a reader in process answers, and survive its absences."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta

import httpx2
import pytest

from runlane.client import Api, ClientOptions, HttpReader, MemoryStore
from runlane.contract.errors import (
    InvalidCommand,
    NotPermitted,
    RunlaneError,
    RunNotFound,
    RunSuspensionNotFound,
    SessionNotFound,
    SessionPurged,
    Unavailable,
)
from runlane.contract.http_models import PROBLEM_MEDIA_TYPE, Problem
from runlane.contract.reader import Reader, RunQuery, SessionScope
from runlane.contract.values import RunStatus, SessionStatus
from runlane.gateway import Access, Role, Token, create_app
from tests.client.make import begin, record
from tests.client.scripted import NOW

WORKER, HOST, VIEWER = (f"{role}-token-0123456789" for role in ("worker", "host", "viewer"))
TOKENS = (
    Token(WORKER, Role.WORKER),
    Token(HOST, Role.HOST),
    Token(VIEWER, Role.VIEWER, SessionScope(ids=("session",))),
)
ODD_IDS = ["a/b", "a%2Fb", "..", ".", "~x", "a?b#c", "a b+c", "ünï☃"]
QUICK = ClientOptions(timeout=60, retry_wait=0.001, max_retry_wait=0.01)
Handler = Callable[[httpx2.Request], httpx2.Response]


def reader_of(store: MemoryStore, token: str = WORKER) -> HttpReader:
    app = create_app(store.reader, Access(TOKENS))
    return HttpReader(
        lambda: Api("http://gateway", token), options=QUICK, transport=httpx2.ASGITransport(app)
    )


@pytest.fixture
async def filled(run_store: MemoryStore) -> MemoryStore:
    """A store with a session of several runs, an ended session and a purged one."""
    await begin(run_store)
    await run_store.append_run_record(record("k1", payload=b'{"n": 1.0}'))
    for session in ("ended", "gone"):
        await run_store.create_session(session, NOW)
        await run_store.end_session(session, NOW + timedelta(microseconds=1))
    await run_store.purge_session("gone")
    async with run_store.run("other", "agent", session_id="session", labels={"team": "a=b"}) as run:
        await run.suspend("checkpoint", b"\x00\xff\x80")
    return run_store


READS: dict[str, Callable[[Reader], object]] = {
    "run": lambda reader: reader.load_run("run"),
    "unknown run": lambda reader: reader.load_run("nobody"),
    "suspension": lambda reader: reader.load_run_suspension("other"),
    "no suspension": lambda reader: reader.load_run_suspension("run"),
    "session": lambda reader: reader.load_session("session"),
    "ended session": lambda reader: reader.load_session("ended"),
    "purged session": lambda reader: reader.load_session("gone"),
    "status": lambda reader: reader.load_session_status("session"),
    "status of the empty id": lambda reader: reader.load_session_status(""),
    "runs": lambda reader: reader.list_runs_by_session("session"),
    "runs by status": lambda reader: reader.list_runs_by_session("session", [RunStatus.SUSPENDED]),
    "records": lambda reader: reader.list_run_records("run", "", 100),
    "a page of records": lambda reader: reader.list_run_records("run", "1", 1),
    "records of a session": lambda reader: reader.list_session_run_records("session", "", 2),
    "records of a purged session": lambda reader: reader.list_session_run_records("gone", "", 2),
    "limit before existence": lambda reader: reader.list_run_records("nobody", "", 0),
    "cursor before existence": lambda reader: reader.list_run_records("nobody", "x", 1),
    "sessions": lambda reader: reader.list_sessions(),
    "a page of sessions": lambda reader: reader.list_sessions(limit=1),
    "active sessions": lambda reader: reader.list_sessions(SessionStatus.ACTIVE, "", 10),
    "sessions in scope": lambda reader: reader.list_sessions(scope=SessionScope(prefixes=("en",))),
    "all": lambda reader: reader.search_runs(RunQuery()),
    "a page of all": lambda reader: reader.search_runs(RunQuery(limit=1)),
    "by label": lambda reader: reader.search_runs(RunQuery(labels={"team": "a=b"})),
    "by everything": lambda reader: reader.search_runs(
        RunQuery(
            statuses=(RunStatus.RUNNING, RunStatus.SUSPENDED),
            agent_id="agent",
            session_id="session",
            scope=SessionScope(ids=("session",)),
            started_from=NOW,
            started_until=NOW + timedelta(milliseconds=1),
        )
    ),
}


async def outcome_of(read: object) -> object:
    try:
        return await read  # type: ignore[misc]
    except RunlaneError as error:
        return error.info()


@pytest.mark.parametrize("read", READS.values(), ids=READS.keys())
async def test_each_read_answers_as_the_reader_behind_the_api(
    filled: MemoryStore, read: Callable[[Reader], object]
) -> None:
    reader = reader_of(filled)
    assert await outcome_of(read(reader)) == await outcome_of(read(filled.reader))
    await reader.aclose()


@pytest.mark.parametrize("identifier", ODD_IDS)
async def test_any_id_can_be_read(run_store: MemoryStore, identifier: str) -> None:
    await begin(run_store, identifier, session=identifier)
    reader = reader_of(run_store)
    assert (await reader.load_run(identifier)).run_id == identifier
    assert (await reader.load_session(identifier)).id == identifier
    assert len((await reader.list_run_records(identifier)).records) == 1
    assert len((await reader.search_runs(RunQuery(session_id=identifier))).runs) == 1
    await reader.aclose()


async def test_checkpoints_are_read_with_a_worker_s_token_only(filled: MemoryStore) -> None:
    host = reader_of(filled, HOST)
    with pytest.raises(NotPermitted):
        await host.load_run_suspension("other")
    await host.aclose()


async def test_a_viewer_sees_its_sessions_only(filled: MemoryStore) -> None:
    viewer = reader_of(filled, VIEWER)
    assert (await viewer.load_run("other")).status is RunStatus.SUSPENDED
    with pytest.raises(SessionNotFound):
        await viewer.load_session("ended")
    await viewer.aclose()


async def test_the_errors_are_the_contract_s(filled: MemoryStore) -> None:
    reader = reader_of(filled)
    for error, read in (
        (RunNotFound, reader.load_run("nobody")),
        (RunSuspensionNotFound, reader.load_run_suspension("run")),
        (SessionPurged, reader.load_session("gone")),
        (SessionNotFound, reader.load_session_status("")),
        (InvalidCommand, reader.list_run_records("run", "0", 1)),
        (InvalidCommand, reader.load_run("\ud800")),
    ):
        with pytest.raises(error) as raised:
            await read
        assert type(raised.value) is error
    await reader.aclose()


async def test_a_read_is_repeated_while_the_api_is_away(filled: MemoryStore) -> None:
    problem = Problem.of(Unavailable("the journal does not answer").info(), 503).model_dump_json()
    answers: Iterator[httpx2.Response | Exception] = iter(
        [
            httpx2.Response(503, text=problem, headers={"content-type": PROBLEM_MEDIA_TYPE}),
            httpx2.Response(502, text="<html>bad gateway</html>"),
            httpx2.ConnectError("refused"),
        ]
    )
    through = httpx2.ASGITransport(create_app(filled.reader, Access(TOKENS)))

    class Wire(httpx2.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            answer = next(answers, None)
            if isinstance(answer, Exception):
                raise answer
            if isinstance(answer, httpx2.Response):
                return answer
            return await through.handle_async_request(request)

    reader = HttpReader(lambda: Api("http://gateway", WORKER), options=QUICK, transport=Wire())
    assert (await reader.load_run("run")).run_id == "run"
    await reader.aclose()


async def test_an_api_that_stays_away_is_unavailable() -> None:
    def refuse(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("refused", request=request)

    reader = HttpReader(
        lambda: Api("http://gateway"),
        options=replace(QUICK, timeout=0.02),
        transport=httpx2.MockTransport(refuse),
    )
    with pytest.raises(Unavailable) as away:
        await reader.load_run("run")
    assert away.value.code == "api_unavailable"
    await reader.aclose()


async def test_a_body_of_another_kind_is_unavailable_not_a_crash() -> None:
    reader = HttpReader(
        lambda: Api("http://gateway"),
        # There is time for one try, and none for another after such a pause.
        options=replace(QUICK, retry_wait=600, max_retry_wait=600),
        transport=httpx2.MockTransport(lambda _: httpx2.Response(200, text='{"hello":"world"}')),
    )
    with pytest.raises(Unavailable) as strange:
        await reader.load_run("run")
    assert strange.value.code == "api_body"
    await reader.aclose()


async def test_a_slow_api_is_given_up_in_time() -> None:
    async def never(request: httpx2.Request) -> httpx2.Response:
        await asyncio.Event().wait()
        raise AssertionError(request)

    reader = HttpReader(
        lambda: Api("http://gateway"),
        options=replace(QUICK, timeout=0.02),
        transport=httpx2.MockTransport(never),
    )
    with pytest.raises(Unavailable, match="in time"):
        await reader.load_run("run")
    await reader.aclose()


async def test_each_request_goes_to_the_address_of_now_with_the_token_of_now() -> None:
    seen: list[tuple[str, str]] = []

    def note(request: httpx2.Request) -> httpx2.Response:
        seen.append((str(request.url), request.headers.get("authorization", "")))
        return httpx2.Response(200, text='{"status":"active"}')

    apis = iter([Api("http://one/", "t1"), Api("http://two")])
    reader = HttpReader(lambda: next(apis), options=QUICK, transport=httpx2.MockTransport(note))
    await reader.load_session_status("s")
    await reader.load_session_status("s")
    assert seen == [
        ("http://one/v1/sessions/s/status", "Bearer t1"),
        ("http://two/v1/sessions/s/status", ""),
    ]
    await reader.aclose()


async def test_a_token_is_not_shown_by_a_representation() -> None:
    assert "secret" not in repr(Api("http://one", "secret"))
