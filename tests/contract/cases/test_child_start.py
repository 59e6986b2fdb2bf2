"""Cases of section child-start."""

import pytest

from runlane.contract.errors import (
    EventConflict,
    RunConflict,
    RunNotActive,
    RunNotFound,
    RunRecordOwnerMismatch,
)
from runlane.contract.outcomes import NO_RECORD, AppendResult
from runlane.contract.payloads import ChildRunLinked
from runlane.contract.values import RunStatus, SessionStatus, StartOutcome
from tests.contract.cases.world import MILLISECOND, T0, World, edit


@pytest.mark.case("C071")
def test_a_child_start_writes_on_parent_and_child(world: World) -> None:
    world.run()
    result = world.start_child(world.make.child())
    assert result.outcome is StartOutcome.PROCEED
    assert result.parent_record == AppendResult("2", True, SessionStatus.ACTIVE)
    assert result.started == AppendResult("1", True, SessionStatus.ACTIVE)
    assert result.canceled == NO_RECORD
    meta = world.meta("child")
    assert (meta.status, meta.parent_run_id) == (RunStatus.RUNNING, world.make.id("run"))


@pytest.mark.case("C073")
def test_the_parents_records_hold_the_link(world: World) -> None:
    world.run()
    world.append(world.make.append())
    world.start_child(world.make.child())
    link = world.records()[2]
    assert (link.type, link.id) == ("child_run_linked", "3")
    assert (link.run_id, link.agent_id) == (world.make.id("run"), "agent")


@pytest.mark.case("C074")
def test_a_child_of_a_running_parent_is_stopped_in_an_ended_session(world: World) -> None:
    world.run()
    world.backend.execute(world.make.end_session())
    result = world.start_child(world.make.child())
    assert result.outcome is StartOutcome.STOP
    assert [result.parent_record, result.started, result.canceled] == [
        AppendResult("2", True, SessionStatus.ENDED),
        AppendResult("1", True, SessionStatus.ENDED),
        AppendResult("2", True, SessionStatus.ENDED),
    ]
    child = world.meta("child")
    assert (child.status, child.cancellation_reason) == (RunStatus.CANCELED, "session_ended")
    assert world.meta().status is RunStatus.RUNNING


@pytest.mark.case("C076")
def test_a_parent_of_another_session_is_unknown(world: World) -> None:
    world.run("run", "session-a")
    world.session("session-b")
    world.refused(world.make.child(session="session-b"), RunNotFound)
    assert world.missing("child")


@pytest.mark.case("C077")
def test_the_links_agent_is_the_parents(world: World) -> None:
    world.run()
    world.refused(world.make.child(parent_agent="other"), RunRecordOwnerMismatch)
    assert world.types() == ["run_started"]


@pytest.mark.case("C079")
@pytest.mark.parametrize(
    "status", [RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.CANCELED, RunStatus.SUSPENDED]
)
def test_a_stopped_parent_gets_no_new_child(world: World, status: RunStatus) -> None:
    world.run()
    world.stop(status)
    world.refused(world.make.child(), RunNotActive)
    assert world.missing("child")


@pytest.mark.case("C080")
def test_a_parent_stopped_at_its_start_gets_no_child(world: World) -> None:
    world.stopped_run()
    world.refused(world.make.child(), RunNotActive)


@pytest.mark.case("C082")
def test_the_end_of_the_session_does_not_change_a_repeated_child_start(world: World) -> None:
    command = world.run_with_child()
    world.backend.execute(world.make.end_session())
    again = world.start_child(command)
    assert again.outcome is StartOutcome.PROCEED
    assert again.parent_record == AppendResult("2", False, SessionStatus.ENDED)
    assert again.started == AppendResult("1", False, SessionStatus.ENDED)
    assert again.canceled == NO_RECORD


def test_a_child_start_can_be_repeated_after_its_parent_has_stopped(world: World) -> None:
    command = world.run_with_child()
    world.stop(RunStatus.COMPLETED)
    assert not world.start_child(command).started.inserted


@pytest.mark.case("C083")
def test_another_link_key_is_another_run(world: World) -> None:
    command = world.run_with_child()
    world.refused(edit(command, parent_linked={"event_key": "unused"}), RunConflict)
    assert world.types() == ["run_started", "child_run_linked"]


@pytest.mark.case("C085")
@pytest.mark.parametrize("field", ["tool_call_id", "tool_name", "timestamp", "turn_id"])
def test_the_link_of_an_accepted_child_is_compared(world: World, field: str) -> None:
    command = world.run_with_child()
    names = {"tool_name": "svc.delegate", "tool_call_id": "call-child"}
    changed: dict[str, object] = {"timestamp": T0 + MILLISECOND, "turn_id": "turn-9"}
    if field in names:
        link = ChildRunLinked(
            child_run_id=command.run.run_id,
            child_agent_id=command.run.agent_id,
            **names | {field: "other"},
        )
        changed[field] = link.encode()
    name = "payload" if field in names else field
    world.refused(edit(command, parent_linked={name: changed[field]}), EventConflict)


@pytest.mark.case("C086")
def test_the_started_record_of_an_accepted_child_is_compared(world: World) -> None:
    command = world.run_with_child()
    world.refused(edit(command, started={"event_key": "other"}), RunConflict)
    world.refused(edit(command, started={"turn_id": "turn-9"}), EventConflict)


@pytest.mark.case("C088")
def test_a_link_key_that_the_parent_uses_for_something_else_conflicts(world: World) -> None:
    world.run()
    world.append(world.make.append("link-child"))
    world.refused(world.make.child(), EventConflict)
    assert world.missing("child")


@pytest.mark.case("C089")
def test_a_child_may_have_children(world: World) -> None:
    world.run_with_child()
    grandchild = world.make.child("grandchild", "child", parent_agent="child-agent")
    assert world.start_child(grandchild).started.inserted
    deeper = world.make.child("deeper", "grandchild", parent_agent="child-agent")
    assert world.start_child(deeper).started.inserted
    assert world.meta("deeper").parent_run_id == world.make.id("grandchild")
