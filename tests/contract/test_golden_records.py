"""The reference's durable payloads, line by line (golden records)."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from runlane.contract.errors import InvalidCommand
from runlane.contract.payloads import (
    CANCELLATION_INTENT,
    ToolError,
    ToolFailure,
    ToolResultReceived,
    Usage,
    decode_hook,
    encode_hook,
    hook_record,
)

GOLDEN = Path(__file__).parents[1] / "golden" / "records.jsonl"
LINES: list[dict[str, Any]] = [json.loads(line) for line in GOLDEN.read_text().splitlines()]

# Of a type that is [older] and not built: the codec does not know it (contract 1.8).
OLDER_TYPE = "tool_call_args_delta"
# The reference turns numbers of free JSON into doubles; ours stay exact (contract 0).
EXACT = {"dec_policy_big_number": ("12345678901234567000", "12345678901234567890")}
# What the reference writes and its own decoder then does not read back.
WRITTEN_BUT_NOT_READ = {"enc_tool_call_scheduled"}


def lines(*ops: str) -> list[Any]:
    return [pytest.param(line, id=line["name"]) for line in LINES if line["op"] in ops]


def ours(line: dict[str, Any], written: str) -> str:
    """The reference's bytes with the difference that the contract names."""
    return written.replace(*EXACT.get(line["name"], ("", "")))


@pytest.mark.parametrize("line", lines("encode"))
def test_what_the_reference_writes_is_read_and_written_alike(line: dict[str, Any]) -> None:
    if line.get("outcome") == "rejected":
        assert line["name"] == "st_tool_result_both"
        both = ToolResultReceived(result_json=b"{}", failure=ToolFailure(error=ToolError(message="m")))
        with pytest.raises(InvalidCommand):
            encode_hook(both)
        return
    if line["type"] == OLDER_TYPE:
        with pytest.raises(InvalidCommand):
            decode_hook(OLDER_TYPE, line["payload"].encode())
        return
    written = line["payload" if line["name"] in WRITTEN_BUT_NOT_READ else "roundtrip"]
    event = decode_hook(line["type"], line["payload"].encode())
    assert encode_hook(event).decode() == ours(line, written)


@pytest.mark.parametrize("line", lines("decode"))
def test_what_the_reference_reads_is_judged_as_the_contract_says(line: dict[str, Any]) -> None:
    payload = line.get("payload", "").encode()
    if not accepted(line):
        with pytest.raises(InvalidCommand):
            decode_hook(line["type"], payload)
        return
    assert encode_hook(decode_hook(line["type"], payload)).decode() == ours(line, line["reencoded"])


def accepted(line: dict[str, Any]) -> bool:
    """`ours` decides; what is unspecified there and silent in the contract is refused, as is the gate's."""
    if line["gate_refuses"] or line["type"] == OLDER_TYPE:
        return False
    verdict = line.get("ours", "accept" if line["outcome"] == "accepted" else "reject")
    return bool(verdict == "accept")


@pytest.mark.parametrize("line", lines("encode_envelope"))
def test_an_explicit_key_is_enough_for_the_encoder(line: dict[str, Any]) -> None:
    """A record without a time is encoded; it is refused later, at the append."""
    assert line["outcome"] == "accepted"
    record = hook_record(Usage(), event_key="k", run_id="r", agent_id="a")
    assert record.timestamp is None
    with pytest.raises(InvalidCommand):
        hook_record(Usage(), event_key="", run_id="r", agent_id="a")


def test_every_line_is_run() -> None:
    assert {line["op"] for line in LINES} == {"encode", "decode", "encode_envelope"}
    assert len({line["name"] for line in LINES}) == len(LINES)


def test_the_cancellation_intent_is_stricter_than_the_reference() -> None:
    stricter = [line for line in LINES if line.get("type") == CANCELLATION_INTENT]
    assert stricter
    assert all(line["outcome"] == "accepted" and line["ours"] == "reject" for line in stricter)


TIME = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize("line", lines("encode", "decode"))
def test_a_decoded_event_makes_a_record_of_the_same_type(line: dict[str, Any]) -> None:
    if line.get("outcome") == "rejected" or not accepted(line | {"outcome": "accepted"}):
        return
    event = decode_hook(line["type"], line["payload"].encode())
    record = hook_record(event, event_key="k", run_id="r", agent_id="a", timestamp=TIME)
    assert (record.type, record.timestamp) == (line["type"], TIME)
