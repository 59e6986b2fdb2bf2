"""Cases of section durable-json."""

import hashlib
import json
from typing import Any

import pytest
from pydantic import ValidationError

from runlane.contract.errors import InvalidCommand
from runlane.contract.payloads import (
    CHILD_RUN_LINKED,
    RUN_COMPLETED,
    RUN_STARTED,
    RUN_SUSPENDED,
    ModelOutputRejected,
    RunCompleted,
    RunStarted,
    RunSuspended,
    ToolFailure,
    ToolResultReceived,
    Usage,
    decode_hook,
    decode_record,
    encode_hook,
    hook_record,
)
from tests.contract.cases.world import World, edit

STRICT = {
    RUN_STARTED: b'{"parent_run_id":"p"}',
    RUN_COMPLETED: b'{"status":"success","phase":"completed"}',
    RUN_SUSPENDED: b'{"SuspensionID":"s","Version":"v","PendingCount":1,"RequiredTools":["t"]}',
    CHILD_RUN_LINKED: b'{"ToolName":"t","ToolCallID":"c","ChildRunID":"r","ChildAgentID":"a"}',
}
DIGEST = "ab" * 32


def code_of(kind: str, payload: bytes) -> str:
    """The rule by which a payload is refused."""
    with pytest.raises(InvalidCommand) as caught:
        decode_hook(kind, payload)
    return caught.value.code


def completion(**fields: Any) -> bytes:
    return json.dumps(fields).encode()


@pytest.mark.case("C272")
def test_a_start_payload_holds_only_what_is_there() -> None:
    assert RunStarted().encode() == b"{}"
    full = RunStarted(parent_run_id="p", predecessor_run_id="q", labels={"b": "<2>", "a": "1"})
    expected = b'{"parent_run_id":"p","predecessor_run_id":"q","labels":{"a":"1","b":"\\u003c2\\u003e"}}'
    assert full.encode() == expected
    assert decode_hook(RUN_STARTED, expected) == full


@pytest.mark.case("C274")
@pytest.mark.parametrize("kind", STRICT)
def test_a_strict_payload_is_exactly_one_object_of_known_keys(kind: str) -> None:
    good = STRICT[kind]
    assert encode_hook(decode_hook(kind, good + b" \r\n\t")) == good
    assert code_of(kind, good[:-1] + b',"x":1}') == "payload_unknown_field"
    assert code_of(kind, good + b" {}") == "json.syntax"
    assert code_of(kind, good + b" trailing") == "json.syntax"
    assert code_of(kind, b"null") == "payload_wrong_type"
    assert code_of(kind, b"") == "json.syntax"


@pytest.mark.parametrize(
    ("kind", "payload"),
    [
        (RUN_STARTED, b'{"Parent_Run_Id":"p"}'),
        (RUN_STARTED, b'{"RunContext":{}}'),
        (RUN_SUSPENDED, b'{"suspension_id":"s"}'),
        (RUN_SUSPENDED, b'{"SuspensionID":"s","suspensionid":"t"}'),
        (CHILD_RUN_LINKED, STRICT[CHILD_RUN_LINKED].replace(b"ToolName", b"tool_name")),
    ],
)
def test_keys_are_matched_exactly(kind: str, payload: bytes) -> None:
    assert code_of(kind, payload) in {"payload_unknown_field", "payload_missing_field"}


@pytest.mark.parametrize(
    ("kind", "payload", "code"),
    [
        (RUN_STARTED, b'{"labels":{"a":null}}', "payload_wrong_type"),
        (RUN_STARTED, b'{"labels":null}', "payload_null_field"),
        (RUN_STARTED, b'{"labels":{"a":1}}', "payload_wrong_type"),
        (RUN_SUSPENDED, b'{"SuspensionID":"s","RequiredTools":["a",null]}', "payload_wrong_type"),
        (RUN_SUSPENDED, b'{"SuspensionID":"s","PendingCount":1.0}', "payload_wrong_type"),
        (RUN_SUSPENDED, b'{"SuspensionID":"s","PendingCount":true}', "payload_wrong_type"),
        (RUN_SUSPENDED, b'{"SuspensionID":"s","PendingCount":9223372036854775808}', "payload_invalid_value"),
        (RUN_SUSPENDED, b'{"SuspensionID":""}', "payload_invalid_value"),
        (CHILD_RUN_LINKED, STRICT[CHILD_RUN_LINKED].replace(b'"t"', b'""'), "payload_invalid_value"),
    ],
)
def test_values_have_the_contracts_types(kind: str, payload: bytes, code: str) -> None:
    assert code_of(kind, payload) == code


