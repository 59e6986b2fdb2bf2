"""How much one caller may ask for: streams at once, requests a second, wrong tokens a second."""

from __future__ import annotations

import contextlib
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Generator, Hashable
from dataclasses import dataclass
from typing import Final

from runlane.contract.errors import Overloaded

_MAX_CALLERS: Final = 10_000


@dataclass(frozen=True, slots=True)
class Caps:
    """Bounds of one process. A viewer is all who hold one viewer token.

    Requests of workers and hosts are not counted: they are few, known, and repeat what is refused.
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

    def wrong_token(self, address: Hashable) -> None:
        """Count a request without a valid token."""
        self._wrong.take(address, self._clock())

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

    def take(self, caller: Hashable, now: float) -> None:
        left, then = self._left.pop(caller, (self._most, now))
        left = min(self._most, left + (now - then) * self._rate)
        allowed = left >= 1
        self._left[caller] = (left - allowed, now)
        if len(self._left) > _MAX_CALLERS:
            self._left.popitem(last=False)
        if not allowed:
            raise Overloaded("too many requests: try again later", code="too_many_requests")
