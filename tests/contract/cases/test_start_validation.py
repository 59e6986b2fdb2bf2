"""Cases of section start-validation."""

import pytest

from runlane.contract.commands import StartChildRun, StartOneShotChildRun, StartOneShotRun, StartRootRun
from runlane.contract.errors import (
    ChildAgentIDRequired,
    ChildRunIDRequired,
    ChildSessionIDRequired,
    InvalidCommand,
    ParentRunIDRequired,
    RunRecordOwnerMismatch,
)
from runlane.contract.payloads import ChildRunLinked, RunCompleted, RunStarted
from runlane.contract.values import RunStart
from tests.contract.cases.world import MILLISECOND, T0, World, edit


@pytest.mark.case("C014")
def test_a_root_start_names_its_first_missing_id(world: World) -> None:
    world.session()
    command = world.make.root()
    empty = {"run_id": "", "agent_id": "", "session_id": ""}
    for field in list(empty):
        world.refused(edit(command, run=dict(empty)), InvalidCommand, f"{field}_required")
        del empty[field]
    assert world.missing()


def test_a_child_start_names_its_first_missing_id_with_an_error_of_its_own(world: World) -> None:
    world.run()
    command = world.make.child()
    empty = {"run_id": "", "agent_id": "", "session_id": "", "parent_run_id": ""}
    for error in (ChildRunIDRequired, ChildAgentIDRequired, ChildSessionIDRequired, ParentRunIDRequired):
        world.refused(edit(command, run=dict(empty)), error)
        del empty[next(iter(empty))]
    assert world.missing("child")


@pytest.mark.case("C016")
def test_a_root_run_has_no_parent(world: World) -> None:
    world.run("other")
    command = edit(world.make.root(), run={"parent_run_id": world.make.id("other")})
    world.refused(command, InvalidCommand, "parent_run_id_forbidden")


@pytest.mark.case("C017")
def test_a_run_is_not_its_own_predecessor(world: World) -> None:
    world.session()
    world.refused(world.make.root(predecessor="run"), InvalidCommand, "predecessor_is_self")
    assert world.missing()


@pytest.mark.case("C019")
def test_a_root_start_needs_its_started_record(world: World) -> None:
    world.session()
    world.refused(edit(world.make.root(), started=None), InvalidCommand, "record_required")


@pytest.mark.case("C020")
def test_a_root_start_needs_its_canceled_record_though_the_session_is_active(world: World) -> None:
    world.session()
    world.refused(edit(world.make.root(), canceled=None), InvalidCommand, "record_required")
    assert world.missing()


@pytest.mark.case("C022")
def test_the_started_record_has_the_starts_time(world: World) -> None:
    world.session()
    command = edit(world.make.root(), started={"timestamp": T0 + MILLISECOND})
    world.refused(command, InvalidCommand, "timestamp_mismatch")


@pytest.mark.case("C023")
def test_the_canceled_record_has_the_starts_time(world: World) -> None:
    world.session()
    command = edit(world.make.root(), canceled={"timestamp": T0 + MILLISECOND})
    world.refused(command, InvalidCommand, "timestamp_mismatch")


@pytest.mark.case("C025")
@pytest.mark.parametrize("field", ["run_id", "agent_id", "session_id"])
def test_the_canceled_record_belongs_to_the_run(world: World, field: str) -> None:
    world.session()
    world.refused(edit(world.make.root(), canceled={field: "other"}), RunRecordOwnerMismatch)
    world.refused(edit(world.make.root(), started={field: "other"}), RunRecordOwnerMismatch)


@pytest.mark.case("C026")
def test_the_started_payload_has_the_starts_labels(world: World) -> None:
    world.session()
    payload = RunStarted(labels={"a": "2"}).encode()
    command = edit(world.make.root(labels={"a": "1"}), started={"payload": payload})
    world.refused(command, InvalidCommand, "labels_mismatch")


@pytest.mark.case("C028")
def test_the_canceled_payload_has_the_starts_labels(world: World) -> None:
    world.session()
    payload = RunCompleted.canceled("session_ended").encode()
    command = edit(world.make.root(labels={"a": "1"}), canceled={"payload": payload})
    world.refused(command, InvalidCommand, "labels_mismatch")


@pytest.mark.case("C029")
def test_the_started_payload_names_the_starts_parent(world: World) -> None:
    world.run()
    payload = RunStarted(parent_run_id="other").encode()
    command = edit(world.make.child(), started={"payload": payload})
    world.refused(command, InvalidCommand, "parent_run_id_mismatch")
    world.refused(
        edit(world.make.root("second"), started={"payload": payload}),
        InvalidCommand,
        "parent_run_id_mismatch",
    )


