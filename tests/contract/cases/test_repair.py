"""Cases of section repair."""

import pytest

from runlane.contract.errors import EventConflict, InvalidCommand, RunNotFound
from runlane.contract.outcomes import NO_RECORD, AppendResult, RepairOutcome, RunRepairResult
from runlane.contract.values import RunStatus, SessionStatus
from tests.contract.cases.world import World, edit


def different(status: RunStatus) -> RunRepairResult:
    return RunRepairResult(RepairOutcome.DIFFERENT_TERMINAL, status, NO_RECORD)


def stored(status: RunStatus) -> RunRepairResult:
    return RunRepairResult(RepairOutcome.STORED, status, AppendResult("2", True, SessionStatus.ACTIVE))


def already(status: RunStatus) -> RunRepairResult:
    return RunRepairResult(
        RepairOutcome.ALREADY_STORED, status, AppendResult("2", False, SessionStatus.ACTIVE)
    )


@pytest.mark.case("C193")
@pytest.mark.parametrize("status", [RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.CANCELED])
def test_a_repair_ends_a_running_run(world: World, status: RunStatus) -> None:
    world.run()
    started = world.meta()
    assert world.ensure(world.make.ensure_end(status)) == stored(status)
    assert world.meta().status is status
    assert world.meta().updated_at > started.updated_at


@pytest.mark.case("C194")
def test_a_repair_can_be_repeated(world: World) -> None:
    world.run()
    world.ensure(world.make.ensure_end())
    assert world.ensure(world.make.ensure_end()) == already(RunStatus.COMPLETED)


def test_a_repair_finds_what_the_workflow_itself_recorded(world: World) -> None:
    world.run()
    world.append(world.make.end())
    assert world.ensure(world.make.ensure_end()) == already(RunStatus.COMPLETED)


@pytest.mark.case("C196")
def test_a_repair_reports_another_end_and_writes_nothing(world: World) -> None:
    world.run()
    world.append(world.make.end())
    world.backend.journal_growth()
    given = world.make.ensure_end()
    others = [
        world.make.ensure_end(key="other"),
        edit(given, record={"turn_id": "turn-9"}),
        world.make.ensure_end(RunStatus.FAILED),
        world.make.ensure_suspended(),
    ]
    assert [world.ensure(command) for command in others] == [different(RunStatus.COMPLETED)] * 4
    assert world.wrote_nothing()


@pytest.mark.case("C197")
def test_a_suspended_run_is_not_ended_by_a_repair(world: World) -> None:
    world.run()
    world.append(world.make.suspend())
    assert world.ensure(world.make.ensure_end()) == different(RunStatus.SUSPENDED)
    assert world.meta().status is RunStatus.SUSPENDED


@pytest.mark.case("C199")
def test_a_repair_suspends_a_running_run(world: World) -> None:
    world.run()
    command = world.make.ensure_suspended()
    assert world.ensure(command) == stored(RunStatus.SUSPENDED)
    assert world.meta().status is RunStatus.SUSPENDED
    assert world.backend.load_run_suspension(command.run_id) == command.suspension


@pytest.mark.case("C200")
def test_a_repeated_suspension_repair_is_compared_whole(world: World) -> None:
    world.run()
    command = world.make.ensure_suspended()
    world.ensure(command)
    assert world.ensure(command) == already(RunStatus.SUSPENDED)
    world.backend.journal_growth()
    others = [
        world.make.ensure_suspended(data=b"other"),
        world.make.ensure_suspended(suspension="other"),
        world.make.ensure_suspended(key="other"),
        edit(command, record={"turn_id": "turn-9"}),
    ]
    assert [world.ensure(other) for other in others] == [different(RunStatus.SUSPENDED)] * 4
    assert world.wrote_nothing()
    assert world.backend.load_run_suspension(command.run_id) == command.suspension


@pytest.mark.case("C202")
def test_a_repair_is_validated_before_the_stored_end_is_looked_at(world: World) -> None:
    world.run()
    world.append(world.make.end())
    command = world.make.ensure_end(RunStatus.CANCELED, reason="user_requested")
    world.refused(command, InvalidCommand, "reason_mismatch")


@pytest.mark.case("C203")
def test_an_unknown_run_is_not_repaired(world: World) -> None:
    world.session()
    world.refused(world.make.ensure_end(), RunNotFound)
    world.refused(world.make.ensure_suspended(), RunNotFound)


@pytest.mark.case("C205")
@pytest.mark.parametrize("repair_first", [True, False])
@pytest.mark.parametrize("same_record", [True, False])
def test_a_repair_and_the_workflows_own_end_store_one_record(
    world: World, repair_first: bool, same_record: bool
) -> None:
    world.run()
    own, repair = world.make.end(), world.make.ensure_end(key="end" if same_record else "repair")
    if repair_first:
        assert world.ensure(repair) == stored(RunStatus.COMPLETED)
    else:
        world.append(own)
        expected = already(RunStatus.COMPLETED) if same_record else different(RunStatus.COMPLETED)
        assert world.ensure(repair) == expected
    assert world.types() == ["run_started", "run_completed"]


@pytest.mark.case("C206")
def test_a_repeated_repair_reports_the_session_as_it_is_now(world: World) -> None:
    world.run()
    world.ensure(world.make.ensure_end())
    world.backend.execute(world.make.end_session())
    result = world.ensure(world.make.ensure_end())
    assert result.outcome is RepairOutcome.ALREADY_STORED
    assert result.record == AppendResult("2", False, SessionStatus.ENDED)


@pytest.mark.parametrize("suspends", [True, False])
def test_a_key_that_is_used_for_something_else_repairs_nothing(world: World, suspends: bool) -> None:
    world.run()
    world.append(world.make.append("taken"))
    command = world.make.ensure_suspended(key="taken") if suspends else world.make.ensure_end(key="taken")
    world.refused(command, EventConflict)
    assert world.meta().status is RunStatus.RUNNING
