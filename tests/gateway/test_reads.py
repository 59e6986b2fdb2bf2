"""What each read answers."""

import httpx2
import pytest

from runlane.contract.errors import (
    InvalidCommand,
    RunlaneError,
    RunNotFound,
    RunSuspensionNotFound,
    SessionNotFound,
    SessionPurged,
    Unavailable,
    from_info,
)
from runlane.contract.http_models import (
    Problem,
    RecordPageBody,
    RunBody,
    RunPageBody,
    RunsBody,
    SessionBody,
    SessionPageBody,
    SessionStatusBody,
    SuspensionBody,
    path_segment,
)
from runlane.contract.values import RunStatus, RunSuspension, SessionStatus
from tests.gateway.memory_reader import MemoryReader, a_record, a_run

AWKWARD_IDS = [
    "plain",
    "a/b",
    "/",
    "%2F",
    "a%2Fb",
    ".",
    "..",
    "../x",
    "~",
    "~..",
    "a?b=c#d",
    "ünï—✓",
    "a b+c",
    "%",
]


def the_error(answer: httpx2.Response) -> RunlaneError:
    assert answer.headers["content-type"] == "application/problem+json"
    body = Problem.model_validate_json(answer.content)
    assert body.status == answer.status_code
    return from_info(body.info())


async def test_a_run_comes_back_as_it_was_stored(worker: httpx2.AsyncClient, reader: MemoryReader) -> None:
    reader.add_run("r1", "s1", status=RunStatus.CANCELED, cancellation_reason="user_requested")

    answer = await worker.get("/v1/runs/r1")

    assert RunBody.model_validate_json(answer.content).value() == reader.runs["r1"]


@pytest.mark.parametrize("run_id", AWKWARD_IDS)
async def test_every_printable_id_is_a_path_segment(
    worker: httpx2.AsyncClient, reader: MemoryReader, run_id: str
) -> None:
    reader.add_run(run_id)
    reader.records.append(a_record(run_id, "", 1))

    run = await worker.get(f"/v1/runs/{path_segment(run_id)}")
    records = await worker.get(f"/v1/runs/{path_segment(run_id)}/records")

    assert RunBody.model_validate_json(run.content).run_id == run_id
    assert [one.run_id for one in RecordPageBody.model_validate_json(records.content).records] == [run_id]


async def test_an_id_that_is_no_utf8_is_refused(worker: httpx2.AsyncClient) -> None:
    error = the_error(await worker.get("/v1/runs/%FF"))

    assert isinstance(error, InvalidCommand)
    assert error.code == "id_not_unicode"


async def test_checkpoint_bytes_come_back_identical(worker: httpx2.AsyncClient, reader: MemoryReader) -> None:
    reader.add_run("r1")
    reader.suspensions["r1"] = RunSuspension("cp", bytes(range(256)))

    answer = await worker.get("/v1/runs/r1/suspension")

    assert SuspensionBody.model_validate_json(answer.content).value() == reader.suspensions["r1"]


async def test_payloads_keep_their_exact_text(worker: httpx2.AsyncClient, reader: MemoryReader) -> None:
    reader.add_run("r1", "s1")
    payload = '{ "b":1e2,\n\t"a":"\\u00e9é\\ud83d\\ude00", "n":1180591620717411303424}'.encode()
    reader.records.append(a_record("r1", "s1", 1, payload))

    answer = await worker.get("/v1/runs/r1/records")

    page = RecordPageBody.model_validate_json(answer.content).value()
    assert page.records == (reader.records[0],)
    assert page.records[0].payload == payload


@pytest.mark.case("C253")
async def test_pages_follow_their_cursor_to_the_end(worker: httpx2.AsyncClient, reader: MemoryReader) -> None:
    reader.add_run("r1", "s1")
    reader.add_session("s1")
    reader.records.extend(a_record("r1", "s1", seq) for seq in range(1, 5))

    for path in ("/v1/runs/r1/records", "/v1/sessions/s1/records"):
        first = RecordPageBody.model_validate_json((await worker.get(path, params={"limit": 2})).content)
        bounds = {"limit": 2, "cursor": first.next_cursor}
        second = RecordPageBody.model_validate_json((await worker.get(path, params=bounds)).content)

        assert [one.seq for one in (*first.records, *second.records)] == [1, 2, 3, 4]
        assert second.next_cursor == ""


async def test_a_session_and_its_state(worker: httpx2.AsyncClient, reader: MemoryReader) -> None:
    reader.add_session("s1", SessionStatus.ENDED)

    session = await worker.get("/v1/sessions/s1")
    status = await worker.get("/v1/sessions/s1/status")

    assert SessionBody.model_validate_json(session.content).value() == reader.sessions["s1"]
    assert SessionStatusBody.model_validate_json(status.content).status is SessionStatus.ENDED


@pytest.mark.case("C250")
async def test_runs_of_a_session_by_state(worker: httpx2.AsyncClient, reader: MemoryReader) -> None:
    reader.add_session("s1")
    reader.add_run("r1", "s1")
    reader.add_run("r2", "s1", status=RunStatus.FAILED)
    reader.add_run("r3", "other")

    async def ids(query: str) -> set[str]:
        answer = await worker.get(f"/v1/sessions/s1/runs{query}")
        return {run.run_id for run in RunsBody.model_validate_json(answer.content).runs}

    assert await ids("") == {"r1", "r2"}
    assert await ids("?status=failed&status=canceled") == {"r2"}
    assert await ids("?status=suspended") == set()


