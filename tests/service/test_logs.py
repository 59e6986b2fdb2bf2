"""Logs are JSON lines that hold no payload, whatever a caller hands over."""

import io
import json
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest
import structlog

from runlane.contract.errors import RunConflict
from runlane.contract.values import RunRecord, RunSuspension
from runlane.service.logs import configure_logs

SECRET = "SECRET-PAYLOAD"
PAYLOAD = f'{{"text": "{SECRET}"}}'.encode()


@dataclass
class Wrapped:
    payload: bytes = PAYLOAD


VALUES = [
    PAYLOAD,
    bytearray(PAYLOAD),
    memoryview(PAYLOAD),
    [PAYLOAD],
    {"text": SECRET},
    (SECRET,),
    {SECRET},
    RunRecord(payload=PAYLOAD),
    RunSuspension("id", PAYLOAD),
    Wrapped(),
    ValueError(SECRET),
]


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    root = logging.getLogger()
    before = root.handlers, root.level
    stream = io.StringIO()
    configure_logs("debug", stream)
    yield stream
    root.handlers, level = before
    root.setLevel(level)
    structlog.reset_defaults()


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_line_is_one_object_with_time_level_and_logger(stream: io.StringIO) -> None:
    structlog.get_logger("runlane.owner").info("committed", block=7, lane="s/a")

    (line,) = lines(stream)
    assert line.pop("timestamp").endswith("Z")
    assert line == {
        "event": "committed",
        "block": 7,
        "lane": "s/a",
        "level": "info",
        "logger": "runlane.owner",
    }


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_a_value_of_another_kind_leaves_its_type_only(stream: io.StringIO, value: Any) -> None:
    structlog.get_logger("runlane").warning("odd", thing=value)
    logging.getLogger("runlane").warning("odd %s", value)
    logging.getLogger("runlane").warning(value)

    assert len(lines(stream)) == 3
    assert SECRET not in stream.getvalue()
    assert lines(stream)[0]["thing"] == f"<{type(value).__name__}>"


@pytest.mark.parametrize("name", ["payload", "data", "token", "password", "secret"])
def test_a_hidden_name_leaves_its_type_only(stream: io.StringIO, name: str) -> None:
    structlog.get_logger("runlane").info("sent", **{name: SECRET})

    assert lines(stream)[0][name] == "<str>"


def test_an_exceptions_text_is_not_logged_but_its_place_is(stream: io.StringIO) -> None:
    try:
        int(SECRET)
    except ValueError:
        structlog.get_logger("runlane").exception("failed")
        logging.getLogger("runlane").exception("failed")

    assert SECRET not in stream.getvalue()
    for line in lines(stream):
        assert line["error"] == "ValueError"
        assert "test_logs.py" in line["frames"]


def test_an_error_of_the_tree_says_its_code_and_message(stream: io.StringIO) -> None:
    structlog.get_logger("runlane").error("refused", exc_info=RunConflict("another lane holds the run id"))

    (line,) = lines(stream)
    assert (line["code"], line["message"]) == ("run_conflict", "another lane holds the run id")


def test_a_long_text_is_cut(stream: io.StringIO) -> None:
    structlog.get_logger("runlane").info("x" * 5000, text="y" * 5000)

    assert max(len(value) for value in lines(stream)[0].values()) == 1001


def test_context_is_in_every_line(stream: io.StringIO) -> None:
    with structlog.contextvars.bound_contextvars(partition=3):
        structlog.get_logger("runlane").info("one")
        logging.getLogger("elsewhere").info("two %d of %s", 2, "x")

    assert [(line["event"], line["partition"]) for line in lines(stream)] == [("one", 3), ("two 2 of x", 3)]


def test_a_template_that_does_not_fit_its_arguments_is_logged_as_it_is(stream: io.StringIO) -> None:
    logging.getLogger("elsewhere").info("%d", Decimal(1))

    assert lines(stream)[0]["event"] == "%d"
