"""Cases of section record-validation."""

from datetime import timedelta

import pytest

from runlane.contract.commands import AppendRunRecord
from runlane.contract.errors import InvalidCommand
from tests.contract.cases.world import T0, World, edit


@pytest.mark.case("C001")
def test_an_append_needs_a_record(world: World) -> None:
    world.run()
    world.refused(AppendRunRecord(None), InvalidCommand, "record_required")
    assert world.types() == ["run_started"]


@pytest.mark.case("C002")
def test_a_missing_run_id_is_reported_before_every_other_field(world: World) -> None:
    world.run()
    command = world.make.append()
    world.refused(edit(command, record={"run_id": ""}), InvalidCommand, "run_id_required")
    nothing = {"run_id": "", "agent_id": "", "event_key": "", "type": "", "payload": b"", "timestamp": None}
    world.refused(edit(command, record=nothing), InvalidCommand, "run_id_required")


@pytest.mark.case("C004")
def test_a_record_needs_an_event_key(world: World) -> None:
    world.run()
    world.refused(world.make.append(""), InvalidCommand, "event_key_required")


@pytest.mark.case("C005")
def test_a_record_needs_a_type(world: World) -> None:
    world.run()
    world.refused(world.make.append(type=""), InvalidCommand, "type_required")


@pytest.mark.case("C007")
def test_a_record_needs_a_timestamp(world: World) -> None:
    world.run()
    command = edit(world.make.append(), record={"timestamp": None})
    world.refused(command, InvalidCommand, "time_required")


@pytest.mark.case("C008")
def test_a_timestamp_is_a_whole_number_of_milliseconds(world: World) -> None:
    world.run()
    fine = edit(world.make.append(), record={"timestamp": T0 + timedelta(microseconds=1)})
    world.refused(fine, InvalidCommand, "time_not_whole_millisecond")
    assert world.append(edit(fine, record={"timestamp": T0})).inserted


@pytest.mark.case("C011")
def test_a_type_that_nobody_knows_is_stored(world: World) -> None:
    world.run()
    assert world.append(world.make.append(type="irrelevant")).inserted
    assert world.types() == ["run_started", "irrelevant"]


@pytest.mark.case("C013")
def test_a_record_gets_the_stores_own_id(world: World) -> None:
    """A record that a caller supplies has no field for an id, so there is nothing that could count."""
    world.run()
    command = world.make.append()
    assert not hasattr(command.record, "id")
    assert world.append(command).id == world.records()[1].id == "2"
    assert world.append(command).id == "2"


def test_the_first_missing_field_is_reported_in_the_contracts_order(world: World) -> None:
    world.run()
    missing = {"agent_id": "", "event_key": "", "type": "", "payload": b"", "timestamp": None}
    given = world.make.append()
    for field in list(missing):
        code = "time_required" if field == "timestamp" else f"{field}_required"
        world.refused(edit(given, record=dict(missing)), InvalidCommand, code)
        del missing[field]
    assert world.append(given).inserted
