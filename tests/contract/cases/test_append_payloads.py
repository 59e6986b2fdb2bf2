"""What the gate, the limits and the transcript rules refuse at an append (contract 0)."""

import pytest

from runlane.contract.errors import InvalidCommand
from runlane.contract.limits import MAX_COMMAND_PAYLOAD_BYTES
from runlane.contract.payloads import LIFECYCLE_TYPES
from tests.contract.cases.world import World, edit


@pytest.mark.parametrize(
    ("payload", "rule"),
    [
        (b'{"a":1,"\\u0061":2}', "json.duplicate_key"),
        (b'{"a":NaN}', "json.not_finite"),
        (b"1e400", "json.number_overflow"),
        (b'"\\ud800"', "json.unpaired_surrogate"),
        (b'"\xff"', "json.invalid_utf8"),
        (b"{} {}", "json.syntax"),
        (b"[" * 65 + b"]" * 65, "json.too_deep"),
        (b"1" * 4_301, "json.integer_too_long"),
    ],
)
def test_a_payload_of_any_type_passes_the_strict_gate(world: World, payload: bytes, rule: str) -> None:
    world.run()
    world.refused(world.make.append(type="anything", payload=payload), InvalidCommand, rule)


def test_the_payload_bytes_are_kept_as_they_came(world: World) -> None:
    world.run()
    payload = b' {"n": 1.50, "big": ' + b"9" * 4_300 + b', "s": "\\u0041"}\n'
    world.append(world.make.append(payload=payload))
    assert world.records()[1].payload == payload


@pytest.mark.parametrize("kind", sorted(LIFECYCLE_TYPES))
def test_a_lifecycle_record_is_not_appended(world: World, kind: str) -> None:
    world.run()
    world.refused(world.make.append(type=kind, payload=b"{}"), InvalidCommand, "lifecycle_type")


@pytest.mark.parametrize("kind", ["transcript_messages_seeded", "transcript_messages_appended"])
def test_a_transcript_that_could_not_be_replayed_is_refused(world: World, kind: str) -> None:
    world.run()
    payload = b'[{"role":"user","parts":[{"kind":"hologram"}],"meta":null}]'
    with pytest.raises(InvalidCommand) as caught:
        world.backend.execute(world.make.append(type=kind, payload=payload))
    assert caught.value.code.startswith("transcript.")
    assert "hologram" not in caught.value.message
    good = b'[{"role":"user","parts":[{"kind":"text","text":"hello"}],"meta":null}]'
    assert world.append(world.make.append(type=kind, payload=good)).inserted


def test_a_payload_of_900_kib_is_the_largest(world: World) -> None:
    world.run()
    largest = b'"' + b"x" * (MAX_COMMAND_PAYLOAD_BYTES - 2) + b'"'
    error = world.refused(world.make.append(payload=largest + b" "), InvalidCommand, "payload_too_large")
    assert "URI" in error.message
    assert world.append(world.make.append(payload=largest)).inserted


def test_the_payloads_of_one_command_count_together(world: World) -> None:
    world.run()
    half = b"x" * (MAX_COMMAND_PAYLOAD_BYTES // 2)
    command = world.make.suspend(data=half)
    padded = edit(command, record={"payload": b" " * len(half) + b"{}"})
    world.refused(padded, InvalidCommand, "payload_too_large")


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ("x" * 257, "id_too_long"),
        ("ü" * 129, "id_too_long"),
        ("a\nb", "id_not_printable"),
        ("a\x00", "id_not_printable"),
        ("u\u0308", "id_not_nfc"),
        ("\ud800", "id_not_unicode"),
    ],
)
@pytest.mark.parametrize("field", ["event_key", "turn_id", "run_id"])
def test_an_identifier_is_short_printable_and_normalised(
    world: World, field: str, value: str, code: str
) -> None:
    world.run()
    world.refused(edit(world.make.append(), record={field: value}), InvalidCommand, code)


def test_an_identifier_may_hold_anything_printable(world: World) -> None:
    world.run()
    assert world.append(world.make.append("a/b %2F ?#ü漢" + "x" * 200)).inserted
