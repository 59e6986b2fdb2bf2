"""Cases of section terminal."""

import pytest

from runlane.contract.commands import RecordRunTerminal
from runlane.contract.errors import (
    EventConflict,
    InvalidCommand,
    RunNotFound,
    RunRecordOwnerMismatch,
    RunTerminalConflict,
)
from runlane.contract.outcomes import AppendResult
from runlane.contract.values import RunStatus, SessionStatus
from tests.contract.cases.world import MILLISECOND, T0, World, completion, edit

INSERTED = AppendResult("2", True, SessionStatus.ACTIVE)
REPEATED = AppendResult("2", False, SessionStatus.ACTIVE)


@pytest.mark.case("C172")
def test_a_run_completes(world: World) -> None:
    world.run()
    assert world.append(world.make.end()) == INSERTED
    assert world.meta().status is RunStatus.COMPLETED
    assert world.types() == ["run_started", "run_completed"]


@pytest.mark.case("C173")
def test_a_run_fails(world: World) -> None:
    world.run()
    assert world.append(world.make.end(RunStatus.FAILED)) == INSERTED
    assert world.meta().status is RunStatus.FAILED


@pytest.mark.case("C175")
@pytest.mark.parametrize(
    "payload",
    [
        completion(RunStatus.FAILED).encode(),
        b'{"status":"failed","phase":"completed","failure":{"message":"m","kind":"internal"}}',
    ],
)
def test_the_payload_says_what_the_command_says(world: World, payload: bytes) -> None:
    world.run()
    command = edit(world.make.end(), record={"payload": payload})
    world.refused(command, InvalidCommand, "status_mismatch")
    assert world.meta().status is RunStatus.RUNNING


@pytest.mark.case("C176")
def test_a_success_has_the_phase_completed(world: World) -> None:
    world.run()
    payload = b'{"status":"success","phase":"failed"}'
    world.refused(edit(world.make.end(), record={"payload": payload}), InvalidCommand, "status_mismatch")


@pytest.mark.parametrize("status", ["suspended", "running", "done", ""])
def test_only_three_states_end_a_run(world: World, status: str) -> None:
    world.run()
    command = world.make.end()
    strange = RecordRunTerminal(command.run_id, status, command.record)
    world.refused(strange, InvalidCommand, "status_not_terminal")


def test_the_completion_has_the_runs_labels(world: World) -> None:
    world.run(labels={"a": "1"})
    world.refused(world.make.end(labels={"a": "2"}), InvalidCommand, "labels_mismatch")
    assert world.append(world.make.end(labels={"a": "1"})).inserted


@pytest.mark.case("C178")
def test_an_end_can_be_repeated(world: World) -> None:
    world.run()
    started = world.meta()
    world.append(world.make.end())
    ended = world.meta()
    assert ended.updated_at > started.updated_at
    assert world.append(world.make.end()) == REPEATED
    assert world.meta() == ended


@pytest.mark.case("C179")
def test_another_terminal_state_conflicts(world: World) -> None:
    world.run()
    world.append(world.make.end())
    world.refused(world.make.end(RunStatus.FAILED), RunTerminalConflict)
    assert world.meta().status is RunStatus.COMPLETED


def test_another_terminal_key_conflicts(world: World) -> None:
    world.run()
    world.append(world.make.end())
    world.refused(world.make.end(key="other"), RunTerminalConflict)


def test_a_suspended_run_does_not_end(world: World) -> None:
    world.run()
    world.append(world.make.suspend())
    world.refused(world.make.end(), RunTerminalConflict)


@pytest.mark.case("C181")
@pytest.mark.parametrize(("field", "value"), [("timestamp", T0 + MILLISECOND), ("turn_id", "turn-9")])
def test_a_changed_terminal_record_conflicts(world: World, field: str, value: object) -> None:
    world.run()
    command = world.make.end()
    world.append(command)
    world.refused(edit(command, record={field: value}), EventConflict)


@pytest.mark.case("C182")
def test_another_failure_message_conflicts(world: World) -> None:
    world.run()
    command = world.make.end(RunStatus.FAILED)
    world.append(command)
    assert command.record is not None
    payload = command.record.payload.replace(b"gave up", b"gave in")
    world.refused(edit(command, record={"payload": payload}), EventConflict)


@pytest.mark.case("C184")
def test_an_unknown_run_does_not_end(world: World) -> None:
    world.session()
    world.refused(world.make.end(), RunNotFound)


@pytest.mark.case("C185")
@pytest.mark.parametrize("field", ["run_id", "agent_id", "session_id"])
def test_a_terminal_record_belongs_to_the_run(world: World, field: str) -> None:
    world.run()
    world.refused(edit(world.make.end(), record={field: "other"}), RunRecordOwnerMismatch)


@pytest.mark.case("C187")
def test_the_terminal_time_is_free(world: World) -> None:
    world.run()
    early = edit(world.make.end(), record={"timestamp": T0 - 3_600_000 * MILLISECOND})
    assert world.append(early) == INSERTED


@pytest.mark.case("C188")
def test_a_run_stopped_at_its_start_can_be_ended_by_its_own_record_only(world: World) -> None:
    start = world.stopped_run()
    same = RecordRunTerminal(start.run.run_id, RunStatus.CANCELED, start.canceled)
    assert world.append(same) == AppendResult("2", False, SessionStatus.ENDED)
    world.refused(world.make.end(), RunTerminalConflict)
    world.refused(world.make.end(RunStatus.CANCELED, reason="session_ended"), RunTerminalConflict)
    world.refused(world.make.end(RunStatus.CANCELED), InvalidCommand, "reason_mismatch")


@pytest.mark.case("C190")
def test_a_key_that_is_used_for_something_else_ends_nothing(world: World) -> None:
    world.run()
    world.append(world.make.append("end"))
    world.refused(world.make.end(), EventConflict)
    assert world.meta().status is RunStatus.RUNNING


@pytest.mark.case("C191")
def test_children_outlive_their_parent(world: World) -> None:
    world.run_with_child()
    assert world.append(world.make.end()).inserted
    assert world.meta("child").status is RunStatus.RUNNING
    assert world.append(world.make.append(run="child", agent="child-agent")).inserted


def test_a_run_of_an_ended_session_may_end(world: World) -> None:
    world.run()
    world.backend.execute(world.make.end_session())
    assert world.append(world.make.end()) == AppendResult("2", True, SessionStatus.ENDED)
