"""Cases of sections cancellation and cancellation-provenance."""

import pytest

from runlane.contract.errors import (
    EventConflict,
    InvalidCommand,
    RunCancellationConflict,
    RunNotActive,
    RunNotFound,
    RunRecordOwnerMismatch,
)
from runlane.contract.outcomes import AppendResult
from runlane.contract.values import RunStatus, SessionStatus
from tests.contract.cases.world import MILLISECOND, T0, World, edit

ENDS = [RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.CANCELED, RunStatus.SUSPENDED]


@pytest.mark.case("C127")
def test_a_cancellation_can_be_repeated(world: World) -> None:
    world.run()
    started = world.meta()
    assert world.append(world.make.cancel()) == AppendResult("2", True, SessionStatus.ACTIVE)
    canceled = world.meta()
    assert (canceled.status, canceled.cancellation_reason) == (RunStatus.RUNNING, "user_requested")
    assert canceled.updated_at > started.updated_at
    assert world.append(world.make.cancel()) == AppendResult("2", False, SessionStatus.ACTIVE)
    assert world.meta() == canceled


@pytest.mark.case("C128")
@pytest.mark.parametrize("key", ["cancel", "other"])
def test_the_first_reason_stays(world: World, key: str) -> None:
    world.run()
    world.append(world.make.cancel("first"))
    world.refused(world.make.cancel("second", key=key), RunCancellationConflict)
    assert world.meta().cancellation_reason == "first"


@pytest.mark.case("C130")
@pytest.mark.parametrize(("field", "value"), [("timestamp", T0 + MILLISECOND), ("turn_id", "turn-9")])
def test_a_changed_cancellation_record_conflicts(world: World, field: str, value: object) -> None:
    world.run()
    command = world.make.cancel()
    world.append(command)
    world.refused(edit(command, record={field: value}), EventConflict)


def test_the_same_reason_under_another_key_conflicts(world: World) -> None:
    world.run()
    world.append(world.make.cancel())
    world.refused(world.make.cancel(key="other"), RunCancellationConflict)


@pytest.mark.case("C131")
def test_the_payload_names_the_commands_reason(world: World) -> None:
    world.run()
    world.refused(edit(world.make.cancel(), reason="other"), InvalidCommand, "reason_mismatch")
    assert world.meta().cancellation_reason == ""


def test_a_cancellation_has_a_reason_and_a_record(world: World) -> None:
    world.run()
    world.refused(edit(world.make.cancel(), reason=""), InvalidCommand, "reason_required")
    world.refused(edit(world.make.cancel(), run_id=""), InvalidCommand, "run_id_required")
    world.refused(edit(world.make.cancel(), record=None), InvalidCommand, "record_required")


@pytest.mark.case("C133")
def test_a_cancellation_record_has_the_cancellation_type(world: World) -> None:
    world.run()
    command = edit(world.make.cancel(), record={"type": "planner_note"})
    world.refused(command, InvalidCommand, "record_type_mismatch")


@pytest.mark.case("C134")
@pytest.mark.parametrize("field", ["run_id", "agent_id", "session_id"])
def test_a_cancellation_record_belongs_to_the_run(world: World, field: str) -> None:
    world.run()
    world.refused(edit(world.make.cancel(), record={field: "other"}), RunRecordOwnerMismatch)


@pytest.mark.case("C136")
def test_an_unknown_run_can_not_be_canceled(world: World) -> None:
    world.session()
    world.refused(world.make.cancel(), RunNotFound)
    world.refused(edit(world.make.cancel(), reason=""), RunNotFound)


@pytest.mark.case("C137")
@pytest.mark.parametrize("status", ENDS)
def test_a_stopped_run_can_not_be_canceled(world: World, status: RunStatus) -> None:
    world.run()
    world.stop(status)
    world.refused(world.make.cancel(), RunNotActive)
    assert world.meta().cancellation_reason == ""


