"""Cases of section root-start."""

import pytest

from runlane.contract.errors import EventConflict, RunConflict, SessionNotFound, SessionPurged
from runlane.contract.outcomes import NO_RECORD, AppendResult
from runlane.contract.payloads import RunCompleted, RunStarted
from runlane.contract.values import RunStatus, SessionStatus, StartOutcome
from tests.contract.cases.world import MILLISECOND, T0, World, edit

ENDS = [RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.CANCELED, RunStatus.SUSPENDED]


@pytest.mark.case("C044")
def test_a_root_run_proceeds_in_an_active_session(world: World) -> None:
    world.session()
    result = world.start_root(world.make.root())
    assert result.outcome is StartOutcome.PROCEED
    assert result.started == AppendResult("1", True, SessionStatus.ACTIVE)
    assert result.canceled == NO_RECORD
    meta = world.meta()
    assert (meta.status, meta.start_outcome) == (RunStatus.RUNNING, StartOutcome.PROCEED)
    assert meta.cancellation_reason == ""
    assert meta.started_at == T0


@pytest.mark.case("C046")
def test_an_unknown_session_starts_nothing(world: World) -> None:
    world.refused(world.make.root(), SessionNotFound)
    assert world.missing()


@pytest.mark.case("C047")
def test_a_purged_session_starts_nothing(world: World) -> None:
    world.ended_session()
    world.backend.execute(world.make.purge())
    world.refused(world.make.root(), SessionPurged)


@pytest.mark.case("C049")
def test_a_stopped_start_leaves_no_cancellation_intent(world: World) -> None:
    world.stopped_run()
    assert world.types() == ["run_started", "run_completed"]


@pytest.mark.case("C050")
def test_a_session_that_ends_before_the_start_stops_it(world: World) -> None:
    world.ended_session()
    result = world.start_root(world.make.root())
    assert result.outcome is StartOutcome.STOP
    assert result.started == AppendResult("1", True, SessionStatus.ENDED)
    assert result.canceled == AppendResult("2", True, SessionStatus.ENDED)
    assert world.meta().status is RunStatus.CANCELED


@pytest.mark.case("C052")
def test_the_end_of_the_session_does_not_change_a_repeated_start(world: World) -> None:
    command = world.run()
    world.backend.execute(world.make.end_session())
    again = world.start_root(command)
    assert again.outcome is StartOutcome.PROCEED
    assert again.started == AppendResult("1", False, SessionStatus.ENDED)
    assert again.canceled == NO_RECORD
    assert world.types() == ["run_started"]


@pytest.mark.case("C053")
@pytest.mark.parametrize("status", ENDS)
def test_a_start_can_be_repeated_after_its_run_has_stopped(world: World, status: RunStatus) -> None:
    command = world.run()
    world.stop(status)
    again = world.start_root(command)
    assert (again.outcome, again.started.id, again.started.inserted) == (StartOutcome.PROCEED, "1", False)
    assert world.meta().status is status


@pytest.mark.case("C055")
def test_another_start_time_is_another_run(world: World) -> None:
    world.run()
    world.refused(world.make.root(at=T0 + MILLISECOND), RunConflict)


@pytest.mark.case("C056")
def test_other_labels_are_another_run(world: World) -> None:
    world.run(labels={"a": "1"})
    world.refused(world.make.root(labels={"a": "2"}), RunConflict)
    world.refused(world.make.root(), RunConflict)


@pytest.mark.case("C058")
def test_a_run_id_belongs_to_the_session_that_first_used_it(world: World) -> None:
    world.run(session="session-a")
    world.session("session-b")
    world.refused(world.make.root(session="session-b"), RunConflict)
    world.refused(world.make.root(session="session-unknown"), RunConflict)


@pytest.mark.case("C059")
def test_another_started_key_is_another_run(world: World) -> None:
    command = world.run()
    world.refused(edit(command, started={"event_key": "other"}), RunConflict)
    assert world.types() == ["run_started"]


@pytest.mark.case("C061")
def test_a_reformatted_started_payload_conflicts(world: World) -> None:
    command = world.run()
    error = world.refused(edit(command, started={"payload": b"{ }"}), EventConflict)
    assert isinstance(error, EventConflict)
    assert (error.run_id, error.event_key) == (command.run.run_id, "run-start")


@pytest.mark.case("C062")
def test_the_unused_canceled_record_is_not_compared(world: World) -> None:
    command = world.run()
    again = world.start_root(edit(command, canceled={"event_key": "other", "turn_id": "turn-9"}))
    assert again.started == AppendResult("1", False, SessionStatus.ACTIVE)


@pytest.mark.case("C064")
def test_the_canceled_record_of_a_stopped_run_is_compared(world: World) -> None:
    command = world.stopped_run()
    assert world.start_root(command).canceled == AppendResult("2", False, SessionStatus.ENDED)
    world.refused(edit(command, canceled={"event_key": "other"}), RunConflict)
    world.refused(edit(command, canceled={"turn_id": "turn-9"}), EventConflict)


@pytest.mark.case("C065")
def test_a_sessionless_runs_id_is_taken(world: World) -> None:
    world.start_one_shot(world.make.one_shot())
    world.session()
    world.refused(world.make.root(), RunConflict)


@pytest.mark.case("C067")
def test_a_purge_does_not_let_an_old_start_come_back(world: World) -> None:
    command = world.run()
    world.stop(RunStatus.COMPLETED)
    world.backend.execute(world.make.end_session())
    world.backend.execute(world.make.purge())
    world.refused(command, SessionPurged)
    assert world.missing()


@pytest.mark.case("C068")
def test_the_store_keeps_what_it_was_given_and_not_the_callers_objects(world: World) -> None:
    world.session()
    labels = {"a": "1"}
    payload = bytearray(RunStarted(labels=labels).encode())
    kept = bytes(payload)
    command = edit(world.make.root(labels=labels), run={"labels": labels}, started={"payload": payload})
    world.start_root(command)
    labels["a"] = "2"
    payload[:] = b"x" * len(payload)
    assert dict(world.meta().labels) == {"a": "1"}
    assert world.records()[0].payload == kept


@pytest.mark.case("C070")
@pytest.mark.parametrize("ended_first", [True, False])
def test_a_start_falls_wholly_before_or_after_the_end_of_its_session(world: World, ended_first: bool) -> None:
    world.session()
    commands = [world.make.end_session(), world.make.root()]
    for command in commands if ended_first else reversed(commands):
        world.backend.execute(command)
    expected = ["run_started", "run_completed"] if ended_first else ["run_started"]
    assert world.types() == expected
    assert world.meta().start_outcome is (StartOutcome.STOP if ended_first else StartOutcome.PROCEED)


def test_a_stopped_start_says_why(world: World) -> None:
    world.stopped_run()
    completion = RunCompleted.canceled("session_ended").encode()
    assert world.records()[1].payload == completion
    assert world.meta().cancellation_reason == "session_ended"
