"""Cases of section suspension."""

import pytest

from runlane.contract.errors import (
    EventConflict,
    InvalidCommand,
    RunNotFound,
    RunRecordOwnerMismatch,
    RunSuspensionConflict,
    RunSuspensionNotFound,
    RunTerminalConflict,
)
from runlane.contract.outcomes import AppendResult
from runlane.contract.values import RunStatus, RunSuspension, SessionStatus
from tests.contract.cases.world import World, edit


def checkpoint(world: World, run: str = "run") -> RunSuspension:
    return world.backend.load_run_suspension(world.make.id(run))


def has_no_checkpoint(world: World) -> bool:
    with pytest.raises(RunSuspensionNotFound):
        checkpoint(world)
    return True


@pytest.mark.case("C155")
def test_a_running_run_is_suspended(world: World) -> None:
    world.run()
    command = world.make.suspend()
    assert world.append(command) == AppendResult("2", True, SessionStatus.ACTIVE)
    assert world.meta().status is RunStatus.SUSPENDED
    assert checkpoint(world) == command.suspension


def test_a_suspension_can_be_repeated(world: World) -> None:
    world.run()
    started = world.meta()
    command = world.make.suspend()
    world.append(command)
    suspended = world.meta()
    assert suspended.updated_at > started.updated_at
    assert world.append(command) == AppendResult("2", False, SessionStatus.ACTIVE)
    assert world.meta() == suspended


@pytest.mark.case("C157")
def test_another_checkpoint_conflicts(world: World) -> None:
    world.run()
    command = world.make.suspend()
    world.append(command)
    world.refused(world.make.suspend(data=b"other"), RunSuspensionConflict)
    world.refused(world.make.suspend(suspension="other"), RunSuspensionConflict)
    assert checkpoint(world) == command.suspension


@pytest.mark.case("C158")
def test_the_same_checkpoint_under_another_key_conflicts(world: World) -> None:
    world.run()
    world.append(world.make.suspend())
    world.refused(world.make.suspend(key="other"), RunSuspensionConflict)


def test_a_changed_suspension_record_conflicts(world: World) -> None:
    world.run()
    command = world.make.suspend()
    world.append(command)
    world.refused(edit(command, record={"turn_id": "turn-9"}), EventConflict)


@pytest.mark.case("C160")
def test_a_suspension_has_a_run_an_id_and_data(world: World) -> None:
    world.run()
    given = world.make.suspend()
    world.refused(edit(given, run_id=""), InvalidCommand, "run_id_required")
    world.refused(edit(given, suspension={"id": ""}), InvalidCommand, "suspension_id_required")
    world.refused(edit(given, suspension={"data": b""}), InvalidCommand, "suspension_data_required")
    unknown = world.make.suspend("unknown")
    world.refused(edit(unknown, suspension={"id": "", "data": b""}), RunNotFound)


@pytest.mark.case("C161")
def test_the_record_names_the_checkpoint(world: World) -> None:
    world.run()
    command = edit(world.make.suspend(), suspension={"id": "other"})
    world.refused(command, InvalidCommand, "suspension_id_mismatch")
    assert world.meta().status is RunStatus.RUNNING
    assert has_no_checkpoint(world)


@pytest.mark.case("C163")
@pytest.mark.parametrize("field", ["run_id", "agent_id", "session_id"])
def test_a_suspension_record_belongs_to_the_run(world: World, field: str) -> None:
    world.run()
    world.refused(edit(world.make.suspend(), record={field: "other"}), RunRecordOwnerMismatch)


@pytest.mark.case("C164")
@pytest.mark.parametrize("status", [RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.CANCELED])
def test_an_ended_run_is_not_suspended(world: World, status: RunStatus) -> None:
    world.run()
    world.stop(status)
    world.refused(world.make.suspend(), RunTerminalConflict)


@pytest.mark.case("C166")
@pytest.mark.guarantee("G8")
def test_checkpoint_bytes_come_back_identical(world: World) -> None:
    world.run()
    data = bytes(range(256)) * 3 + b"\x00"
    world.append(world.make.suspend(data=data))
    assert checkpoint(world).data == data


@pytest.mark.case("C167")
def test_the_store_keeps_its_own_copy_of_the_checkpoint(world: World) -> None:
    world.run()
    buffer = bytearray(b"checkpoint")
    world.append(edit(world.make.suspend(), suspension={"data": buffer}))
    buffer[:] = b"overwritte"
    loaded = checkpoint(world)
    assert loaded.data == b"checkpoint"
    assert isinstance(loaded.data, bytes), "what a caller gets can't be changed"


@pytest.mark.case("C169")
def test_a_run_of_an_ended_session_may_suspend(world: World) -> None:
    world.run()
    world.backend.execute(world.make.end_session())
    assert world.append(world.make.suspend()) == AppendResult("2", True, SessionStatus.ENDED)


@pytest.mark.case("C170")
def test_a_run_that_never_suspended_has_no_checkpoint(world: World) -> None:
    world.run()
    assert has_no_checkpoint(world)
    with pytest.raises(RunNotFound):
        checkpoint(world, "unknown")
