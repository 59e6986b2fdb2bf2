"""What one viewer has not been sent yet: a bounded queue that knows when history has to be read instead.

Pure: no clock, no I/O, one event loop. The hub puts in, the viewer's own task takes out. Numbers are ``seq``
for a run and ``lane_seq`` for a session; a viewer gets each once and in order, whatever the topic brings.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from runlane.contract.limits import KIB
from runlane.gateway.live.frames import RecordFrame

MAX_FRAMES: Final = 1_000
MAX_BYTES: Final = 8 * KIB * KIB
_MAX_TAKEN_BYTES: Final = 256 * KIB


class Then(Enum):
    """What a viewer does after it has sent what it took."""

    WAIT = auto()
    """Nothing more is here."""
    MORE = auto()
    """Take again."""
    READ = auto()
    """A number is missing: read history after ``cursor``."""
    LAGGED = auto()
    """Too much was waiting: say so and close."""
    PURGED = auto()
    """The session is gone: say so and close."""
    LEAVE = auto()
    """The gateway stops: close."""


@dataclass(frozen=True, slots=True)
class Taken:
    """Bytes to send, what to do then, and what they told: the run is over, the session may be."""

    data: bytes
    then: Then
    run_over: bool = False
    session_may_be_over: bool = False


class Tap:
    """The queue of one viewer of a session, or of one run of a lane when ``run_id`` is given.

    ``cursor`` is the last number that was sent. While history is read (``reading`` to ``read_up``) too much
    is thrown away, for it can be read; afterwards it means that the viewer lags.
    """

    def __init__(self, lane: str, run_id: str, cursor: int, wake: Callable[[], None]) -> None:
        self.lane: Final = lane
        self.run_id: Final = run_id
        self.cursor = cursor
        self._wake = wake
        self._queue: deque[RecordFrame | bytes] = deque()
        self._size = 0
        self._reading = True
        self._missed = False
        self._end: Then | None = None

    @property
    def ended(self) -> bool:
        """Whether the viewer is to close: it lags, or the session or the gateway is gone."""
        return self._end is not None

    @property
    def is_reading(self) -> bool:
        """Whether history has to be read, or is."""
        return self._reading

    def put(self, frame: RecordFrame) -> None:
        """Take a record of the lane; one of another run is left out."""
        if self.run_id and frame.run_id != self.run_id:
            return
        self._append(frame, frame.size)

    def put_delta(self, data: bytes) -> None:
        """Take text that is being written: best effort, so the first to go when much is waiting."""
        if not self._reading and len(self._queue) < MAX_FRAMES // 2 and self._size < MAX_BYTES // 2:
            self._append(data, len(data))

    def lose(self) -> None:
        """The topic lost its place: what came before may have been missed."""
        self._missed = True
        self._wake()

    def purge(self) -> None:
        """The session is gone; what is waiting must not be shown any more."""
        self._finish(Then.PURGED)

    def leave(self) -> None:
        """The gateway stops."""
        self._finish(Then.LEAVE)

    def reading(self) -> None:
        """History is read from now on."""
        self._reading = True
        self._missed = False

    def read_up(self) -> bool:
        """History was read to its end; False when more has to be read, since the queue had no room for it."""
        if self._missed:
            self._missed = False
            return False
        self._reading = False
        return True

    def take(self) -> Taken:
        """Return the next bytes and what follows."""
        if self._end is not None:
            return Taken(b"", self._end)
        if self._missed:
            return Taken(b"", Then.READ)
        parts: list[bytes] = []
        size, run_over, session_may_be_over = 0, False, False
        then = Then.WAIT
        while self._queue:
            if size >= _MAX_TAKEN_BYTES or run_over:
                then = Then.MORE
                break
            entry = self._queue[0]
            if isinstance(entry, RecordFrame):
                number = entry.seq if self.run_id else entry.lane_seq
                if number > self.cursor + 1:
                    # It stays: what history brings in front of it makes it the next, or an old one.
                    then = Then.READ
                    break
                self._pop(entry.size)
                session_may_be_over |= entry.may_end_session
                if number <= self.cursor:
                    continue
                self.cursor = number
                run_over = bool(self.run_id) and entry.ends_run
                data = entry.of_run() if self.run_id else entry.of_session()
            else:
                self._pop(len(entry))
                data = entry
            parts.append(data)
            size += len(data)
        return Taken(b"".join(parts), then, run_over, session_may_be_over)

    def _pop(self, size: int) -> None:
        self._queue.popleft()
        self._size -= size

    def _append(self, entry: RecordFrame | bytes, size: int) -> None:
        if self._end is not None:
            return
        if len(self._queue) >= MAX_FRAMES or (self._queue and self._size + size > MAX_BYTES):
            self._clear()
            if self._reading:
                self._missed = True
            else:
                self._finish(Then.LAGGED)
            return
        self._queue.append(entry)
        self._size += size
        self._wake()

    def _finish(self, then: Then) -> None:
        if self._end is None:
            self._end = then
            self._clear()
            self._wake()

    def _clear(self) -> None:
        self._queue.clear()
        self._size = 0
