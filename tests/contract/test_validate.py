"""What a client refuses before it sends, whatever the state."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from runlane.contract.commands import ClaimRun, Command
from runlane.contract.errors import InvalidCommand
from runlane.contract.limits import MAX_COMMAND_PAYLOAD_BYTES, MAX_LABELS
from runlane.contract.validate import validate_before_send
from tests.contract.cases.world import T0, Make, edit

MAKE = Make("")
EVERY: list[Command] = [
    MAKE.root(labels={"team": "x"}),
    MAKE.child(),
    MAKE.one_shot(),
    MAKE.one_shot_child(),
    MAKE.append(),
    MAKE.cancel(),
    MAKE.suspend(),
    MAKE.end(),
    MAKE.ensure_end(),
    MAKE.ensure_suspended(),
    MAKE.create(),
    MAKE.end_session(),
    MAKE.purge(),
    ClaimRun("run", "s/session"),
]


def code_of(command: Command) -> str:
    with pytest.raises(InvalidCommand) as caught:
        validate_before_send(command)
    return caught.value.code


@pytest.mark.parametrize("command", EVERY, ids=lambda command: type(command).__name__)
def test_a_valid_command_may_be_sent(command: Command) -> None:
    validate_before_send(command)


@pytest.mark.parametrize(
    ("command", "changes"),
    [
        (MAKE.append(), {"record": {"payload": "{}"}}),
        (MAKE.append(), {"record": {"run_id": 7}}),
        (MAKE.append(), {"record": {"timestamp": 1_700_000_000}}),
        (MAKE.append(), {"record": {"timestamp": T0.isoformat()}}),
        (MAKE.append(), {"record": b"record"}),
        (MAKE.append(), {"after_key": None}),
        (MAKE.root(), {"run": {"labels": {"a": 1}}}),
        (MAKE.root(), {"run": {"labels": None}}),
        (MAKE.root(), {"run": {"labels": [("a", "1")]}}),
        (MAKE.suspend(), {"suspension": {"data": "text"}}),
        (MAKE.end(), {"status": 3}),
        (MAKE.create(), {"at": T0.date()}),
        (MAKE.purge(), {"session_id": None}),
    ],
)
def test_a_field_has_its_declared_type(command: Command, changes: dict[str, Any]) -> None:
    assert code_of(edit(command, **changes)) == "wrong_type"


@pytest.mark.parametrize(
    "command", [MAKE.cancel(), MAKE.suspend(), MAKE.end(), MAKE.ensure_end(), MAKE.ensure_suspended()]
)
def test_a_command_on_a_run_is_sent_though_its_record_is_wrong(command: Any) -> None:
    """An unknown run is reported first, so only the owner may judge the record (contract 2.7; C160)."""
    validate_before_send(edit(command, record={"type": "other", "payload": b"not JSON"}))
    validate_before_send(edit(command, record=None))
    assert code_of(edit(command, run_id="")) == "run_id_required"
    assert code_of(edit(command, run_id="a\nb")) == "id_not_printable"
    large = b"x" * (MAX_COMMAND_PAYLOAD_BYTES + 1)
    assert code_of(edit(command, record={"payload": large})) == "payload_too_large"


def test_labels_are_bounded() -> None:
    many = {str(number): "x" for number in range(MAX_LABELS + 1)}
    assert code_of(MAKE.root(labels=many)) == "too_many_labels"
    assert code_of(MAKE.root(labels={"k" * 257: "x"})) == "label_key_too_long"
    assert code_of(MAKE.root(labels={"k": "x" * 4_097})) == "label_value_too_long"
    assert code_of(edit(MAKE.root(), run={"labels": {"k": "\ud800"}})) == "label_value_not_unicode"


def test_a_time_is_an_instant_that_can_be_stored() -> None:
    naive = datetime(2026, 1, 1)  # noqa: DTZ001 - that is the point
    assert code_of(edit(MAKE.append(), record={"timestamp": naive})) == "time_without_zone"
    late = datetime.max.replace(microsecond=0, tzinfo=timezone(timedelta(hours=-1)))
    assert code_of(edit(MAKE.append(), record={"timestamp": late})) == "time_out_of_range"
    validate_before_send(edit(MAKE.append(), record={"timestamp": datetime(9999, 12, 31, tzinfo=UTC)}))


def test_a_type_is_short_and_unicode() -> None:
    assert code_of(MAKE.append(type="x" * 257)) == "type_too_long"
    assert code_of(MAKE.append(type="\ud800")) == "type_not_unicode"
    validate_before_send(MAKE.append(type="any type, even größer"))
