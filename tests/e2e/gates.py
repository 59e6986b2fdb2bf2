"""Rules that end, halt or hold an owner's process at a port call, and the wrapper that obeys them."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from runlane.store.block import SealedBlock
from runlane.store.rows import COLUMNS

_LOOK_SECONDS = 0.005


class When(StrEnum):
    """On which side of the call."""

    BEFORE = "before"
    AFTER = "after"


class Action(StrEnum):
    """SIGKILL or SIGSTOP to the own process, or waiting in the call until ``Rule.release`` is there."""

    KILL = "kill"
    FREEZE = "freeze"
    HOLD = "hold"


@dataclass(frozen=True, slots=True)
class Sight:
    """A block that was seen at an insert; ``size`` is that of its rows' bodies."""

    number: int
    nonce: str
    size: int


@dataclass(frozen=True, slots=True)
class Rule:
    """What happens at the ``nth`` call of a port method that is about ``of`` ("" means any).

    A call is about the kind of the block that it inserts, the topic that it sends to, or, once ``poll`` has
    returned, ``messages``. ``reached`` is made when the rule is obeyed, ``release`` ends a hold.
    """

    call: str
    when: When
    action: Action
    reached: Path
    nth: int = 1
    of: str = ""

    @property
    def block(self) -> Sight:
        """The block at whose insert the rule was obeyed."""
        return Sight(**json.loads(self.reached.read_text()))

    @property
    def release(self) -> Path:
        """The file that a hold waits for."""
        return self.reached.with_suffix(".release")


class Gate:
    """A port seen through its rules: every call counts, and obeys the rules that it meets.

    ``fetched`` counts the messages that ``poll`` had returned when it was called again: these are dealt with.
    """

    def __init__(self, port: object, rules: Sequence[Rule]) -> None:
        self._port = port
        self._rules = rules
        self._counts = [0] * len(rules)
        self._lock = threading.Lock()
        self._polled = 0
        self.fetched = 0

    def __getattr__(self, name: str) -> Any:
        found: Callable[..., Any] = getattr(self._port, name)
        if name != "poll" and not any(rule.call == name for rule in self._rules):
            return found

        def call(*arguments: Any, **named: Any) -> Any:
            if name == "poll":
                self.fetched, self._polled = self.fetched + self._polled, 0
            self._obey(name, When.BEFORE, arguments, None)
            result = None
            try:
                result = found(*arguments, **named)
                if name == "poll":
                    self._polled = len(result.messages)
            finally:
                self._obey(name, When.AFTER, arguments, result)
            return result

        return call

    def _obey(self, name: str, when: When, arguments: Sequence[Any], result: Any) -> None:
        subject = _subject(name, arguments, result)
        for index, rule in enumerate(self._rules):
            if (rule.call, rule.when) != (name, when) or rule.of not in ("", subject):
                continue
            with self._lock:
                self._counts[index] += 1
                due = self._counts[index] == rule.nth
            if due:
                rule.reached.write_text(_describe(arguments[0]) if name == "insert" else "")
                _act(rule)


def _subject(name: str, arguments: Sequence[Any], result: Any) -> str:
    match name:
        case "insert":
            return str(arguments[0].header.kind)
        case "send":
            return str(arguments[0].topic)
        case "poll":
            return "messages" if result is not None and result.messages else ""
        case _:
            return ""


def _describe(block: SealedBlock) -> str:
    bodies = block.columns[COLUMNS.index("body")]
    sight = Sight(block.header.number, block.header.nonce, sum(len(body) for body in bodies))
    return json.dumps(asdict(sight))


def _act(rule: Rule) -> None:
    match rule.action:
        case Action.KILL:
            os.kill(os.getpid(), signal.SIGKILL)
        case Action.FREEZE:
            # To this thread: one that is sent to the process may be taken by another, when this has gone on.
            signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)
        case Action.HOLD:
            while not rule.release.exists():
                time.sleep(_LOOK_SECONDS)
