"""How much one caller may ask for: streams at once, requests a second, wrong tokens a second."""

from __future__ import annotations

import contextlib
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Generator, Hashable
from dataclasses import dataclass
from typing import Final

from runlane.contract.errors import NotPermitted, Overloaded

_MAX_CALLERS: Final = 10_000


@dataclass(frozen=True, slots=True)
class Caps:
    """Bounds of one process. A viewer is all who hold one viewer token.

    Requests of workers and hosts are not counted: they are few, known, and repeat what is refused. Wrong
    tokens are counted by address.
    """

    streams: int = 1_000
    streams_per_caller: int = 500
    requests_per_second: float = 100.0
    wrong_tokens_per_second: float = 5.0
    burst_seconds: float = 20.0


class Gate:
    """Counts what callers do: ``gate.request(viewer)`` raises ``Overloaded`` when it is too much."""

    def __init__(self, caps: Caps, clock: Callable[[], float] = time.monotonic) -> None:
        self._caps = caps
        self._clock = clock
        self._streams: Counter[Hashable] = Counter()
        self._requests = _Buckets(caps.requests_per_second, caps.burst_seconds)
        self._wrong = _Buckets(caps.wrong_tokens_per_second, caps.burst_seconds)

    def request(self, caller: Hashable) -> None:
        """Count a request."""
        self._requests.take(caller, self._clock())

    @contextlib.contextmanager
    def attempt(self, address: Hashable) -> Generator[None]:
        """Let an address try a token, and count the try when it raises ``NotPermitted``.

        An address without tries left is refused before its token is looked at: otherwise a guesser would
        learn at any speed which guess is right.
        """
        self._wrong.check(address, self._clock())
        try:
            yield
        except NotPermitted:
            self._wrong.take(address, self._clock())
            raise

    @contextlib.contextmanager
    def stream(self, caller: Hashable) -> Generator[None]:
        """Hold a place for one stream."""
        if (
            self._streams.total() >= self._caps.streams
            or self._streams[caller] >= self._caps.streams_per_caller
        ):
            raise Overloaded("as many streams are open as may be", code="too_many_streams")
        self._streams[caller] += 1
        try:
            yield
        finally:
            self._streams[caller] -= 1
            self._streams += Counter()


class _Buckets:
    """A token bucket a caller; the callers longest silent are forgotten."""

    def __init__(self, rate: float, burst_seconds: float) -> None:
        self._rate = rate
        self._most = rate * burst_seconds
        self._left: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()

    def check(self, caller: Hashable, now: float) -> None:
        """Raise ``Overloaded`` when nothing is left; takes nothing."""
        if self._filled(caller, now) < 1:
            raise Overloaded("too many requests: try again later", code="too_many_requests")

    def take(self, caller: Hashable, now: float) -> None:
        """Take one; ``Overloaded`` when nothing is left."""
        self.check(caller, now)
        self._left[caller] = (self._filled(caller, now) - 1, now)
        self._left.move_to_end(caller)
        if len(self._left) > _MAX_CALLERS:
            self._left.popitem(last=False)

    def _filled(self, caller: Hashable, now: float) -> float:
        left, then = self._left.get(caller, (self._most, now))
        return min(self._most, left + (now - then) * self._rate)
