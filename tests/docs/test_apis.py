"""docs/asyncapi.yaml and docs/openapi.json say what the code does."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from runlane.contract.activity import ActivityShare, share_message
from runlane.contract.codec import Codec, command_headers, memory_headers, outcome_headers, record_headers
from runlane.contract.delta import DELTA_SCHEMA, Delta, encode_delta
from runlane.contract.errors import UndecodableMessage
from runlane.contract.memory import AppendMemory, DeleteMemory, MemoryEvent, MemoryType
from runlane.contract.memory.commands import encode_memory_command
from runlane.contract.outcomes import Outcome
from runlane.contract.schemas import COMMAND, COMMITTED_RECORD, OUTCOME, history
from runlane.contract.stream import StreamEvent, StreamType, stream_message
from runlane.contract.topics import Topics
from runlane.owner.outbox import _REJECTED_HEADERS, Outbox
from runlane.store.rows import Answer
from tests.docs import openapi

DOCS = Path(__file__).parents[2] / "docs"
DOCUMENT: dict[str, Any] = yaml.safe_load((DOCS / "asyncapi.yaml").read_text())
MESSAGES: dict[str, Any] = DOCUMENT["components"]["messages"]
AT = datetime(2026, 3, 1, tzinfo=UTC)
EVENT = MemoryEvent(MemoryType.USER_MESSAGE, AT, {"Message": "hi"}, {"a": "b"})
SHARE = ActivityShare("a", 3, AT, revision=2, tool_calls=1, tool_latency_ms=((119, 1),))
AVRO = [("command", COMMAND), ("outcome", OUTCOME), ("record", COMMITTED_RECORD)]
Headers = Sequence[tuple[str, bytes]]


def test_every_topic_is_a_channel() -> None:
    addresses = [channel["address"] for channel in DOCUMENT["channels"].values()]
    assert addresses == [topic.name for topic in Topics().all()]


@pytest.mark.parametrize(("message", "name"), AVRO)
def test_avro_bodies_are_those_that_are_written(message: str, name: str) -> None:
    file = DOCS / MESSAGES[message]["payload"]["schema"]["$ref"]
    assert json.loads(file.read_text()) == json.loads(history(name).current.text)


def _rejection() -> bytes:
    outbox = Outbox.__new__(Outbox)
    outbox._codec, outbox._partition = Codec(), 3
    outcome = outbox._codec.encode_outcome(
        Outcome("", 3, 7, 1, None, UndecodableMessage(code="null_message").info())
    )
    return outbox._rejection(Answer(7, "s/x", "", -1, "", "null_message", outcome)).value


def _stream_event(kind: StreamType) -> StreamEvent:
    return StreamEvent(kind, "r", "s", "k", AT, b'{"a":1}', b"[1]")


BODIES = {
    "rejected": [_rejection()],
    "streamEvent": [stream_message(_stream_event(kind)).body for kind in StreamType],
    "activity": [share_message(SHARE).body],
    "delta": [encode_delta(Delta("r", "", "assistant", "text"))],
    "memory": [
        encode_memory_command(AppendMemory.of("a", "r", "k", [EVENT])),
        encode_memory_command(DeleteMemory("a", "r", "k")),
    ],
}
HEADERS: dict[str, Headers] = {
    "command": command_headers("c1", 2, "key:00"),
    "outcome": outcome_headers("c1"),
    "record": record_headers(17),
    "rejected": _REJECTED_HEADERS,
    "streamEvent": stream_message(_stream_event(StreamType.USAGE)).headers,
    "activity": share_message(SHARE).headers,
    "delta": [("schema", DELTA_SCHEMA.encode())],
    "memory": memory_headers("c1", 2),
}


@pytest.mark.parametrize(("name", "body"), [(name, body) for name, all_ in BODIES.items() for body in all_])
def test_json_bodies_are_those_that_are_written(name: str, body: bytes) -> None:
    schema = MESSAGES[name]["payload"]
    value = json.loads(body)
    jsonschema.validate(value, schema, format_checker=jsonschema.FormatChecker())
    assert set(value) <= set(schema["properties"])


@pytest.mark.parametrize("name", HEADERS)
def test_headers_are_those_that_are_written(name: str) -> None:
    schema = MESSAGES[name]["headers"]
    value = {key: text.decode() for key, text in HEADERS[name]}
    jsonschema.validate(value, schema)
    assert set(value) <= set(schema["properties"])


def test_every_type_of_a_stream_event_is_named() -> None:
    types = MESSAGES["streamEvent"]["payload"]["properties"]["type"]["enum"]
    assert types == sorted(kind.value for kind in StreamType)


def test_the_openapi_document_is_that_of_the_gateway() -> None:
    assert openapi.FILE.read_text() == openapi.text(), "run `python -m tests.docs.openapi`"
