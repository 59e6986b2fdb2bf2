"""Cases of section append."""

import pytest

from runlane.contract.errors import EventConflict, RunNotActive, RunNotFound, RunRecordOwnerMismatch
from runlane.contract.outcomes import AppendResult
from runlane.contract.values import RunStatus, SessionStatus
from tests.contract.cases.world import MILLISECOND, T0, World, edit


@pytest.mark.case("C110")
def test_a_record_is_appended_to_a_running_run(world: World) -> None:
    world.run()
    assert world.append(world.make.append()) == AppendResult("2", True, SessionStatus.ACTIVE)
    assert world.append(world.make.append("second")) == AppendResult("3", True, SessionStatus.ACTIVE)


@pytest.mark.case("C112")
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("type", "usage"),
        ("turn_id", "turn-9"),
        ("timestamp", T0 + MILLISECOND),
        ("payload", b'{"Note":"changed"}'),
    ],
)
def test_a_used_event_key_with_other_content_conflicts(world: World, field: str, value: object) -> None:
    world.run()
    command = world.make.append()
    world.append(command)
    before = world.records()
    error = world.refused(edit(command, record={field: value}), EventConflict)
    assert isinstance(error, EventConflict)
    assert (error.run_id, error.event_key) == (world.make.id("run"), "note")
    assert world.records() == before


@pytest.mark.case("C113")
def test_payloads_are_compared_as_bytes(world: World) -> None:
    world.run()
    world.append(world.make.append(payload=b'{"a":1}'))
    world.refused(world.make.append(payload=b'{ "a": 1 }'), EventConflict)


@pytest.mark.case("C115")
def test_an_unknown_run_takes_no_record(world: World) -> None:
    world.session()
    world.refused(world.make.append(), RunNotFound)


@pytest.mark.case("C116")
@pytest.mark.parametrize(
    ("field", "value"), [("agent_id", "other"), ("session_id", "other"), ("session_id", "")]
)
def test_a_record_names_the_runs_agent_and_session(world: World, field: str, value: str) -> None:
    world.run()
    world.refused(edit(world.make.append(), record={field: value}), RunRecordOwnerMismatch)


@pytest.mark.case("C118")
@pytest.mark.parametrize(
    "status", [RunStatus.SUSPENDED, RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.CANCELED]
)
def test_a_stopped_run_takes_no_new_record(world: World, status: RunStatus) -> None:
    world.run()
    world.stop(status)
    world.refused(world.make.append(), RunNotActive)


@pytest.mark.case("C119")
def test_a_stored_record_can_be_repeated_after_the_end(world: World) -> None:
    world.run()
    world.append(world.make.append())
    world.stop(RunStatus.COMPLETED)
    assert world.append(world.make.append()) == AppendResult("2", False, SessionStatus.ACTIVE)


@pytest.mark.case("C121")
def test_a_running_run_of_an_ended_session_takes_records(world: World) -> None:
    world.run()
    world.backend.execute(world.make.end_session())
    assert world.append(world.make.append()) == AppendResult("2", True, SessionStatus.ENDED)


@pytest.mark.case("C122")
def test_a_run_stopped_at_its_start_takes_no_record(world: World) -> None:
    world.stopped_run()
    world.refused(world.make.append(), RunNotActive)


@pytest.mark.case("C124")
def test_the_start_records_key_is_used(world: World) -> None:
    world.run()
    world.refused(world.make.append("run-start"), EventConflict)


@pytest.mark.case("C125")
def test_a_buffer_used_again_does_not_change_what_was_stored(world: World) -> None:
    world.run()
    buffer = bytearray(b'{"Note":"first"}')
    world.append(edit(world.make.append(), record={"payload": buffer}))
    buffer[:] = b'{"Note":"other"}'
    assert world.records()[1].payload == b'{"Note":"first"}'


def test_two_runs_may_use_the_same_event_key(world: World) -> None:
    world.run()
    world.run("second")
    assert world.append(world.make.append()).inserted
    assert world.append(world.make.append(run="second")).inserted


def test_an_append_never_touches_the_run(world: World) -> None:
    world.run()
    before = world.meta()
    world.append(world.make.append())
    assert world.meta() == before
