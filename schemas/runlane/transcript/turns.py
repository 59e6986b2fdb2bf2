"""A history as a system prefix and whole turns (contract 7, steps 2 and 3)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

from runlane.transcript.parts import Message, Role, ToolResultPart

Messages: TypeAlias = Sequence[Message | None]
"""Messages of a history; None is an absent one."""


class Turns(NamedTuple):
    """The leading system messages and the turns after them; absent messages belong to neither."""

    prefix: tuple[Message, ...]
    turns: tuple[tuple[Message, ...], ...]

    def recent(self, count: int) -> tuple[Message, ...]:
        """The messages of the last `count` turns."""
        return joined(self.turns[len(self.turns) - count :])


def split_turns(messages: Messages) -> Turns:
    """Cut a history into turns, so that a tool use is never cut off from its results.

    A user message without a tool result opens a turn, as does an assistant message after tool results; all
    others go on with the turn they are in.
    """
    prefix: list[Message] = []
    turns: list[list[Message]] = []
    answered = False
    for message in messages:
        if message is None:
            continue
        if message.role == Role.SYSTEM:
            (turns[-1] if turns else prefix).append(message)
            continue
        is_result = message.role == Role.USER and _has_result(message)
        if not turns or _opens(message, is_result=is_result, answered=answered):
            turns.append([])
        turns[-1].append(message)
        answered = is_result
    return Turns(tuple(prefix), tuple(map(tuple, turns)))


def keep_recent_turns(messages: Messages, n: int) -> Messages:
    """The system prefix and the last `n` turns; everything where `n` is not positive (C350)."""
    split = split_turns(messages)
    if n <= 0 or len(split.turns) <= n:
        return messages
    return (*split.prefix, *split.recent(n))


def joined(turns: Iterable[tuple[Message, ...]]) -> tuple[Message, ...]:
    """The messages of turns, one after the other."""
    return tuple(message for turn in turns for message in turn)


def _opens(message: Message, *, is_result: bool, answered: bool) -> bool:
    return answered if message.role == Role.ASSISTANT else not is_result


def _has_result(message: Message) -> bool:
    return any(isinstance(part, ToolResultPart) for part in message.parts)
