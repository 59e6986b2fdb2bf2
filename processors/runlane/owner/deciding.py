"""An open partition's commands: lanes loaded, decided into the next block in the order of positions.

Nothing here waits. A command whose lane, or whose key of a lane too big to cache, is not in memory holds its
partition until it is loaded; what stands behind it is looked at for more to load in the same read.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any, Final, Protocol

from runlane.contract.decide import LaneState, named_keys
from runlane.contract.state import KeyEntry
from runlane.kafka import Message
from runlane.owner.batch import Batch
from runlane.owner.intake import Intake, Request
from runlane.owner.ports import Ports
from runlane.owner.shared import Shared
from runlane.store.block import BlockHeader

_MESSAGE_BYTES: Final = 300
_LOOK_AHEAD: Final = 1_000

Pair = tuple[str, str]


class SubmitRead(Protocol):
    """Runs a read of the journal as a task of this ownership, again and again until it succeeds."""

    def __call__(self, call: Callable[[Ports], Any], then: Callable[[Any], None]) -> None:
        """Submit it."""
        ...


class Deciding:
    """Messages wait in ``_pending``, their sizes in ``_sizes``; ``batch`` is the block to be.

    Each ownership makes one of these.
    """

    def __init__(self, shared: Shared, intake: Intake, head: BlockHeader, read: SubmitRead) -> None:
        self._shared = shared
        self._intake = intake
        self._read = read
        self._base = head.base
        self._partition = head.partition
        self._last_time = head.time
        self._next_number = head.number + 1
        self._pending: deque[Message] = deque()
        self._sizes: deque[int] = deque()
        self._requests: dict[int, Request] = {}
        self._blocked = False
        self.next_offset = head.last + 1 - head.base
        self.pending_bytes = 0
        self.batch: Batch | None = None
        self.fault = ""

    @property
    def ready(self) -> bool:
        """Whether a command can be decided now."""
        return bool(self._pending) and not self._blocked and not self.full

    @property
    def full(self) -> bool:
        """Whether the batch takes no more."""
        batch, bounds = self.batch, self._shared.bounds
        return batch is not None and (
            batch.count >= bounds.batch_commands or batch.bytes >= bounds.batch_bytes
        )

    @property
    def position(self) -> int:
        """The position of the next command to decide."""
        return self._base + (self._pending[0].offset if self._pending else self.next_offset)

    def feed(self, messages: Sequence[Message]) -> Sequence[Message]:
        """Take messages in log order.

        Return those from the first hole in the offsets on, which are not taken.

        What was taken before is dropped.
        """
        for index, message in enumerate(messages):
            offset = message.offset
            if offset != self.next_offset:
                if offset > self.next_offset:
                    return messages[index:]
                continue
            self.next_offset = offset + 1
            size = size_of(message)
            self._pending.append(message)
            self._sizes.append(size)
            self.pending_bytes += size
        return ()

    def skip_to(self, offset: int) -> None:
        """Accept that the log holds nothing before ``offset``."""
        self.next_offset = max(self.next_offset, offset)

    def work(self, limit: int) -> int:
        """Decide up to ``limit`` commands; return how many. After a ``fault`` nothing is decided any more."""
        decided = 0
        try:
            self._read_ahead(limit)
            while decided < limit and self.ready and self._step(self._pending[0]):
                message = self._pending.popleft()
                self.pending_bytes -= self._sizes.popleft()
                del self._requests[message.offset]
                decided += 1
        except Exception as error:  # noqa: BLE001 - a fault of ours must hold one partition, not all of them
            self._fail(self.position, error)
        self._answer()
        return decided

    def take_batch(self) -> Batch | None:
        """Return the batch as the next block's; the next command opens another one."""
        batch, self.batch = self.batch, None
        if batch is not None:
            self._next_number = batch.number + 1
            self._last_time = batch.time
        return batch

    def _read_ahead(self, limit: int) -> None:
        """Read in one go what is decided next."""
        if self.ready:
            for message in islice(self._pending, limit):
                self._request(message)

    def _request(self, message: Message) -> Request:
        """Return what a pending message asks for, which is read once."""
        request = self._requests.get(message.offset)
        if request is None:
            request = self._requests[message.offset] = self._intake.read(message)
        return request

    def _answer(self) -> None:
        batch = self.batch
        if batch is None:
            return
        try:
            batch.answer()
        except Exception as error:  # noqa: BLE001 - as in ``work``
            self._fail(batch.unanswered, error)
        if self.fault and not batch.commands:
            self.batch = None

    def _fail(self, position: int, error: Exception) -> None:
        self.fault = f"position {position} cannot be decided ({type(error).__name__})"
        self._blocked = True

    def _step(self, message: Message) -> bool:
        """Decide one message; False when something must be loaded first."""
        request = self._request(message)
        position = self._base + message.offset
        if request.refusal is not None:
            self._open_batch().refuse(position, message, request, request.refusal)
            return True
        cache = self._shared.cache
        state = cache.get(request.lane)
        if state is None:
            self._load_lanes()
            return False
        if not state.keys_complete and self._lacks_keys(message, request, state):
            return False
        batch = self._open_batch()
        if batch.decide(position, message, request, state):
            cache.account(request.lane, batch.number)
        return True

    def _open_batch(self) -> Batch:
        if self.batch is None:
            clock = self._shared.clock
            self.batch = Batch(
                self._shared.desk,
                partition=self._partition,
                number=self._next_number,
                time=max(clock.now(), self._last_time),
                opened=clock.monotonic(),
            )
        return self.batch

    def _load_lanes(self) -> None:
        """Load the lanes of what is pending, as far as they are not cached, in the order of their need."""
        bounds, cache = self._shared.bounds, self._shared.cache
        wanted: dict[str, None] = {}
        for message in islice(self._pending, _LOOK_AHEAD):
            lane = self._intake.lane(message)
            if lane and lane not in cache:
                wanted[lane] = None
            if len(wanted) >= bounds.load_lanes:
                break
        lanes = tuple(wanted)
        self._blocked = True

        def loaded(states: Mapping[str, LaneState]) -> None:
            # The lane needed first is put last, so that it is the last to be evicted, and it is used at once.
            self._blocked = False
            for lane in reversed(lanes):
                cache.put(self._partition, states[lane])
            self._shared.stats.lanes_loaded += len(lanes)
            self.work(1)

        self._read(lambda ports: ports.store.load_lanes(lanes, bounds.lane_bytes), loaded)

    def _lacks_keys(self, message: Message, request: Request, state: LaneState) -> bool:
        """Load the keys that the command, and those behind it in its lane, may look up, as far as needed."""
        missing = self._missing(request, state)
        if not missing:
            return False
        key = message.key
        pairs = dict.fromkeys(missing)
        for other in islice(self._pending, 1, _LOOK_AHEAD):
            if other.key == key:
                ahead = self._request(other)
                pairs.update(dict.fromkeys(self._missing(ahead, state)))
        asked = tuple(pairs)
        self._blocked = True

        def learn(found: Mapping[Pair, KeyEntry]) -> None:
            self._blocked = False
            if self._shared.cache.get(state.lane) is state:
                state.learn_keys(asked, found)
                self._shared.cache.account(state.lane, -1)
            self.work(1)

        self._read(lambda ports: ports.store.load_keys(state.lane, asked), learn)
        return True

    @staticmethod
    def _missing(request: Request, state: LaneState) -> tuple[Pair, ...]:
        return () if request.command is None else state.missing_keys(named_keys(request.command))


def size_of(message: Message) -> int:
    """Return the memory that a waiting message is accounted with: a bound of bytes bounds messages too."""
    return _MESSAGE_BYTES + message.size
