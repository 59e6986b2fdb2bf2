"""Compression of a history before it goes to a model (contract 7)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Protocol

from runlane.strictjson import JsonValue
from runlane.transcript.errors import HistoryError
from runlane.transcript.parts import CitationsPart, Message, Role, TextPart, ToolResultPart, ToolUsePart
from runlane.transcript.turns import Messages, Turns, joined, split_turns

SUMMARY_HEADING: Final = "[Conversation Summary]"
SUMMARY_META_KEY: Final = "goa_ai_history"
SUMMARY_META_VALUE: Final = "summary"

DEFAULT_PROMPT: Final = """\
Summarise the conversation below, so that it can go on from your summary alone.
Keep what the user asked for, what was decided and why, names, identifiers and figures, results of tools that
still matter, open questions and the step that was under way. Leave out greetings and what was superseded.

%s"""


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """A request as the model sees it: all messages and the tools that go with them."""

    messages: tuple[Message, ...]
    tools: tuple[JsonValue, ...] = ()
    model_class: str = ""


@dataclass(frozen=True, slots=True)
class TokenCount:
    """The input tokens of a request; `exact` is False for an estimate."""

    tokens: int
    exact: bool


class HistoryModel(Protocol):
    """The model that writes the summary."""

    async def complete(self, request: ModelRequest) -> str:
        """The text of the model's answer."""
        ...


class TokenCounter(Protocol):
    """Counts the input tokens of a request."""

    async def count_tokens(self, request: ModelRequest) -> TokenCount | None:
        """The count; None where the model does not support counting."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class CompressionConfig:
    """When to compress (triggers, either is enough) and what to keep (limits, both hold); 0 is not set."""

    compress_at_turns: int = 0
    compress_at_max_input_tokens: int = 0
    keep_max_turns: int = 0
    keep_max_input_tokens: int = 0
    model_class: str = "small"
    prompt: str = DEFAULT_PROMPT
    summary_role: str = Role.SYSTEM

    def check(self) -> None:
        """Refuse with `HistoryError` a configuration that can't work (C335)."""
        limits = (
            self.compress_at_turns,
            self.compress_at_max_input_tokens,
            self.keep_max_turns,
            self.keep_max_input_tokens,
        )
        if min(limits) < 0:
            raise HistoryError("history.negative", "triggers and limits must not be negative")
        if not (self.compress_at_turns or self.compress_at_max_input_tokens):
            raise HistoryError("history.no_trigger", "a turn or a token trigger is required")
        if not (self.keep_max_turns or self.keep_max_input_tokens):
            raise HistoryError("history.no_keep_limit", "a turn or a token limit on what is kept is required")
        if 0 < self.compress_at_turns <= self.keep_max_turns:
            raise HistoryError(
                "history.keeps_too_much", "fewer turns must be kept than trigger a compression"
            )
        if self.prompt.count("%s") != 1:
            raise HistoryError("history.prompt", "the prompt must hold exactly one %s")


