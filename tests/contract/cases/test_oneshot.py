"""Cases of sections oneshot-start and oneshot-child."""

import pytest

from runlane.contract.errors import (
    EventConflict,
    RunConflict,
    RunNotActive,
    RunNotFound,
    RunRecordOwnerMismatch,
    RunSessionMismatch,
)
from runlane.contract.outcomes import AppendResult
from runlane.contract.values import RunStatus, SessionStatus, StartOutcome
from tests.contract.cases.world import MILLISECOND, T0, World, edit

NEW = AppendResult("1", True, SessionStatus.NONE)
OLD = AppendResult("1", False, SessionStatus.NONE)


@pytest.mark.case("C091")
def test_a_sessionless_run_needs_no_session(world: World) -> None:
    assert world.start_one_shot(world.make.one_shot()) == NEW
    meta = world.meta()
    assert (meta.status, meta.start_outcome) == (RunStatus.RUNNING, StartOutcome.PROCEED)
    assert meta.session_id == ""


@pytest.mark.case("C092")
def test_a_sessionless_start_can_be_repeated(world: World) -> None:
    command = world.make.one_shot()
    world.start_one_shot(command)
    assert world.start_one_shot(command) == OLD
    world.stop(RunStatus.COMPLETED, session="")
    assert world.start_one_shot(command) == OLD


@pytest.mark.case("C094")
def test_a_changed_sessionless_start_conflicts(world: World) -> None:
    command = world.make.one_shot()
    world.start_one_shot(command)
    world.refused(edit(command, started={"event_key": "other"}), RunConflict)
    world.refused(edit(command, started={"payload": b"{ }"}), EventConflict)
    world.refused(edit(command, started={"turn_id": "turn-9"}), EventConflict)
    world.refused(world.make.one_shot(at=T0 + MILLISECOND), RunConflict)


@pytest.mark.case("C095")
def test_a_session_backed_runs_id_is_taken(world: World) -> None:
    world.run()
    world.refused(world.make.one_shot(), RunConflict)


@pytest.mark.case("C097")
@pytest.mark.parametrize("status", [RunStatus.COMPLETED, RunStatus.SUSPENDED])
def test_everything_works_on_a_sessionless_run(world: World, status: RunStatus) -> None:
    world.start_one_shot(world.make.one_shot())
    last = (
        world.make.suspend(session="")
        if status is RunStatus.SUSPENDED
        else world.make.end(status, session="")
    )
    results = [
        world.append(command)
        for command in (world.make.append(session=""), world.make.cancel(session=""), last)
    ]
    assert results == [AppendResult(str(seq), True, SessionStatus.NONE) for seq in (2, 3, 4)]
    assert world.meta().status is status


@pytest.mark.case("C098")
def test_a_purge_leaves_sessionless_runs_alone(world: World) -> None:
    world.start_one_shot(world.make.one_shot("single"))
    world.append(world.make.append(run="single", session=""))
    before = (world.meta("single"), world.records("single"))
    world.stopped_run()
    world.backend.execute(world.make.purge())
    assert (world.meta("single"), world.records("single")) == before


@pytest.mark.case("C100")
def test_a_sessionless_child_needs_its_parent(world: World) -> None:
    world.refused(world.make.one_shot_child(), RunNotFound)
    assert world.missing("child")


@pytest.mark.case("C101")
def test_a_sessionless_child_has_a_sessionless_parent(world: World) -> None:
    world.run()
    world.refused(world.make.one_shot_child(), RunSessionMismatch)
    assert world.types() == ["run_started"]
    assert world.missing("child")


@pytest.mark.case("C103")
def test_the_link_of_a_sessionless_child_names_the_parents_agent(world: World) -> None:
    world.start_one_shot(world.make.one_shot())
    world.refused(world.make.one_shot_child(parent_agent="other"), RunRecordOwnerMismatch)
    assert world.types() == ["run_started"]


@pytest.mark.case("C104")
def test_a_used_link_key_stops_a_sessionless_child(world: World) -> None:
    world.start_one_shot(world.make.one_shot())
    world.append(world.make.append("link-child", session=""))
    world.refused(world.make.one_shot_child(), EventConflict)
    assert world.missing("child")


@pytest.mark.case("C106")
@pytest.mark.parametrize("record", ["parent_linked", "started"])
def test_other_keys_are_another_sessionless_child(world: World, record: str) -> None:
    world.start_one_shot(world.make.one_shot())
    command = world.make.one_shot_child()
    world.start_one_shot_child(command)
    world.refused(edit(command, **{record: {"event_key": "other"}}), RunConflict)


@pytest.mark.case("C107")
@pytest.mark.parametrize(
    ("record", "payload"),
    [
        (
            "parent_linked",
            b'{"ToolName":"other","ToolCallID":"c","ChildRunID":"%s","ChildAgentID":"child-agent"}',
        ),
        ("started", b'{ "parent_run_id":"%s"}'),
    ],
)
def test_other_content_of_a_sessionless_child_conflicts(world: World, record: str, payload: bytes) -> None:
    world.start_one_shot(world.make.one_shot())
    command = world.make.one_shot_child()
    world.start_one_shot_child(command)
    named = command.run.run_id if record == "parent_linked" else command.run.parent_run_id
    changed = payload % named.encode()
    error = world.refused(edit(command, **{record: {"payload": changed}}), EventConflict)
    assert isinstance(error, EventConflict)
    assert error.event_key == ("link-child" if record == "parent_linked" else "child-start")


@pytest.mark.case("C109")
def test_a_sessionless_childs_id_is_taken(world: World) -> None:
    world.start_one_shot(world.make.one_shot())
    world.start_one_shot_child(world.make.one_shot_child())
    world.refused(world.make.one_shot("child"), RunConflict)


def test_a_sessionless_child_start_can_be_repeated_after_its_parent_has_stopped(world: World) -> None:
    world.start_one_shot(world.make.one_shot())
    command = world.make.one_shot_child()
    first = world.start_one_shot_child(command)
    assert (first.parent_record.id, first.started.id) == ("2", "1")
    world.stop(RunStatus.COMPLETED, session="")
    again = world.start_one_shot_child(command)
    assert (again.parent_record.id, again.started.id) == ("2", "1")
    assert not again.started.inserted
    world.refused(world.make.one_shot_child("late"), RunNotActive)


def test_a_sessionless_grandchild_lives_with_its_root(world: World) -> None:
    world.start_one_shot(world.make.one_shot())
    world.start_one_shot_child(world.make.one_shot_child())
    grandchild = world.make.one_shot_child("grandchild", "child", parent_agent="child-agent")
    assert world.start_one_shot_child(grandchild).started == NEW
    assert world.append(world.make.append(run="grandchild", session="", agent="child-agent")).id == "2"
