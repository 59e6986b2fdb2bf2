"""Cases of section session-admin."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone

import pytest

from runlane.contract.errors import (
    ContractError,
    InvalidCommand,
    RunNotFound,
    SessionActive,
    SessionEnded,
    SessionHasActiveRuns,
    SessionNotFound,
    SessionPurged,
)
from runlane.contract.outcomes import PurgeResult, SessionResult
from runlane.contract.values import RunStatus, Session, SessionStatus
from tests.contract.cases.world import T0, World

LATER = T0 + timedelta(hours=1)


def create(world: World, name: str = "session", at: datetime = T0) -> Session:
    return world.do(world.make.create(name, at), SessionResult).session


def end(world: World, name: str = "session", at: datetime = LATER) -> Session:
    return world.do(world.make.end_session(name, at), SessionResult).session


def purge(world: World, name: str = "session") -> PurgeResult:
    return world.do(world.make.purge(name), PurgeResult)


def session_reads(world: World, name: str) -> list[Callable[[], object]]:
    backend, session = world.backend, world.make.id(name)
    return [
        lambda: backend.load_session(session),
        lambda: backend.load_session_status(session),
        lambda: backend.list_runs_by_session(session),
        lambda: backend.list_session_run_records(session, "", 10),
    ]


@pytest.mark.case("C230")
def test_a_created_session_is_active(world: World) -> None:
    elsewhere = T0.astimezone(timezone(timedelta(hours=5, minutes=30)))
    created = create(world, at=elsewhere)
    assert created == Session(world.make.id("session"), SessionStatus.ACTIVE, T0, None)
    assert created.created_at.tzinfo is UTC
    assert world.backend.load_session(created.id) == created


@pytest.mark.case("C232")
def test_an_active_session_can_be_created_again(world: World) -> None:
    created = create(world)
    world.backend.journal_growth()
    assert create(world, at=LATER) == created
    assert world.wrote_nothing()


@pytest.mark.case("C233")
def test_an_ended_or_purged_session_is_not_created_again(world: World) -> None:
    world.ended_session()
    world.refused(world.make.create(), SessionEnded)
    purge(world)
    world.refused(world.make.create(), SessionPurged)


@pytest.mark.case("C235")
def test_the_end_of_a_session_checks_its_time_first(world: World) -> None:
    world.refused(world.make.end_session(at=None), InvalidCommand, "time_required")
    world.refused(world.make.end_session("", at=None), InvalidCommand, "time_required")
    world.refused(world.make.end_session(), SessionNotFound)
    world.ended_session()
    purge(world)
    world.refused(world.make.end_session(), SessionPurged)


def test_a_session_is_created_with_an_id_and_a_time(world: World) -> None:
    world.refused(world.make.create("", at=None), InvalidCommand, "session_id_required")
    world.refused(world.make.create(at=None), InvalidCommand, "time_required")
    world.refused(world.make.create(at=T0.replace(tzinfo=None)), InvalidCommand, "time_without_zone")


@pytest.mark.case("C236")
def test_the_end_of_a_session_may_be_early_and_finer_than_a_millisecond(world: World) -> None:
    create(world)
    early = T0 - timedelta(days=1, microseconds=1)
    assert end(world, at=early).ended_at == early


def test_an_ended_session_can_be_ended_again(world: World) -> None:
    create(world)
    ended = end(world)
    assert (ended.status, ended.created_at, ended.ended_at) == (SessionStatus.ENDED, T0, LATER)
    world.backend.journal_growth()
    assert end(world, at=T0) == ended
    assert world.wrote_nothing()


@pytest.mark.case("C238")
def test_an_active_session_is_not_purged(world: World) -> None:
    world.run()
    world.refused(world.make.purge(), SessionActive)
    assert world.types() == ["run_started"]


@pytest.mark.case("C239")
def test_a_session_with_running_runs_is_not_purged(world: World) -> None:
    world.run()
    world.run("suspended")
    world.append(world.make.suspend("suspended"))
    end(world)
    world.refused(world.make.purge(), SessionHasActiveRuns)
    assert world.types() == ["run_started"]
    assert world.backend.load_run_suspension(world.make.id("suspended")).data


@pytest.mark.case("C241")
def test_an_ended_session_without_runs_is_purged(world: World) -> None:
    world.ended_session()
    assert purge(world) == PurgeResult(world.make.id("session"))


def test_a_suspended_run_does_not_stop_a_purge(world: World) -> None:
    world.run()
    world.append(world.make.suspend())
    end(world)
    purge(world)
    assert world.missing()
    with pytest.raises(RunNotFound):
        world.backend.load_run_suspension(world.make.id("run"))


@pytest.mark.case("C242")
def test_a_purge_can_be_repeated(world: World) -> None:
    world.refused(world.make.purge(), SessionNotFound)
    world.ended_session()
    first = purge(world)
    world.backend.journal_growth()
    assert purge(world) == first
    assert world.wrote_nothing()


@pytest.mark.case("C244")
def test_nothing_of_a_purged_session_is_read(world: World) -> None:
    world.stopped_run()
    purge(world)
    for read in session_reads(world, "session"):
        with pytest.raises(SessionPurged):
            read()
    assert world.missing()


@pytest.mark.case("C245")
@pytest.mark.guarantee("G7")
def test_a_purged_session_starts_nothing_ever_again(world: World) -> None:
    world.stopped_run()
    purge(world)
    for command in (world.make.root(), world.make.root("new"), world.make.child("new-child")):
        world.refused(command, SessionPurged)


def test_the_runs_of_a_purged_session_are_unknown_to_every_command(world: World) -> None:
    world.stopped_run()
    purge(world)
    for command in (world.make.append(), world.make.cancel(), world.make.suspend(), world.make.end()):
        world.refused(command, RunNotFound)


@pytest.mark.case("C247")
def test_a_purge_leaves_other_sessions_alone(world: World) -> None:
    world.run("run-b", "session-b")
    world.append(world.make.append(run="run-b", session="session-b"))
    world.append(world.make.append("second", run="run-b", session="session-b"))
    other = world.make.id("session-b")
    page = world.backend.list_session_run_records(other, "", 1)
    rest = world.backend.list_session_run_records(other, page.next_cursor, 10)
    before = (world.meta("run-b"), world.records("run-b"))
    world.stopped_run("run-a", "session-a")
    purge(world, "session-a")
    assert (world.meta("run-b"), world.records("run-b")) == before
    assert world.backend.list_session_run_records(other, page.next_cursor, 10) == rest


@pytest.mark.case("C248")
def test_the_status_of_an_unknown_session(world: World) -> None:
    for name in (world.make.id("unknown"), ""):
        with pytest.raises(SessionNotFound):
            world.backend.load_session_status(name)


@pytest.mark.case("C250")
def test_the_runs_of_a_session_by_status(world: World) -> None:
    for name in ("running", "suspended", "completed"):
        world.run(name)
    world.stop(RunStatus.SUSPENDED, "suspended")
    world.stop(RunStatus.COMPLETED, "completed")
    session = world.make.id("session")

    def found(*statuses: RunStatus) -> set[str]:
        return {run.run_id for run in world.backend.list_runs_by_session(session, statuses)}

    every = {world.make.id(name) for name in ("running", "suspended", "completed")}
    assert found() == every
    assert found(RunStatus.RUNNING) == {world.make.id("running")}
    assert found(RunStatus.SUSPENDED, RunStatus.COMPLETED) == every - {world.make.id("running")}
    assert found(RunStatus.FAILED) == set()


@pytest.mark.case("C251")
def test_session_errors_are_contract_errors_of_their_own(world: World) -> None:
    """Host calls and reads refuse with a `ContractError` too (contract 0 wins over the case)."""
    errors = {type(world.refused(world.make.purge(), SessionNotFound))}
    for read in session_reads(world, "unknown"):
        with pytest.raises(ContractError) as caught:
            read()
        errors.add(type(caught.value))
    assert errors == {SessionNotFound}