@pytest.mark.case("C275")
@pytest.mark.parametrize(
    "extra", [{"failure": {"message": "m", "kind": "k"}}, {"cancellation": {"reason": "r"}}]
)
def test_a_success_carries_neither_failure_nor_cancellation(extra: dict[str, Any]) -> None:
    payload = completion(status="success", phase="completed", **extra)
    assert code_of(RUN_COMPLETED, payload) == "payload_invalid_value"


@pytest.mark.parametrize(
    "extra",
    [
        {},
        {"failure": {"message": "", "kind": "k"}},
        {"failure": {"message": "m", "kind": ""}},
        {"failure": {"message": "m", "kind": "k"}, "cancellation": {"reason": "r"}},
    ],
)
def test_a_failed_completion_carries_a_failure_with_message_and_kind(extra: dict[str, Any]) -> None:
    assert (
        code_of(RUN_COMPLETED, completion(status="failed", phase="failed", **extra))
        == "payload_invalid_value"
    )


@pytest.mark.case("C277")
@pytest.mark.parametrize(
    "extra",
    [
        {},
        {"cancellation": {"reason": ""}},
        {"cancellation": {"reason": "r"}, "failure": {"message": "m", "kind": "k"}},
    ],
)
def test_a_canceled_completion_carries_a_reason_and_no_failure(extra: dict[str, Any]) -> None:
    payload = completion(status="canceled", phase="canceled", **extra)
    assert code_of(RUN_COMPLETED, payload) == "payload_invalid_value"


@pytest.mark.case("C278")
def test_a_completion_has_one_of_three_states() -> None:
    assert code_of(RUN_COMPLETED, completion(status="done")) == "payload_invalid_value"
    assert code_of(RUN_COMPLETED, completion(phase="completed")) == "payload_missing_field"


@pytest.mark.case("C280")
def test_a_cancellation_without_a_reason_is_the_engines() -> None:
    expected = b'{"status":"canceled","phase":"canceled","cancellation":{"reason":"engine_canceled"}}'
    assert RunCompleted.canceled().encode() == expected


@pytest.mark.case("C281")
def test_a_suspension_writes_all_four_keys() -> None:
    expected = b'{"SuspensionID":"s","Version":"","PendingCount":0,"RequiredTools":null}'
    assert RunSuspended(suspension_id="s").encode() == expected
    assert RunSuspended(suspension_id="s", required_tools=()).encode() == expected


@pytest.mark.case("C283")
@pytest.mark.parametrize(
    "payload",
    [
        completion(status="failed", failure={"message": "m", "kind": "k", "request_id": "r"}),
        completion(status="canceled", cancellation={"reason": "r", "by": "x"}),
    ],
)
def test_nested_keys_are_known_too(payload: bytes) -> None:
    assert code_of(RUN_COMPLETED, payload) == "payload_unknown_field"


@pytest.mark.case("C284")
def test_encoding_needs_a_key_and_decoding_a_known_type() -> None:
    with pytest.raises(InvalidCommand) as caught:
        hook_record(Usage(), event_key="", run_id="r", agent_id="a")
    assert caught.value.code == "event_key_required"
    assert code_of("assistant_turn_committed", b"{}") == "unknown_record_type"
    with pytest.raises(InvalidCommand) as caught:
        decode_record(None)
    assert caught.value.code == "record_required"


@pytest.mark.case("C286")
@pytest.mark.parametrize("result", [b'{"a":1}', b"null"])
def test_a_tool_result_is_a_result_or_a_failure(result: bytes) -> None:
    failure = ToolFailure(kind="timeout")
    with pytest.raises(InvalidCommand) as caught:
        encode_hook(ToolResultReceived(result_json=result, failure=failure))
    assert caught.value.code == "tool_result_and_failure"
    assert b'"failure"' in encode_hook(ToolResultReceived(failure=failure))


