"""What `tail` prints cannot be steered by what is stored."""

from runlane.service.cli.output import plain
from runlane.service.cli.reads import record_json, record_line
from tests.gateway.memory_reader import a_record


def test_control_characters_are_shown_not_sent() -> None:
    record = a_record("run\x1b[31m", "s", 1, b'{"a":"\x1b]0;title\x07\xe2\x80\xae"}')

    line = record_line(record)

    assert "\x07" not in line
    assert "\u202e" not in line
    assert "\x1b]" not in line
    assert "\\u001b]0;title\\u0007\\u202e" in line
    assert plain("a\nb\x9b") == "a\\u000ab\\u009b"


def test_a_long_payload_is_cut_for_people_and_whole_for_programs() -> None:
    record = a_record("r", "s", 1, b'"' + b"x" * 5000 + b'"')

    assert len(record_line(record)) < 250
    assert len(record_json(record)["payload"]) == 5002
