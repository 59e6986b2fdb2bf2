"""Cases of section continuation."""

import pytest

from runlane.contract.errors import EventConflict, InvalidCommand, PredecessorNotFound, RunNotFound
from runlane.contract.values import RunMeta, RunStatus, StartOutcome
from tests.contract.cases.world import World


def given_suspended(world: World, run: str = "first", session: str = "session") -> None:
    world.run(run, session)
    world.append(world.make.suspend(run, session))


def given_suspended_child(world: World) -> None:
    """A suspended child `first` of the running `run`."""
    world.run()
    world.start_child(world.make.child("first"))
    world.append(world.make.suspend("first", agent="child-agent"))


@pytest.mark.case("C208")
def test_a_suspended_run_is_continued(world: World) -> None:
    given_suspended(world)
    assert world.start_root(world.make.root(predecessor="first")).outcome is StartOutcome.PROCEED
    named = b'{"predecessor_run_id":"' + world.make.id("first").encode() + b'"}'
    assert world.records()[0].payload == named
    assert not hasattr(RunMeta, "predecessor_run_id")
    assert not hasattr(world.meta(), "predecessor_run_id")


@pytest.mark.case("C209")
def test_an_unknown_predecessor_is_a_run_not_found(world: World) -> None:
    world.session()
    error = world.refused(world.make.root(predecessor="unknown"), PredecessorNotFound)
    assert isinstance(error, RunNotFound)
    assert world.missing()


@pytest.mark.case("C211")
def test_a_predecessor_of_another_session_is_unknown(world: World) -> None:
    given_suspended(world, session="session-a")
    world.session("session-b")
    command = world.make.root(session="session-b", predecessor="first")
    world.refused(command, PredecessorNotFound)
    assert world.missing()


@pytest.mark.case("C212")
def test_a_predecessor_has_the_same_agent(world: World) -> None:
    given_suspended(world)
    command = world.make.root(agent="other", predecessor="first")
    world.refused(command, InvalidCommand, "predecessor_agent_mismatch")


@pytest.mark.parametrize(
    "status", [RunStatus.RUNNING, RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.CANCELED]
)
def test_only_a_suspended_run_is_continued(world: World, status: RunStatus) -> None:
    world.run("first")
    if status.terminal:
        world.stop(status, "first")
    world.refused(world.make.root(predecessor="first"), InvalidCommand, "predecessor_not_suspended")


@pytest.mark.case("C214")
def test_a_suspended_child_is_continued_under_its_parent(world: World) -> None:
    given_suspended_child(world)
    command = world.make.child(predecessor="first")
    assert world.start_child(command).outcome is StartOutcome.PROCEED


@pytest.mark.case("C215")
def test_a_suspended_child_is_not_continued_under_another_parent(world: World) -> None:
    given_suspended_child(world)
    world.run("run-2")
    command = world.make.child(parent="run-2", predecessor="first")
    world.refused(command, InvalidCommand, "predecessor_parent_mismatch")
    assert world.types("run-2") == ["run_started"]
    root = world.make.root("root", predecessor="first", agent="child-agent")
    world.refused(root, InvalidCommand, "predecessor_parent_mismatch")


@pytest.mark.case("C217")
def test_a_continuation_in_an_ended_session_is_stopped(world: World) -> None:
    given_suspended(world)
    world.backend.execute(world.make.end_session())
    result = world.start_root(world.make.root(predecessor="first"))
    assert result.outcome is StartOutcome.STOP
    started, completed = world.records()
    assert b"predecessor_run_id" in started.payload
    assert completed.type == "run_completed"
    assert world.meta("first").status is RunStatus.SUSPENDED


@pytest.mark.case("C218")
def test_a_continuation_can_be_repeated(world: World) -> None:
    given_suspended(world)
    command = world.make.root(predecessor="first")
    world.start_root(command)
    assert (world.start_root(command).started.id, world.start_root(command).started.inserted) == ("1", False)
    world.stop(RunStatus.COMPLETED)
    assert (world.start_root(command).started.id, world.start_root(command).started.inserted) == ("1", False)


@pytest.mark.case("C220")
def test_a_predecessor_added_to_a_plain_start_conflicts(world: World) -> None:
    given_suspended(world)
    world.run()
    world.refused(world.make.root(predecessor="first"), EventConflict)


@pytest.mark.case("C221")
def test_a_continuation_leaves_its_predecessor_as_it_was(world: World) -> None:
    given_suspended(world)
    suspension = world.backend.load_run_suspension(world.make.id("first"))
    before = (world.meta("first"), world.records("first"))
    world.start_root(world.make.root(predecessor="first"))
    assert (world.meta("first"), world.records("first")) == before
    assert world.backend.load_run_suspension(world.make.id("first")) == suspension


@pytest.mark.case("C223")
def test_a_run_that_continues_itself_is_refused_before_any_look_up(world: World) -> None:
    command = world.make.root(session="unknown", predecessor="run")
    world.refused(command, InvalidCommand, "predecessor_is_self")


@pytest.mark.case("C224")
def test_a_predecessor_may_have_two_successors(world: World) -> None:
    given_suspended(world)
    for name in ("second", "third"):
        result = world.start_root(world.make.root(name, predecessor="first"))
        assert result.outcome is StartOutcome.PROCEED
