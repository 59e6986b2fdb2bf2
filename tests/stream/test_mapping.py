"""Which events a record becomes, one type after the other (cases of section stream)."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from runlane.contract.errors import InvalidCommand
from runlane.contract.payloads import (
    AwaitClarification,
    AwaitExternalTools,
    AwaitQuestions,
    ChildRunLinked,
    ExternalToolItem,
    Failure,
    HookEvent,
    MemoryAppended,
    PlannerNote,
    PolicyDecision,
    PromptRendered,
    PromptScope,
    Question,
    QuestionOption,
    RunCompleted,
    RunPhaseChanged,
    RunStarted,
    RunSuspended,
    ThinkingBlock,
    ToolAuthorization,
    ToolBounds,
    ToolCallScheduled,
    ToolCallUpdated,
    ToolResultReceived,
    ToolTelemetry,
    encode_hook,
    hook_record,
    hook_type,
)
from runlane.contract.stream import StreamEvent, StreamType, stream_events
from tests.stream.records import T0, committed


def events_of(event: HookEvent, *, key: str = "k") -> tuple[StreamEvent, ...]:
    return stream_events(committed(hook_type(event), encode_hook(event), key=key))


def payload_of(event: HookEvent) -> str:
    (only,) = events_of(event)
    return only.payload.decode()


@pytest.mark.case("C355")
def test_a_suspension_ends_the_stream_of_its_run() -> None:
    workflow, end = events_of(RunSuspended(suspension_id="s"))
    assert (workflow.type, workflow.event_key) == (StreamType.WORKFLOW, "k")
    assert workflow.payload == b'{"phase":"suspended","status":"suspended"}'
    assert (end.type, end.event_key) == (StreamType.RUN_STREAM_END, "k/run_stream_end")
    assert end.payload == b"{}"


@pytest.mark.case("C356")
@pytest.mark.parametrize(
    ("record_type", "payload"),
    [
        ("run_started", encode_hook(RunStarted())),
        ("policy_decision", encode_hook(PolicyDecision())),
        ("memory_appended", encode_hook(MemoryAppended(event_count=3))),
        ("model_output_rejected", b"{}"),
        ("planner_output_rejected", b"{}"),
        ("runtime.cancellation_intent", b'{"reason":"user_requested"}'),
        ("transcript_messages_seeded", b'[{"role":"assistant","parts":[{"kind":"text","text":"hi"}]}]'),
    ],
)
def test_these_records_have_no_event(record_type: str, payload: bytes) -> None:
    assert stream_events(committed(record_type, payload)) == ()


def test_an_unknown_type_has_no_event() -> None:
    assert stream_events(committed("irrelevant", b"{}")) == ()


@pytest.mark.case("C358")
def test_a_tool_result_keeps_the_run_that_made_the_call() -> None:
    result = ToolResultReceived(call_run_id="earlier", tool_call_id="c", tool_name="t")
    (event,) = events_of(result)
    assert (event.type, event.run_id) == (StreamType.TOOL_END, "run-1")
    assert json.loads(event.payload)["call_run_id"] == "earlier"


@pytest.mark.case("C358")
@pytest.mark.parametrize("missing", ["call_run_id", "tool_call_id", "tool_name"])
def test_a_tool_result_names_its_call(missing: str) -> None:
    named = {"call_run_id": "r", "tool_call_id": "c", "tool_name": "t"} | {missing: ""}
    with pytest.raises(InvalidCommand) as refused:
        events_of(ToolResultReceived(**named))
    assert refused.value.code == f"{missing}_required"


@pytest.mark.case("C359")
def test_a_preview_is_one_short_line() -> None:
    text = "a \t\r\n b\n" + "x" * 200
    result = ToolResultReceived(call_run_id="r", tool_call_id="c", tool_name="t", result_preview=text)
    assert json.loads(payload_of(result))["result_preview"] == ("a b " + "x" * 200)[:140]


def test_a_tool_result_puts_server_data_beside_its_payload() -> None:
    result = ToolResultReceived(
        call_run_id="r",
        tool_call_id="c",
        parent_tool_call_id="p",
        tool_name="t",
        result_json=b'{"n": 1.50}',
        server_data=b'{"secret":1}',
        bounds=ToolBounds(returned=1, truncated=True),
        duration=7,
        telemetry=ToolTelemetry(duration_ms=1, tokens_used=2, model="m"),
    )
    (event,) = events_of(result)
    assert event.server_data == b'{"secret":1}'
    assert event.payload.decode() == (
        '{"call_run_id":"r","tool_call_id":"c","parent_tool_call_id":"p","tool_name":"t",'
        '"result":{"n":1.50},'
        '"bounds":{"Returned":1,"Total":null,"Truncated":true,"NextCursor":null,"RefinementHint":""},'
        '"duration":7,"telemetry":{"DurationMs":1,"TokensUsed":2,"Model":"m","Extra":null}}'
    )


@pytest.mark.parametrize(
    ("event", "payload"),
    [
        (
            AwaitClarification(id="a", question="q", missing_fields=("x",), restrict_to_tool="t"),
            '{"id":"a","question":"q","missing_fields":["x"],"restrict_to_tool":"t"}',
        ),
        (AwaitClarification(id="a", question="q"), '{"id":"a","question":"q"}'),
        (
            AwaitQuestions(
                id="a",
                tool_name="t",
                tool_call_id="c",
                payload=b'{"hidden":true}',
                title="T",
                questions=(
                    Question(
                        id="q1",
                        prompt="p",
                        options=(QuestionOption(id="o", label="l"),),
                        allow_multiple=True,
                    ),
                    Question(id="q2", prompt="p"),
                ),
            ),
            (
                '{"id":"a","tool_name":"t","tool_call_id":"c","title":"T","questions":['
                '{"id":"q1","prompt":"p","options":[{"id":"o","label":"l"}],"allow_multiple":true},'
                '{"id":"q2","prompt":"p","options":[]}]}'
            ),
        ),
        (
            AwaitExternalTools(
                id="a",
                items=(
                    ExternalToolItem(tool_name="t", tool_call_id="c", payload=b"[1]"),
                    ExternalToolItem(tool_name="u"),
                ),
            ),
            '{"id":"a","items":[{"tool_name":"t","tool_call_id":"c","payload":[1]},{"tool_name":"u"}]}',
        ),
        (
            ToolAuthorization(tool_name="t", tool_call_id="c", approved=True, summary="s", approved_by="b"),
            '{"tool_name":"t","tool_call_id":"c","approved":true,"summary":"s","approved_by":"b"}',
        ),
        (ToolCallScheduled(tool_call_id="c", tool_name="t"), '{"tool_call_id":"c","tool_name":"t"}'),
        (
            ToolCallUpdated(tool_call_id="c"),
            '{"tool_call_id":"c","expected_children_total":0}',
        ),
        (PlannerNote(note=""), "{}"),
        (
            ThinkingBlock(text="t", signature="s", redacted=b"\xff", content_index=1, final=True),
            '{"text":"t","signature":"s","redacted":"/w==","content_index":1,"final":true}',
        ),
        (
            PromptRendered(prompt_id="p", version="1", scope=PromptScope(session_id="s")),
            '{"prompt_id":"p","version":"1","scope":{"SessionID":"s","Labels":null}}',
        ),
        (
            ChildRunLinked(tool_name="t", tool_call_id="c", child_run_id="r", child_agent_id="a"),
            '{"tool_name":"t","tool_call_id":"c","child_run_id":"r","child_agent_id":"a"}',
        ),
        (RunPhaseChanged(phase="planning"), '{"phase":"planning"}'),
    ],
    ids=lambda value: value if isinstance(value, str) else hook_type(value),
)
def test_a_payload_has_the_members_of_the_contract(event: HookEvent, payload: str) -> None:
    assert payload_of(event) == payload


@pytest.mark.parametrize("phase", ["completed", "failed", "canceled", "suspended"])
def test_a_last_phase_is_told_by_the_end_of_the_run_alone(phase: str) -> None:
    assert events_of(RunPhaseChanged(phase=phase)) == ()


@pytest.mark.parametrize(
    ("completed", "payload"),
    [
        (RunCompleted.success(labels={"a": "b"}), '{"phase":"completed","status":"success"}'),
        (
            RunCompleted.failed(Failure(message="m", kind="internal", retryable=True)),
            (
                '{"phase":"failed","status":"failed",'
                '"failure":{"message":"m","kind":"internal","retryable":true}}'
            ),
        ),
        (
            RunCompleted.canceled("user_requested"),
            '{"phase":"canceled","status":"canceled","cancellation":{"reason":"user_requested"}}',
        ),
    ],
    ids=["success", "failed", "canceled"],
)
def test_an_end_says_how_and_closes_the_stream(completed: RunCompleted, payload: str) -> None:
    workflow, end = events_of(completed)
    assert workflow.payload.decode() == payload
    assert (end.type, end.event_key, end.payload) == (StreamType.RUN_STREAM_END, "k/run_stream_end", b"{}")


def test_a_completion_without_phase_is_an_error() -> None:
    with pytest.raises(InvalidCommand) as refused:
        stream_events(committed("run_completed", b'{"status":"success"}'))
    assert refused.value.code == "phase_required"


def test_each_spoken_message_of_the_assistant_is_a_turn() -> None:
    spoken = (
        '{"role":"assistant","parts":[{"kind":"thinking","text":"hm","signature":"","redacted":null,'
        '"index":0,"final":true},{"kind":"text","text":"hi"}],"meta":null}'
    )
    silent = '{"role":"assistant","parts":[{"kind":"text","text":""}],"meta":null}'
    asked = '{"role":"user","parts":[{"kind":"text","text":"hi"}],"meta":null}'
    record = committed("transcript_messages_appended", f"[{asked},null,{spoken},{silent},{spoken}]", key="k")
    events = stream_events(record)
    assert [(event.type, event.event_key) for event in events] == [
        (StreamType.ASSISTANT_TURN, "k/assistant/2"),
        (StreamType.ASSISTANT_TURN, "k/assistant/4"),
    ]
    assert events[0].payload.decode() == f'{{"message":{spoken}}}'


def test_an_event_carries_its_record_and_its_identity() -> None:
    (event,) = events_of(PlannerNote(note="n"), key="note/1")
    assert (event.session_id, event.occurred_at) == ("sess-1", T0)
    assert event.identity == ("run-1", "planner_thought", "note/1")


def test_a_record_that_is_not_written_yet_maps_alike() -> None:
    event = PlannerNote(note="n")
    given = hook_record(event, event_key="k", run_id="run-1", agent_id="a", session_id="sess-1", timestamp=T0)
    assert stream_events(given) == events_of(event)
    with pytest.raises(InvalidCommand):
        stream_events(replace(given, timestamp=None))


def test_a_payload_that_cannot_be_read_is_an_error_without_its_text() -> None:
    with pytest.raises(InvalidCommand) as refused:
        stream_events(committed("planner_note", b'{"Note":"secret"'))
    assert refused.value.code == "json.syntax"
    assert "secret" not in repr(refused.value.__cause__) + repr(refused.value.__context__) + str(
        refused.value
    )