@pytest.mark.parametrize("status", ENDS)
def test_a_cancellation_can_be_repeated_after_the_run_has_stopped(world: World, status: RunStatus) -> None:
    world.run()
    world.append(world.make.cancel())
    world.stop(status, **{} if status is RunStatus.SUSPENDED else {"reason": "user_requested"})
    assert world.append(world.make.cancel()) == AppendResult("2", False, SessionStatus.ACTIVE)


@pytest.mark.case("C139")
def test_a_key_that_is_used_for_something_else_cancels_nothing(world: World) -> None:
    world.run()
    world.append(world.make.append("cancel"))
    world.refused(world.make.cancel(), EventConflict)
    assert world.meta().cancellation_reason == ""


@pytest.mark.case("C140")
def test_a_run_stopped_at_its_start_can_not_be_canceled(world: World) -> None:
    world.stopped_run()
    world.refused(world.make.cancel("session_ended"), RunNotActive)
    world.refused(world.make.cancel("user_requested"), RunCancellationConflict)


@pytest.mark.case("C142")
def test_a_canceled_run_may_suspend(world: World) -> None:
    world.run()
    world.append(world.make.cancel())
    assert world.append(world.make.suspend()).inserted
    assert world.meta().cancellation_reason == "user_requested"


@pytest.mark.case("C143")
def test_a_canceled_run_still_takes_records(world: World) -> None:
    world.run()
    world.append(world.make.cancel())
    assert world.append(world.make.append()).inserted


@pytest.mark.case("C145")
def test_canceling_a_child_changes_only_the_child(world: World) -> None:
    world.run_with_child()
    parent = world.meta()
    world.append(world.make.cancel(run="child", agent="child-agent"))
    assert world.meta("child").cancellation_reason == "user_requested"
    assert world.meta() == parent


@pytest.mark.case("C146")
@pytest.mark.parametrize("reasons", [("first", "second"), ("second", "first")])
def test_one_of_two_cancellations_wins(world: World, reasons: tuple[str, str]) -> None:
    world.run()
    winner, loser = (world.make.cancel(reason, key=f"cancel-{reason}") for reason in reasons)
    assert world.append(winner).inserted
    world.refused(loser, RunCancellationConflict)
    assert world.meta().cancellation_reason == reasons[0]
    assert world.types().count("runtime.cancellation_intent") == 1


@pytest.mark.case("C148")
def test_a_canceled_completion_carries_the_recorded_reason(world: World) -> None:
    world.run()
    world.append(world.make.cancel("user_requested"))
    for reason in ("other", "engine_canceled"):
        world.refused(world.make.end(RunStatus.CANCELED, reason=reason), InvalidCommand, "reason_mismatch")
    assert world.meta().status is RunStatus.RUNNING
    assert world.append(world.make.end(RunStatus.CANCELED, reason="user_requested")).inserted


@pytest.mark.case("C149")
def test_an_unasked_cancellation_is_the_engines(world: World) -> None:
    world.run()
    world.refused(
        world.make.end(RunStatus.CANCELED, reason="user_requested"), InvalidCommand, "reason_mismatch"
    )
    assert world.append(world.make.end(RunStatus.CANCELED, reason="engine_canceled")).inserted
    assert world.meta().cancellation_reason == ""
    assert world.types() == ["run_started", "run_completed"]


@pytest.mark.case("C151")
def test_a_stopped_start_is_canceled_because_the_session_ended(world: World) -> None:
    world.stopped_run()
    assert world.meta().cancellation_reason == "session_ended"
    assert world.types() == ["run_started", "run_completed"]
    assert b'{"reason":"session_ended"}' in world.records()[1].payload


@pytest.mark.case("C152")
def test_a_canceled_run_may_still_fail(world: World) -> None:
    world.run()
    world.append(world.make.cancel())
    assert world.append(world.make.end(RunStatus.FAILED)).inserted
    meta = world.meta()
    assert (meta.status, meta.cancellation_reason) == (RunStatus.FAILED, "user_requested")
