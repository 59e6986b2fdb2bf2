"""Planner and Bedrock validation (contract 6.4, 6.5; cases C316 to C334)."""

from __future__ import annotations

import contextlib
import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlane.transcript import (
    BedrockTranscriptError,
    Message,
    Part,
    PlannerTranscriptError,
    TextPart,
    ThinkingPart,
    ToolResultPart,
    ToolUsePart,
    validate_bedrock,
    validate_planner_transcript,
)
from tests.transcript.golden import lines

LINES = lines("validators.jsonl")


def part_of(golden: dict[str, Any]) -> Part:
    match golden["kind"]:
        case "tool_use":
            return ToolUsePart(golden["id"], "t", b"{}")
        case "tool_result":
            return ToolResultPart(golden.get("tool_use_id", ""), "ok")
        case "thinking":
            return ThinkingPart("t", "s")
        case kind:
            return TextPart(kind)


def messages_of(line: dict[str, Any]) -> list[Message | None]:
    return [
        message and Message(message["role"], tuple(part_of(part) for part in message["parts"]))
        for message in line["messages"]
    ]


@pytest.mark.parametrize("line", LINES, ids=[line["name"] for line in LINES])
def test_verdicts_are_those_of_the_reference(line: dict[str, Any]) -> None:
    messages = messages_of(line)
    if line["planner"] == "refused":
        with pytest.raises(PlannerTranscriptError):
            validate_planner_transcript(messages)
    else:
        validate_planner_transcript(messages)
    if line["bedrock_thinking"] == "refused":
        with pytest.raises(BedrockTranscriptError):
            validate_bedrock(messages, thinking_enabled=True)
    else:
        validate_bedrock(messages, thinking_enabled=True)
    assert line["bedrock_plain"] == "accepted"
    validate_bedrock(messages, thinking_enabled=False)


def say(role: str, *parts: Part) -> Message:
    return Message(role, parts)


def use(*ids: str) -> Message:
    return say("assistant", *(ToolUsePart(i, "t", b"{}") for i in ids))


def answer(*ids: str) -> Message:
    return say("user", *(ToolResultPart(i) for i in ids))


TEXT = TextPart("x")
ASSISTANT = say("assistant", TEXT)
USER = say("user", TEXT)
SYSTEM = say("system", TEXT)

VALID: list[Any] = [
    pytest.param([], id="empty", marks=pytest.mark.case("C316")),
    pytest.param([SYSTEM, USER, ASSISTANT, USER], id="without tools", marks=pytest.mark.case("C316")),
    pytest.param([use("a"), answer("a")], id="answered", marks=pytest.mark.case("C317")),
    pytest.param(
        [say("assistant", ThinkingPart("t"), *use("a").parts), answer("a")],
        id="answered, with thinking",
        marks=pytest.mark.case("C317"),
    ),
    pytest.param(
        [use("a"), ASSISTANT, answer("a")], id="text in the same group", marks=pytest.mark.case("C319")
    ),
    pytest.param([use("a"), use("b"), answer("b", "a")], id="two messages, one answer, any order"),
    pytest.param([use("a"), say("user", TEXT, *answer("a").parts, TEXT)], id="other parts beside the result"),
    pytest.param([use("a"), answer("a"), use("a"), answer("a")], id="an id used again in a later group"),
    pytest.param([say("assistant", *answer("a").parts)], id="a result inside an assistant message"),
    pytest.param([say("user", *use("a").parts)], id="a use inside a user message"),
]

INVALID: list[Any] = [
    pytest.param(
        [USER, use("a")], "planner.answer_missing", "[1:2]", id="last", marks=pytest.mark.case("C319")
    ),
    pytest.param(
        [use("a"), SYSTEM, answer("a")],
        "planner.answer_missing",
        "[0:1]",
        id="then system",
        marks=pytest.mark.case("C320"),
    ),
    pytest.param(
        [use("a", "b"), answer("a")],
        "planner.result_count",
        "[1]",
        id="one result of two",
        marks=pytest.mark.case("C322"),
    ),
    pytest.param(
        [use("a"), answer("a", "b")],
        "planner.result_count",
        "[1]",
        id="one result too many",
        marks=pytest.mark.case("C322"),
    ),
    pytest.param(
        [use("a"), USER],
        "planner.results_missing",
        "[1]",
        id="answered by text",
        marks=pytest.mark.case("C323"),
    ),
    pytest.param(
        [use("a"), answer("b")],
        "planner.result_unmatched",
        "[1]",
        id="answered for another",
        marks=pytest.mark.case("C325"),
    ),
    pytest.param(
        [use("a", "b"), answer("a"), answer("b")],
        "planner.result_count",
        "[1]",
        id="results split over two messages",
        marks=pytest.mark.case("C326"),
    ),
    pytest.param(
        [use("a"), answer("a"), answer("a")],
        "planner.result_without_use",
        "[2]",
        id="a second user message with results",
        marks=pytest.mark.case("C326"),
    ),
    pytest.param(
        [USER, None, USER], "planner.message_absent", "[1]", id="absent", marks=pytest.mark.case("C328")
    ),
    pytest.param([use("a"), None], "planner.answer_missing", "[0:1]", id="answered by an absent message"),
    pytest.param([use("a", "a"), answer("a", "a")], "planner.use_ids", "[0:1]", id="use id twice"),
    pytest.param([use(""), answer("")], "planner.use_ids", "[0:1]", id="empty use id"),
    pytest.param([use("a", "b"), answer("a", "a")], "planner.result_ids", "[1]", id="result id twice"),
    pytest.param([use("a", "b"), answer("a", "")], "planner.result_ids", "[1]", id="empty result id"),
    pytest.param(
        [say("system", *answer("a").parts)], "planner.result_without_use", "[0]", id="result in system"
    ),
    pytest.param(
        [use("a", "a")], "planner.answer_missing", "[0:1]", id="the answer is looked for before the ids"
    ),
    pytest.param([use("", "b"), USER], "planner.use_ids", "[0:1]", id="ids are looked at before results"),
]


