"""Work of several steps that may fail: one step at a time, each in turn, none holding up the rest."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

_STEP_SECONDS: Final = 1.0
_LAST_SECONDS: Final = 60.0
_NEVER: Final = float("inf")

Item = TypeVar("Item", bound=Hashable)


@dataclass(slots=True)
class _Turn:
    due: float = 0.0
    failures: int = 0


class Rota(Generic[Item]):
    """Whose turn is next: ``item = rota.first(now)``, then ``finish``, ``again`` or ``fail``.

    Times are seconds of one clock. After a step that did not finish its item there is a pause, and the item
    goes to the end; after a failure its own pause doubles, up to a minute. ``finished`` and ``failed`` count.
    """

    def __init__(self) -> None:
        self._turns: dict[Item, _Turn] = {}
        self._next = 0.0
        self.finished = 0
        self.failed = 0

    def __len__(self) -> int:
        """How many items are not finished."""
        return len(self._turns)

    def add(self, items: Iterable[Item]) -> None:
        """Put items at the end, except those that are waiting already."""
        for item in items:
            self._turns.setdefault(item, _Turn())

    def first(self, now: float) -> Item | None:
        """Return whose turn it is; None while it is nobody's."""
        if now < self._next:
            return None
        return next((item for item, turn in self._turns.items() if turn.due <= now), None)

    def due(self) -> float:
        """Return when ``first`` has something to say; infinity for never."""
        return max(self._next, min((turn.due for turn in self._turns.values()), default=_NEVER))

    def finish(self, item: Item) -> None:
        """Take an item off: there is nothing left to do for it."""
        del self._turns[item]
        self.finished += 1

    def again(self, item: Item, now: float) -> None:
        """Put an item at the end, since there is more to do for it."""
        turn = self._turns.pop(item)
        turn.failures = 0
        self._put_last(item, turn, now)

    def fail(self, item: Item, now: float) -> None:
        """Put an item that failed at the end, with a pause of its own."""
        turn = self._turns.pop(item)
        turn.failures += 1
        turn.due = now + min(_STEP_SECONDS * float(2 ** min(turn.failures, 16)), _LAST_SECONDS)
        self.failed += 1
        self._put_last(item, turn, now)

    def _put_last(self, item: Item, turn: _Turn, now: float) -> None:
        self._turns[item] = turn
        self._next = now + _STEP_SECONDS
