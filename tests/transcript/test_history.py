"""History policies (contract 7; cases C335 to C350)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlane.transcript import (
    CompressionConfig,
    HistoryCompression,
    HistoryError,
    Message,
    Messages,
    ModelRequest,
    Part,
    TextPart,
    ThinkingPart,
    TokenCount,
    ToolResultPart,
    ToolUsePart,
    encode_message,
    keep_recent_turns,
    split_turns,
    validate_planner_transcript,
)
from tests.transcript.golden import lines

LINES = lines("history.jsonl")
SUMMARY = "SUMMARY"


def message_of(letter: str, name: str) -> Message | None:
    """A message of the golden alphabet, its name as text or tool id."""
    use: tuple[Part, ...] = (ToolUsePart(name, "t", b"{}"),)
    result: tuple[Part, ...] = (ToolResultPart(name),)
    text: tuple[Part, ...] = (TextPart(name),)
    shapes: dict[str, tuple[str, tuple[Part, ...]]] = {
        "S": ("system", text),
        "U": ("user", text),
        "U0": ("user", ()),
        "A": ("assistant", text),
        "At": ("assistant", use),
        "Th": ("assistant", (ThinkingPart(name),)),
        "R": ("user", result),
        "Rx": ("user", result + text),
    }
    return None if letter == "N" else Message(*shapes[letter])


def history(letters: str) -> list[Message | None]:
    return [message_of(letter, f"m{index}") for index, letter in enumerate(letters.split())]


def is_summary(message: Message) -> bool:
    return message.meta == {"goa_ai_history": "summary"}


def names(messages: Messages) -> list[str]:
    """The names of messages, which stand in their first part."""
    found: list[str] = []
    for message in messages:
        if message is None or not message.parts:
            continue
        match message.parts[0]:
            case TextPart(text) | ThinkingPart(text):
                found.append(SUMMARY if is_summary(message) else text)
            case ToolUsePart(id=name) | ToolResultPart(tool_use_id=name):
                found.append(name)
            case _:
                raise AssertionError(message)
    return found


@dataclass
class Model:
    """Answers with a fixed summary and keeps what it was asked."""

    summary: str = "sum"
    error: Exception | None = None
    requests: list[ModelRequest] = field(default_factory=list)

    async def complete(self, request: ModelRequest) -> str:
        self.requests.append(request)
        if self.error:
            raise self.error
        return self.summary


@dataclass
class Counter:
    """Counts a fixed cost a message, one for the tools and one for every request."""

    costs: dict[str, int]
    overhead: int = 0
    tool_cost: int = 0
    exact: bool = True
    supported: bool = True
    error: Exception | None = None
    counts: list[int] = field(default_factory=list)

    async def count_tokens(self, request: ModelRequest) -> TokenCount | None:
        if self.error:
            raise self.error
        if not self.supported:
            return None
        tokens = self.overhead + self.tool_cost * len(request.tools)
        tokens += sum(self.costs[name] for name in names(request.messages))
        self.counts.append(tokens)
        return TokenCount(tokens, self.exact)


def costs_of(messages: Messages, each: int, summary: int = 5) -> dict[str, int]:
    return {SUMMARY: summary} | dict.fromkeys(names(messages), each)


KEEP = [line for line in LINES if line["policy"] == "keep_recent_turns"]
COMPRESS = [line for line in LINES if line["policy"] == "compress"]


@pytest.mark.parametrize("line", LINES, ids=[line["name"] for line in LINES])
def test_turns_are_those_of_the_reference(line: dict[str, Any]) -> None:
    turns = split_turns(history(line["messages"])).turns
    assert [names(turn) for turn in turns] == line.get("newer_turns", line["turns"])


@pytest.mark.parametrize("line", KEEP, ids=[line["name"] for line in KEEP])
def test_recent_turns_are_those_of_the_reference(line: dict[str, Any]) -> None:
    assert names(keep_recent_turns(history(line["messages"]), line["n"])) == line["result"]


@pytest.mark.parametrize("line", COMPRESS, ids=[line["name"] for line in COMPRESS])
async def test_compression_keeps_what_the_reference_keeps(line: dict[str, Any]) -> None:
    messages = history(line["messages"])
    golden, given_model = line["counter"], line["model"]
    config = line["config"]
    model = Model(given_model["summary"], RuntimeError() if given_model["error"] else None)
    counter = Counter(
        dict(zip(line["ids"], golden["costs"], strict=True)) | {SUMMARY: golden["summary_cost"]},
        golden["overhead"],
        golden["tool_cost"],
        golden["exact"],
        error=RuntimeError() if golden["error"] else None,
    )
    policy = HistoryCompression(
        CompressionConfig(
            compress_at_turns=config["CompressAtTurns"],
            compress_at_max_input_tokens=config["CompressAtMaxInputTokens"],
            keep_max_turns=config["KeepMaxTurns"],
            keep_max_input_tokens=config["KeepMaxInputTokens"],
            prompt="P<%s>",
        ),
        None if given_model["missing"] else model,
        None if golden["missing"] else counter,
        ({},) * golden["tools"],
    )
    before = list(messages)
    if line["error"]:
        with pytest.raises(HistoryError):
            await policy(messages)
        assert messages == before
        return
    result = await policy(messages)
    assert names(result) == line["result"]
    assert (result is messages) is line["unchanged"]
    if not line["unchanged"]:
        (summary,) = [message for message in result if message and is_summary(message)]
        assert encode_message(summary).decode() == line["summary_message"]


FOUR_TURNS = history("S U A U At R A U A")
TURN_TRIGGER: dict[str, Any] = {"compress_at_turns": 3, "keep_max_turns": 1}


@pytest.mark.case("C335")
@pytest.mark.parametrize(
    ("limits", "code"),
    [
        ({"keep_max_turns": 1}, "history.no_trigger"),
        ({"compress_at_turns": 3}, "history.no_keep_limit"),
        ({"compress_at_turns": 3, "keep_max_turns": -1}, "history.negative"),
        (
            {"compress_at_turns": 3, "keep_max_turns": 1, "compress_at_max_input_tokens": -1},
            "history.negative",
        ),
        ({"compress_at_turns": 3, "keep_max_turns": 3}, "history.keeps_too_much"),
        ({"compress_at_turns": 3, "keep_max_turns": 4}, "history.keeps_too_much"),
        ({"compress_at_turns": 3, "keep_max_turns": 1, "prompt": "no place"}, "history.prompt"),
        ({"compress_at_turns": 3, "keep_max_turns": 1, "prompt": "%s %s"}, "history.prompt"),
    ],
)
async def test_a_configuration_is_refused_when_there_is_history(limits: dict[str, Any], code: str) -> None:
    policy = HistoryCompression(CompressionConfig(**limits), Model())
    with pytest.raises(HistoryError) as refusal:
        await policy(FOUR_TURNS)
    assert refusal.value.code == code
    assert await policy([]) == []


@pytest.mark.case("C335")
def test_a_turn_limit_without_a_turn_trigger_is_fine() -> None:
    config = CompressionConfig(compress_at_max_input_tokens=1, keep_max_turns=100)
    assert config.check() is None  # type: ignore[func-returns-value]


async def test_a_missing_model_comes_before_everything() -> None:
    with pytest.raises(HistoryError) as refusal:
        await HistoryCompression(CompressionConfig(), None)([])
    assert refusal.value.code == "history.model_required"


@pytest.mark.case("C337")
@pytest.mark.parametrize(("ceiling", "compressed"), [(90, False), (89, True)])
async def test_a_count_of_exactly_the_trigger_fits(ceiling: int, compressed: bool) -> None:
    config = CompressionConfig(compress_at_max_input_tokens=ceiling, keep_max_turns=1)
    model = Model()
    result = await HistoryCompression(config, model, Counter(costs_of(FOUR_TURNS, 10)))(FOUR_TURNS)
    assert (result is not FOUR_TURNS) is compressed
    assert len(model.requests) == int(compressed)


@pytest.mark.case("C338")
async def test_a_satisfied_turn_trigger_needs_no_trigger_count() -> None:
    config = CompressionConfig(**TURN_TRIGGER, compress_at_max_input_tokens=1_000)
    counter = Counter(costs_of(FOUR_TURNS, 10))
    await HistoryCompression(config, Model(), counter)(FOUR_TURNS)
    assert 90 not in counter.counts


@pytest.mark.case("C340")
async def test_only_system_messages_stay_unchanged() -> None:
    messages = history("S S")
    counter = Counter({}, supported=False)
    policy = HistoryCompression(
        CompressionConfig(compress_at_max_input_tokens=1, keep_max_turns=1), Model(), counter
    )
    assert await policy(messages) is messages


@pytest.mark.case("C341")
async def test_the_summary_comes_right_after_the_system_prefix() -> None:
    messages = history("S S U A S U A U A")
    result = await HistoryCompression(CompressionConfig(**TURN_TRIGGER), Model())(messages)
    assert names(result) == ["m0", "m1", SUMMARY, "m7", "m8"]


@pytest.mark.case("C343")
@pytest.mark.parametrize(
    ("turns", "tokens", "kept"),
    [
        (2, 1_000, ["m6", "m7", "m8"]),
        (9, 10, ["m6", "m7", "m8"]),
        (9, 9, ["m7", "m8"]),
        (1, 1_000, ["m7", "m8"]),
        (9, 1, ["m7", "m8"]),
        (0, 40, ["m3", "m4", "m5", "m6", "m7", "m8"]),
    ],
)
async def test_the_stricter_keep_limit_decides_and_the_newest_turn_stays(
    turns: int, tokens: int, kept: list[str]
) -> None:
    config = CompressionConfig(
        compress_at_max_input_tokens=89, keep_max_turns=turns, keep_max_input_tokens=tokens
    )
    policy = HistoryCompression(config, Model(), Counter(costs_of(FOUR_TURNS, 10)))
    assert names(await policy(FOUR_TURNS)) == ["m0", SUMMARY, *kept]


@pytest.mark.case("C344")
async def test_a_turn_with_tools_is_kept_or_dropped_whole() -> None:
    config = CompressionConfig(compress_at_turns=4, keep_max_turns=3)
    for limit, kept in ((3, ["m3", "m4", "m5"]), (2, [])):
        config = CompressionConfig(compress_at_turns=4, keep_max_turns=limit)
        result = await HistoryCompression(config, Model())(FOUR_TURNS)
        assert names(result) == ["m0", SUMMARY, *kept, "m6", "m7", "m8"]


@pytest.mark.case("C346")
@pytest.mark.parametrize(
    ("counter", "code"),
    [
        (None, "history.counter_required"),
        (Counter(costs_of(FOUR_TURNS, 10), exact=False), "history.count_inexact"),
        (Counter({}, supported=False), "history.count_unsupported"),
        (Counter({}, error=RuntimeError("down")), "history.count_failed"),
    ],
)
@pytest.mark.parametrize(
    "limits",
    [
        {"compress_at_max_input_tokens": 89, "keep_max_turns": 1},
        {"compress_at_turns": 3, "keep_max_input_tokens": 10},
    ],
)
async def test_counts_must_be_exact_wherever_one_is_needed(
    counter: Counter | None, code: str, limits: dict[str, Any]
) -> None:
    model = Model()
    before = list(FOUR_TURNS)
    with pytest.raises(HistoryError) as refusal:
        await HistoryCompression(CompressionConfig(**limits), model, counter)(FOUR_TURNS)
    assert refusal.value.code == code
    assert before == FOUR_TURNS
    assert model.requests == []


@pytest.mark.case("C347")
@pytest.mark.parametrize("letters", ["S U A U A", "U A"])
async def test_a_newest_turn_above_the_ceiling_is_an_error_before_any_summary(letters: str) -> None:
    messages = history(letters)
    model = Model()
    config = CompressionConfig(compress_at_max_input_tokens=19, keep_max_turns=1)
    with pytest.raises(HistoryError) as refusal:
        await HistoryCompression(config, model, Counter(costs_of(messages, 10)))(messages)
    assert refusal.value.code == "history.newest_turn_too_large"
    assert model.requests == []


@pytest.mark.case("C349")
async def test_one_summary_is_asked_for_and_marked() -> None:
    model = Model("  what happened \n")
    config = CompressionConfig(**TURN_TRIGGER, prompt="P<%s>")
    result = await HistoryCompression(config, model, tools=({"name": "t"},))(FOUR_TURNS)
    (request,) = model.requests
    old = "user: m1\nassistant: m2\nuser: m3\nassistant: [Tool Call: t]\nuser: [Tool Result]\nassistant: m6\n"
    assert request == ModelRequest((Message("user", (TextPart(f"P<{old}>"),)),), (), "small")
    assert result[1] == Message(
        "system",
        (TextPart("[Conversation Summary]\nwhat happened"),),
        {"goa_ai_history": "summary"},
    )


async def test_the_summary_s_role_and_model_class_can_be_chosen() -> None:
    model = Model()
    config = CompressionConfig(**TURN_TRIGGER, model_class="large", summary_role="user")
    result = await HistoryCompression(config, model)(FOUR_TURNS)
    assert model.requests[0].model_class == "large"
    assert result[1] is not None
    assert result[1].role == "user"


@pytest.mark.parametrize(
    ("model", "code"),
    [
        (Model(""), "history.summary_empty"),
        (Model(" \n\t"), "history.summary_empty"),
        (Model(error=RuntimeError("down")), "history.model_failed"),
    ],
)
async def test_a_failed_summary_is_an_error_and_leaves_the_history_alone(model: Model, code: str) -> None:
    before = list(FOUR_TURNS)
    with pytest.raises(HistoryError) as refusal:
        await HistoryCompression(CompressionConfig(**TURN_TRIGGER), model)(FOUR_TURNS)
    assert refusal.value.code == code
    assert refusal.value.__cause__ is model.error
    assert before == FOUR_TURNS


@pytest.mark.parametrize(
    ("summary_cost", "kept"),
    [
        (9, ["m3", "m4", "m5", "m6", "m7", "m8"]),
        (10, ["m6", "m7", "m8"]),
        (30, ["m6", "m7", "m8"]),
        (49, ["m7", "m8"]),
    ],
)
async def test_under_a_ceiling_kept_turns_are_dropped_until_the_request_fits(
    summary_cost: int, kept: list[str]
) -> None:
    model = Model()
    counter = Counter(costs_of(FOUR_TURNS, 10, summary_cost), overhead=1, tool_cost=4)
    config = CompressionConfig(compress_at_max_input_tokens=84, keep_max_turns=3, prompt="%s")
    result = await HistoryCompression(config, model, counter, tools=({},))(FOUR_TURNS)
    assert names(result) == ["m0", SUMMARY, *kept]
    (request,) = model.requests
    assert request.messages[0].parts[0] == TextPart(
        "user: m1\nassistant: m2\nuser: m3\nassistant: [Tool Call: t]\nuser: [Tool Result]\nassistant: m6\n"
    )


async def test_a_summary_that_never_fits_is_an_error() -> None:
    counter = Counter(costs_of(FOUR_TURNS, 10, 60))
    config = CompressionConfig(compress_at_max_input_tokens=89, keep_max_turns=3)
    with pytest.raises(HistoryError) as refusal:
        await HistoryCompression(config, Model(), counter)(FOUR_TURNS)
    assert refusal.value.code == "history.summary_too_large"


@pytest.mark.case("C350")
def test_recent_turns_keep_the_system_prefix() -> None:
    assert names(keep_recent_turns(FOUR_TURNS, 2)) == ["m0", "m6", "m7", "m8"]
    for n in (0, -1, 4, 9):
        assert keep_recent_turns(FOUR_TURNS, n) is FOUR_TURNS


@pytest.mark.parametrize(
    ("letters", "turns"),
    [
        ("A U A", [["m0"], ["m1", "m2"]]),
        ("R A", [["m0"], ["m1"]]),
        ("U A A A", [["m0", "m1", "m2", "m3"]]),
        ("U At Rx A", [["m0", "m1", "m2"], ["m3"]]),
        ("U A S U", [["m0", "m1", "m2"], ["m3"]]),
        ("U At R At R A", [["m0", "m1", "m2"], ["m3", "m4"], ["m5"]]),
        ("U N A", [["m0", "m2"]]),
    ],
)
def test_turns(letters: str, turns: list[list[str]]) -> None:
    assert [names(turn) for turn in split_turns(history(letters)).turns] == turns


@st.composite
def conversations(draw: st.DrawFn) -> list[Message | None]:
    """Valid conversations: every tool use is answered in full."""
    letters: list[Message | None] = []

    def say(letter: str) -> None:
        letters.append(message_of(letter, f"m{len(letters)}"))

    for _ in range(draw(st.integers(0, 2))):
        say("S")
    for _ in range(draw(st.integers(0, 8))):
        match draw(st.sampled_from(["ask", "speak", "tools", "system"])):
            case "ask":
                say("U")
            case "speak":
                say("A")
            case "system":
                say("S")
            case _:
                ids = [f"t{len(letters)}.{n}" for n in range(draw(st.integers(1, 3)))]
                cut = draw(st.integers(0, len(ids)))
                letters += [
                    Message("assistant", (TextPart("a"), *(ToolUsePart(i, "t", b"{}") for i in group)))
                    for group in (ids[:cut], ids[cut:])
                ]
                letters.append(Message("user", tuple(ToolResultPart(i) for i in ids)))
    return letters


@given(
    messages=conversations(),
    keep_turns=st.integers(0, 4),
    keep_tokens=st.integers(0, 60),
    at_turns=st.integers(0, 6),
    ceiling=st.integers(0, 200),
)
async def test_compression_never_cuts_a_tool_use_from_its_results(
    messages: list[Message | None], keep_turns: int, keep_tokens: int, at_turns: int, ceiling: int
) -> None:
    class Flat:
        async def count_tokens(self, request: ModelRequest) -> TokenCount:
            return TokenCount(10 * len(request.messages), exact=True)

    validate_planner_transcript(messages)
    config = CompressionConfig(
        compress_at_turns=at_turns,
        compress_at_max_input_tokens=ceiling,
        keep_max_turns=keep_turns,
        keep_max_input_tokens=keep_tokens,
    )
    before = list(messages)
    try:
        result = await HistoryCompression(config, Model(), Flat())(messages)
    except HistoryError:
        assert messages == before
        return
    validate_planner_transcript(result)
    kept = [message for message in result if message and not is_summary(message)]
    split = split_turns(messages)
    turns = split_turns(kept).turns
    assert tuple(kept[: len(split.prefix)]) == split.prefix
    assert turns == split.turns[len(split.turns) - len(turns) :]
    if result is not messages:
        assert not ceiling or 10 * len(result) <= ceiling
        assert not keep_turns or len(turns) <= keep_turns


@given(messages=conversations(), n=st.integers(-1, 9))
def test_keeping_recent_turns_never_cuts_a_tool_use_from_its_results(
    messages: list[Message | None], n: int
) -> None:
    result = keep_recent_turns(messages, n)
    validate_planner_transcript(result)
    if n > 0:
        assert len(split_turns(result).turns) <= n