@pytest.mark.parametrize("messages", VALID)
def test_a_planner_transcript_is_valid(messages: list[Message | None]) -> None:
    validate_planner_transcript(messages)


@pytest.mark.parametrize(("messages", "code", "where"), INVALID)
def test_a_planner_transcript_is_refused(messages: list[Message | None], code: str, where: str) -> None:
    with pytest.raises(PlannerTranscriptError) as refusal:
        validate_planner_transcript(messages)
    assert refusal.value.code == code
    assert f"messages{where}" in str(refusal.value)


@pytest.mark.case("C329")
@pytest.mark.parametrize("messages", [param.values[0] for param in [*VALID, *INVALID]])
def test_validation_changes_nothing(messages: list[Message | None]) -> None:
    before = copy.deepcopy(messages)
    with contextlib.suppress(PlannerTranscriptError):
        validate_planner_transcript(messages)
    with contextlib.suppress(BedrockTranscriptError):
        validate_bedrock(messages, thinking_enabled=True)
    assert messages == before


THINKING = ThinkingPart("t")
USE = ToolUsePart("a", "t", b"{}")


@pytest.mark.case("C331")
def test_bedrock_wants_thinking_as_the_first_part_beside_a_tool_use() -> None:
    validate_bedrock([say("assistant", THINKING, TEXT, USE)], thinking_enabled=True)
    with pytest.raises(BedrockTranscriptError) as refusal:
        validate_bedrock([USER, say("assistant", TEXT, THINKING, USE)], thinking_enabled=True)
    assert refusal.value.code == "bedrock.thinking_first"
    assert "messages[1]" in str(refusal.value)


@pytest.mark.case("C332")
def test_bedrock_wants_no_thinking_without_a_tool_use() -> None:
    with pytest.raises(BedrockTranscriptError):
        validate_bedrock([say("assistant", USE)], thinking_enabled=True)
    validate_bedrock([ASSISTANT, None, say("assistant")], thinking_enabled=True)
    validate_bedrock([say("assistant", USE)], thinking_enabled=False)


@pytest.mark.case("C334")
def test_bedrock_does_not_repeat_the_planner_s_rules() -> None:
    validate_bedrock([answer("orphan")], thinking_enabled=True)


@st.composite
def transcripts(draw: st.DrawFn) -> list[Message | None]:
    """Valid transcripts: plain messages and groups of tool uses with their answers, in any order."""
    messages: list[Message | None] = []
    for _ in range(draw(st.integers(0, 5))):
        if draw(st.booleans()):
            messages.append(say(draw(st.sampled_from(["system", "user"])), TEXT))
            continue
        ids = draw(st.lists(st.text("abc", min_size=1, max_size=3), min_size=1, max_size=5, unique=True))
        cut = draw(st.integers(0, len(ids)))
        messages += [use(*ids[:cut]), ASSISTANT, use(*ids[cut:])]
        messages.append(say("user", TEXT, *answer(*draw(st.permutations(ids))).parts))
    return messages


@given(messages=transcripts(), data=st.data())
def test_dropping_any_answer_of_a_valid_transcript_is_refused(
    messages: list[Message | None], data: st.DataObject
) -> None:
    validate_planner_transcript(messages)
    answers = [i for i, m in enumerate(messages) if m and any(isinstance(p, ToolResultPart) for p in m.parts)]
    if answers:
        at = data.draw(st.sampled_from(answers))
        without = messages[:at] + messages[at + 1 :]
        with pytest.raises(PlannerTranscriptError):
            validate_planner_transcript(without)