@dataclass(frozen=True, slots=True)
class HistoryCompression:
    """A history policy: summarise what is old, keep the newest turns whole.

    Calling it gives the messages to send: the same sequence where nothing is to be done. Whatever goes wrong
    is a `HistoryError`, the error of a model or counter as its cause; the messages given are never changed.

        policy = HistoryCompression(CompressionConfig(compress_at_turns=30, keep_max_turns=10), model)
        messages = await policy(messages)
    """

    config: CompressionConfig
    model: HistoryModel | None
    counter: TokenCounter | None = None
    tools: tuple[JsonValue, ...] = field(default=())

    async def __call__(self, messages: Messages) -> Messages:
        """Apply the policy to one history (contract 7, steps 1 to 10)."""
        if self.model is None:
            raise HistoryError("history.model_required", "a model is required")
        if not messages:
            return messages
        self.config.check()
        split = split_turns(messages)
        if not split.turns or not await self._is_triggered(split):
            return messages
        kept = await self._tail(split)
        if kept == len(split.turns):
            return messages
        return await self._compressed(self.model, split, kept)

    async def _is_triggered(self, split: Turns) -> bool:
        config = self.config
        if config.compress_at_turns and len(split.turns) >= config.compress_at_turns:
            return True
        ceiling = config.compress_at_max_input_tokens
        return ceiling > 0 and await self._count((*split.prefix, *joined(split.turns))) > ceiling

    async def _tail(self, split: Turns) -> int:
        """How many of the newest turns stay: the newest always, older ones while every limit holds."""
        config = self.config
        ceiling = config.compress_at_max_input_tokens
        counted = config.keep_max_input_tokens > 0 or ceiling > 0
        newest = await self._count_recent(split, 1) if counted else 0
        if 0 < ceiling < newest:
            raise HistoryError("history.newest_turn_too_large", "the newest turn alone is above the ceiling")
        kept = 1
        while kept < len(split.turns) and not 0 < config.keep_max_turns <= kept:
            if counted:
                tokens = await self._count_recent(split, kept + 1)
                if 0 < config.keep_max_input_tokens < tokens - newest or 0 < ceiling < tokens:
                    break
            kept += 1
        return kept

    async def _compressed(self, model: HistoryModel, split: Turns, kept: int) -> Messages:
        """Replace what is old by its summary; under a ceiling, drop kept turns until all of it fits."""
        ceiling = self.config.compress_at_max_input_tokens
        # Under a ceiling kept turns may still have to go, so the summary covers all of them but the newest.
        summarised = len(split.turns) - (1 if ceiling else kept)
        summary = await self._summary(model, joined(split.turns[:summarised]))
        while True:
            messages = (*split.prefix, summary, *split.recent(kept))
            if not ceiling or await self._count(messages) <= ceiling:
                return messages
            if kept == 1:
                raise HistoryError(
                    "history.summary_too_large", "the summary and the newest turn are above the ceiling"
                )
            kept -= 1

    async def _summary(self, model: HistoryModel, messages: tuple[Message, ...]) -> Message:
        prompt = self.config.prompt.replace("%s", "".join(map(_line, messages)))
        question = Message(Role.USER, (TextPart(prompt),))
        try:
            answer = await model.complete(ModelRequest((question,), model_class=self.config.model_class))
        except Exception as error:
            raise HistoryError("history.model_failed", "the model did not summarise the history") from error
        if not answer.strip():
            raise HistoryError("history.summary_empty", "the model returned an empty summary")
        return Message(
            self.config.summary_role,
            (TextPart(f"{SUMMARY_HEADING}\n{answer.strip()}"),),
            {SUMMARY_META_KEY: SUMMARY_META_VALUE},
        )

    async def _count_recent(self, split: Turns, turns: int) -> int:
        return await self._count((*split.prefix, *split.recent(turns)))

    async def _count(self, messages: tuple[Message, ...]) -> int:
        """The exact tokens of the whole request; nothing less will do (C346)."""
        if self.counter is None:
            raise HistoryError("history.counter_required", "a token counter is required")
        try:
            count = await self.counter.count_tokens(ModelRequest(messages, self.tools))
        except Exception as error:
            raise HistoryError("history.count_failed", "the tokens could not be counted") from error
        if count is None:
            raise HistoryError("history.count_unsupported", "the model does not support counting tokens")
        if not count.exact:
            raise HistoryError("history.count_inexact", "the token count is not exact")
        return count.tokens


def _line(message: Message) -> str:
    """One message as a line for the summarising model; what it thought is left out."""
    pieces: list[str] = []
    for part in message.parts:
        match part:
            case TextPart() | CitationsPart():
                pieces.append(part.text)
            case ToolUsePart():
                pieces.append(f"[Tool Call: {part.name}]")
            case ToolResultPart():
                pieces.append("[Tool Result]")
            case _:
                pass
    return f"{message.role}: {''.join(pieces)}\n"