async def test_sessions_by_state_and_page(worker: httpx2.AsyncClient, reader: MemoryReader) -> None:
    for name in ("a", "b", "c"):
        reader.add_session(name)
    reader.add_session("d", SessionStatus.ENDED)

    first = SessionPageBody.model_validate_json((await worker.get("/v1/sessions?limit=2")).content).value()
    rest = await worker.get(f"/v1/sessions?status=active&cursor={first.next_cursor}")

    assert [session.id for session in first.sessions] == ["a", "b"]
    assert [session.id for session in SessionPageBody.model_validate_json(rest.content).sessions] == ["c"]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", {"r1", "r2", "r3"}),
        ("status=failed", {"r2"}),
        ("status=failed&status=running", {"r1", "r2", "r3"}),
        ("agent=other", {"r3"}),
        ("session=s2", {"r2"}),
        ("label=team=red&label=a=b=c", {"r3"}),
        ("from=2026-03-01T14:00:00%2B01:00", {"r2"}),
        ("until=2026-03-01T12:30:00Z", {"r1", "r3"}),
        ("in_session=s2&in_prefix=s1", {"r1", "r2"}),
    ],
)
async def test_searches(
    worker: httpx2.AsyncClient, reader: MemoryReader, query: str, found: set[str]
) -> None:
    later = a_run("x").started_at.replace(hour=13)
    reader.add_run("r1", "s1")
    reader.add_run("r2", "s2", status=RunStatus.FAILED, started_at=later)
    reader.add_run("r3", agent_id="other", labels={"team": "red", "a": "b=c"})

    answer = await worker.get(f"/v1/runs?{query}")

    page = RunPageBody.model_validate_json(answer.content).value()
    assert {run.run_id for run in page.runs} == found
    assert page.as_of is not None


@pytest.mark.parametrize(
    ("path", "error", "status"),
    [
        ("/v1/runs/none", RunNotFound, 404),
        ("/v1/runs/none/records", RunNotFound, 404),
        ("/v1/runs/r1/suspension", RunSuspensionNotFound, 404),
        ("/v1/sessions/none", SessionNotFound, 404),
        ("/v1/sessions/~/status", SessionNotFound, 404),
        ("/v1/sessions/gone", SessionPurged, 410),
        ("/v1/sessions/gone/runs", SessionPurged, 410),
    ],
)
async def test_what_is_not_there(
    worker: httpx2.AsyncClient, reader: MemoryReader, *, path: str, error: type[RunlaneError], status: int
) -> None:
    reader.add_run("r1")
    reader.purged.add("gone")

    answer = await worker.get(path)

    assert type(the_error(answer)) is error
    assert answer.status_code == status


@pytest.mark.case("C254")
@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("limit=0", "invalid_limit"),
        ("limit=-1", "invalid_limit"),
        ("cursor=x", "invalid_cursor"),
        ("limit=many", "invalid_parameter"),
    ],
)
async def test_bounds_are_checked_before_existence(worker: httpx2.AsyncClient, query: str, code: str) -> None:
    error = the_error(await worker.get(f"/v1/runs/none/records?{query}"))

    assert isinstance(error, InvalidCommand)
    assert error.code == code


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("status=sleeping", "invalid_parameter"),
        ("label=novalue", "invalid_label_filter"),
        ("label=a=1&label=a=2", "invalid_label_filter"),
        ("from=2026-03-01T12:00:00", "time_without_zone"),
        ("until=yesterday", "invalid_parameter"),
    ],
)
async def test_a_bad_filter_is_refused_and_not_echoed(
    worker: httpx2.AsyncClient, query: str, code: str
) -> None:
    answer = await worker.get(f"/v1/runs?{query}")

    assert the_error(answer).code == code
    assert query.rpartition("=")[2] not in answer.text


async def test_a_journal_that_does_not_answer_is_a_temporary_failure(
    worker: httpx2.AsyncClient, reader: MemoryReader
) -> None:
    reader.failure = Unavailable("the journal does not answer")

    answer = await worker.get("/v1/runs/r1")

    assert answer.status_code == 503
    assert isinstance(the_error(answer), Unavailable)


async def test_an_unforeseen_fault_tells_nothing_of_itself(
    worker: httpx2.AsyncClient, reader: MemoryReader, caplog: pytest.LogCaptureFixture
) -> None:
    reader.failure = ValueError('{"secret": "payload"}')

    answer = await worker.get("/v1/runs/r1")

    assert answer.status_code == 500
    assert the_error(answer).code == "internal"
    assert "secret" not in answer.text + caplog.text
    assert "ValueError" in caplog.text


@pytest.mark.parametrize(
    ("method", "path", "status"), [("GET", "/v1/nothing", 404), ("POST", "/v1/runs", 405)]
)
async def test_unknown_paths_are_problems_too(
    worker: httpx2.AsyncClient, method: str, path: str, status: int
) -> None:
    answer = await worker.request(method, path)

    assert answer.status_code == status
    assert isinstance(the_error(answer), InvalidCommand)
