"""Deltas: text that is still being written, shown while it lasts and stored nowhere (design, Topics).

They are best effort: any of them may be lost, and none says that a record will follow.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Final

from runlane import strictjson
from runlane.contract.errors import InvalidCommand
from runlane.contract.ids import check_id, id_fault
from runlane.contract.limits import KIB
from runlane.contract.payloads.text import dump
from runlane.strictjson import StrictJsonError

DELTA_SCHEMA: Final = "runlane.delta.v1"
"""What the header ``schema`` says of a delta."""
MAX_DELTA_BYTES: Final = 16 * KIB
"""The text of one delta, UTF-8; who writes more sends several."""
_MAX_MESSAGE_BYTES: Final = 8 * MAX_DELTA_BYTES


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of a text of a run: ``stream`` names the text, ``tool_call_id`` its call, if any."""

    run_id: str
    tool_call_id: str
    stream: str
    text: str


def check_delta(delta: Delta) -> None:
    """Raise ``InvalidCommand`` for an id that is none, a stream without name, or too much text."""
    if not delta.run_id:
        raise InvalidCommand("a delta names its run", code="delta_run")
    check_id(delta.run_id, "run_id")
    check_id(delta.tool_call_id, "tool_call_id")
    if not delta.stream or id_fault(delta.stream):
        raise InvalidCommand("a delta names its stream", code="delta_stream")
    try:
        size = len(delta.text.encode())
    except UnicodeEncodeError:
        raise InvalidCommand("the text of a delta is no Unicode", code="delta_text") from None
    if size > MAX_DELTA_BYTES:
        raise InvalidCommand(f"a delta holds {MAX_DELTA_BYTES} bytes of text", code="delta_too_large")


def encode_delta(delta: Delta) -> bytes:
    """Return the JSON object of a delta; raises what ``check_delta`` raises."""
    check_delta(delta)
    return dump(asdict(delta))


def decode_delta(data: bytes | None) -> Delta:
    """Read what ``encode_delta`` wrote; members of later releases are ignored. ``InvalidCommand`` else."""
    value: object = None
    try:
        value = strictjson.loads(data or b"", max_bytes=_MAX_MESSAGE_BYTES)
    except StrictJsonError:
        value = None
    if not isinstance(value, dict):
        raise InvalidCommand("not the JSON object of a delta", code="delta_message")
    texts = [value.get(name) for name in ("run_id", "tool_call_id", "stream", "text")]
    if not all(isinstance(text, str) for text in texts):
        raise InvalidCommand("a member of a delta is not text", code="delta_message")
    delta = Delta(*map(str, texts))
    check_delta(delta)
    return delta