@pytest.mark.case("C031")
@pytest.mark.parametrize(
    "payload",
    [
        b'{"status":"success","phase":"completed"}',
        b'{"status":"failed","phase":"failed","failure":{"message":"m","kind":"internal","retryable":false}}',
    ],
)
def test_the_canceled_record_is_a_canceled_completion(world: World, payload: bytes) -> None:
    world.session()
    command = edit(world.make.root(), canceled={"payload": payload})
    world.refused(command, InvalidCommand, "status_mismatch")


@pytest.mark.case("C032")
def test_the_canceled_records_phase_is_canceled(world: World) -> None:
    world.session()
    payload = b'{"status":"canceled","phase":"completed","cancellation":{"reason":"session_ended"}}'
    command = edit(world.make.root(), canceled={"payload": payload})
    world.refused(command, InvalidCommand, "status_mismatch")


def test_the_canceled_records_reason_is_that_the_session_ended(world: World) -> None:
    world.session()
    payload = RunCompleted.canceled("user_requested").encode()
    command = edit(world.make.root(), canceled={"payload": payload})
    world.refused(command, InvalidCommand, "reason_mismatch")


@pytest.mark.case("C034")
def test_started_and_canceled_have_different_event_keys(world: World) -> None:
    world.session()
    command = edit(world.make.root(), started={"event_key": "k"}, canceled={"event_key": "k"})
    world.refused(command, InvalidCommand, "event_keys_equal")


@pytest.mark.case("C035")
def test_an_extra_key_in_the_started_payload_starts_nothing(world: World) -> None:
    world.session()
    command = edit(world.make.root(), started={"payload": b'{"Input":"x"}'})
    world.refused(command, InvalidCommand, "payload_unknown_field")
    assert world.missing()


@pytest.mark.case("C037")
@pytest.mark.parametrize("field", ["run_id", "session_id"])
def test_the_link_is_the_parents_and_of_the_childs_session(world: World, field: str) -> None:
    world.run()
    command = edit(world.make.child(), parent_linked={field: "other"})
    code = "parent_run_id_mismatch" if field == "run_id" else "session_id_mismatch"
    world.refused(command, InvalidCommand, code)
    assert world.missing("child")


@pytest.mark.case("C038")
@pytest.mark.parametrize("field", ["child_run_id", "child_agent_id"])
def test_the_link_names_the_child(world: World, field: str) -> None:
    world.run()
    command = world.make.child()
    link = ChildRunLinked(
        tool_name="t",
        tool_call_id="c",
        child_run_id=command.run.run_id,
        child_agent_id=command.run.agent_id,
    )
    payload = link.model_copy(update={field: "other"}).encode()
    world.refused(edit(command, parent_linked={"payload": payload}), InvalidCommand, "child_mismatch")


@pytest.mark.case("C040")
def test_the_link_has_a_time_of_its_own(world: World) -> None:
    world.run()
    command = edit(world.make.child(), parent_linked={"timestamp": T0 + 90 * MILLISECOND})
    assert world.start_child(command).parent_record.inserted


@pytest.mark.case("C041")
@pytest.mark.parametrize("field", ["session_id", "parent_run_id", "predecessor_run_id"])
def test_a_sessionless_root_names_no_session_parent_or_predecessor(world: World, field: str) -> None:
    command = edit(world.make.one_shot(), run={field: "other"})
    world.refused(command, InvalidCommand, f"{field}_forbidden")
    assert world.missing()


@pytest.mark.case("C043")
def test_link_and_start_of_a_sessionless_child_have_different_event_keys(world: World) -> None:
    world.start_one_shot(world.make.one_shot())
    command = world.make.one_shot_child()
    command = edit(command, started={"event_key": "k"}, parent_linked={"event_key": "k"})
    world.refused(command, InvalidCommand, "event_keys_equal")


def test_link_and_start_of_a_session_backed_child_may_share_a_key(world: World) -> None:
    """They live on different runs (contract 2.2)."""
    world.run()
    command = edit(world.make.child(), started={"event_key": "k"}, parent_linked={"event_key": "k"})
    assert world.start_child(command).started.inserted


def test_a_start_without_time_is_refused(world: World) -> None:
    world.session()
    world.refused(edit(world.make.root(), run={"started_at": None}), InvalidCommand, "time_required")


@pytest.mark.parametrize(
    "command",
    [
        StartRootRun(RunStart(), None, None),
        StartChildRun(RunStart(), None, None, None),
        StartOneShotRun(RunStart(), None),
        StartOneShotChildRun(RunStart(), None, None),
    ],
    ids=lambda command: type(command).__name__,
)
def test_an_empty_start_is_refused_for_its_run_id(
    world: World, command: StartRootRun | StartChildRun | StartOneShotRun | StartOneShotChildRun
) -> None:
    child = isinstance(command, StartChildRun | StartOneShotChildRun)
    world.refused(
        command, ChildRunIDRequired if child else InvalidCommand, "" if child else "run_id_required"
    )