def test_a_tool_result_counts_its_bytes_before_whitespace_is_dropped() -> None:
    written = encode_hook(ToolResultReceived(result_json=b'{ "n": 1.50 }'))
    assert b'"result_json":{"n":1.50},"result_bytes":13' in written
    assert encode_hook(decode_hook("tool_result_received", written)) == written


@pytest.mark.case("C287")
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("ReasonSHA256", DIGEST.upper()),
        ("ReasonSHA256", DIGEST[:-1]),
        ("ReasonSize", -1),
        ("ReasonSize", 0),
        ("ModelResponseSHA256", DIGEST),
        ("ModelResponseFingerprintVersion", "v1"),
        ("OutputValidationKind", "other"),
    ],
)
@pytest.mark.parametrize("kind", ["model_output_rejected", "planner_output_rejected"])
def test_a_rejection_keeps_digests_that_fit(kind: str, field: str, value: object) -> None:
    good: dict[str, object] = {"ReasonSHA256": DIGEST, "ReasonSize": 3}
    assert decode_hook(kind, json.dumps(good).encode())
    if kind == "planner_output_rejected" and not field.startswith("Reason"):
        return
    assert code_of(kind, json.dumps(good | {field: value}).encode()) == "payload_invalid_value"


def test_an_empty_reason_has_the_digest_of_nothing() -> None:
    event = ModelOutputRejected(reason_sha256=hashlib.sha256(b"").hexdigest(), reason_size=0)
    assert decode_hook("model_output_rejected", encode_hook(event)) == event
    with pytest.raises(ValidationError):
        ModelOutputRejected(reason_sha256=hashlib.sha256(b"").hexdigest(), reason_size=1)


def test_a_response_digest_comes_with_presence_version_and_size() -> None:
    whole = ModelOutputRejected(
        reason_sha256=DIGEST,
        reason_size=3,
        model_response_present=True,
        model_response_fingerprint_version="v1",
        model_response_sha256=DIGEST,
        model_response_size=9,
    )
    assert decode_hook("model_output_rejected", encode_hook(whole)) == whole
    for missing in ({"ModelResponsePresent": False}, {"ModelResponseSize": 0}):
        payload = json.loads(encode_hook(whole)) | missing
        assert code_of("model_output_rejected", json.dumps(payload).encode()) == "payload_invalid_value"


def test_ordinary_payloads_are_decoded_leniently_and_exactly() -> None:
    payload = (
        b'{"Payload": { "b" : 1.50, "a": "\\u00e9<" }, "ToolName": null, "Unknown": [1], '
        b'"ExpectedChildrenTotal": 2}'
    )
    event = decode_hook("tool_call_scheduled", payload)
    written = encode_hook(event)
    assert b'"Payload":{"b":1.50,"a":"\\u00e9\\u003c"}' in written
    assert encode_hook(decode_hook("tool_call_scheduled", written)) == written
    metadata = decode_hook("policy_decision", b'{"Metadata":{"z":12345678901234567890,"Payload":{"b":[]}}}')
    assert b'"Metadata":{"Payload":{"b":[]},"z":12345678901234567890}' in encode_hook(metadata)


def test_a_refused_payload_is_not_in_its_error() -> None:
    secret = b'{"status":"success","phase":"completed","password":"hunter2"}'
    with pytest.raises(InvalidCommand) as caught:
        decode_hook(RUN_COMPLETED, secret)
    error = caught.value
    assert "hunter2" not in repr(error) + str(error)
    assert error.__cause__ is None
    assert error.__context__ is None


@pytest.mark.parametrize("payload", [b'{"status":"success","phase":"completed","x":1}', b"{}", b"null"])
def test_a_lifecycle_command_with_a_bad_payload_is_refused(world: World, payload: bytes) -> None:
    world.run()
    with pytest.raises(InvalidCommand):
        world.backend.execute(edit(world.make.end(), record={"payload": payload}))
    assert world.types() == ["run_started"]
