"""The feed: Faust brings messages and keeps the group's offsets, which pass only what was delivered."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Final, TypeVar

from runlane.contract.codec import Codec
from runlane.contract.errors import TemporaryError, Unavailable, UndecodableMessage
from runlane.contract.topics import Topics
from runlane.feed.deliveries import Deliveries, Places
from runlane.feed.faust_app import FaustEvent, make_app
from runlane.feed.history import History
from runlane.feed.partition import FeedCounts, PartitionFeed, Place, Received
from runlane.kafka import KafkaConfig

_BATCH: Final = 256
_HELD_BYTES: Final = 16 * 1024 * 1024
_QUEUED: Final = 256
_MOST_HELD: Final = 10_000
_TELL_SECONDS: Final = 1.0
_LOOK_SECONDS: Final = 1.0
_REST_SECONDS: Final = 20.0
_LEAVE_SECONDS: Final = 10.0
_FIRST_PAUSE: Final = 0.2
_LONGEST_PAUSE: Final = 5.0
_log = logging.getLogger(__name__)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class FeedConfig:
    """What a feed is made of."""

    kafka: KafkaConfig
    topics: Topics
    group: str
    codec: Codec = field(default_factory=Codec)


class Feed:
    """Reads its group's share of the records topic from ``run`` to ``stop``.

    ``counts``, ``partitions``, ``waiting`` and ``passed`` (messages that are done with) may be read from any
    thread, ``stop`` called from any.
    """

    def __init__(self, config: FeedConfig, history: History) -> None:
        self.counts: Final = FeedCounts()
        self.partitions = 0
        self.waiting = False
        self.passed = 0
        self._config = config
        self._history = history
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="feed")
        self._feeds: dict[int, PartitionFeed] = {}
        self._places: Places
        self._out: Deliveries
        self._app: Any
        self._queue: asyncio.Queue[FaustEvent]
        self._ending: asyncio.Event
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopped = False
        self._forgotten = False
        self._stuck = False

    def run(self) -> None:
        """Feed until ``stop``; raises what ended it before, ``Unavailable`` when starting again may help."""
        config = self._config
        self._places = Places(config.kafka, config.topics, config.group, config.codec)
        try:
            with Deliveries(config.kafka, config.topics) as self._out:
                asyncio.run(self._run())
        finally:
            self._worker.shutdown()
            self._places.close()

    def stop(self) -> None:
        """Finish what is in hand, commit, and leave the group."""
        self._stopped = True
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._ending.set)

    async def _run(self) -> None:
        config = self._config
        self._queue = asyncio.Queue(_QUEUED)
        self._ending = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        if self._stopped:
            return
        self._app = make_app(
            config.kafka, group=config.group, topic=config.topics.records.name, on_event=self._queue.put
        )
        self._app.on_partitions_revoked.connect(self._revoked)
        self._app.on_partitions_assigned.connect(self._assigned)
        await self._app.start()
        try:
            await self._work()
        finally:
            await self._leave()

    async def _leave(self) -> None:
        """Leave the group; without a broker Faust would wait for ever."""
        try:
            await asyncio.wait_for(self._app.stop(), _LEAVE_SECONDS)
        except TimeoutError:
            _log.warning("the feed could not leave its group, which will miss it soon")

    async def _work(self) -> None:
        """Work until told to end, or until a part of it ends by itself."""
        ending = asyncio.create_task(self._ending.wait())
        parts = [asyncio.create_task(part()) for part in (self._take_all, self._look, self._watch)]
        await asyncio.wait((ending, *parts), return_when=asyncio.FIRST_COMPLETED)
        # What is in hand is finished first, so that its offsets are committed by the stop.
        self._ending.set()
        done = await asyncio.gather(*parts, return_exceptions=True)
        for result in done:
            if isinstance(result, BaseException):
                raise result

    async def _take_all(self) -> None:
        """Deliver events at once, tell of windows once a second, and let the offsets pass what was told."""
        held: list[FaustEvent] = []
        size = 0
        clock = asyncio.get_running_loop().time
        told = clock()
        while not self._ending.is_set():
            batch = await self._batch()
            held += batch
            size += sum(len(event.message.value or b"") for event in batch)
            late = clock() - told >= _TELL_SECONDS or size >= _HELD_BYTES
            due = bool(held) and (late or len(held) >= _MOST_HELD)
            if batch or due:
                await self._deliver_surely(batch, held, tell=due)
            if due and not self._ending.is_set():
                self._acknowledge(held)
                held, size, told = [], 0, clock()
        if not self._feeds:
            return
        with contextlib.suppress(TemporaryError):
            await self._do(self._deliver, (), tell=True)
            self._acknowledge(event for event in held if event.message.offset < self._next(event))

    async def _batch(self) -> Sequence[FaustEvent]:
        try:
            batch = [await asyncio.wait_for(self._queue.get(), _TELL_SECONDS)]
        except TimeoutError:
            return ()
        while len(batch) < _BATCH and not self._queue.empty():
            batch.append(self._queue.get_nowait())
        return batch

    async def _deliver_surely(
        self, batch: Sequence[FaustEvent], held: Sequence[FaustEvent], *, tell: bool
    ) -> None:
        """Deliver what follows from a batch, however long that takes; after a failure all that is held."""
        events, pause = batch, _FIRST_PAUSE
        while not self._ending.is_set():
            if self._forgotten:
                self._forgotten, events = False, held
            try:
                await self._do(self._deliver, [event for event in events if self._ours(event)], tell=tell)
            except TemporaryError as error:
                _log.warning("the feed tries again: %s", error.code)
                self._stuck = True
                self._forget()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._ending.wait(), pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
            else:
                self._stuck = False
                if not self._forgotten:
                    return

    def _forget(self) -> None:
        """Begin anew with every partition: what is held and was not told of is delivered once more."""
        self._feeds, self._forgotten = {}, True

    def _acknowledge(self, events: Iterable[FaustEvent]) -> None:
        """Let the group's offsets pass; after a rebalance whoever owns the rest reads it once more."""
        for event in events:
            self.passed += 1
            if self._ours(event):
                event.ack()

    def _ours(self, event: FaustEvent) -> bool:
        return bool(event.message.generation_id == self._app.consumer_generation_id)

    def _next(self, event: FaustEvent) -> int:
        feed = self._feeds.get(event.message.partition)
        return 0 if feed is None else feed.next_offset

    def _deliver(self, events: Iterable[FaustEvent], *, tell: bool) -> None:
        by_partition: dict[int, list[Received]] = {}
        for event in events:
            message = event.message
            by_partition.setdefault(message.partition, []).append(self._received(message))
        for partition, messages in by_partition.items():
            self._feed(partition, messages[0].offset).take(messages)
        if tell:
            for feed in self._feeds.values():
                feed.tell()
        self._out.settle()

    def _received(self, message: Any) -> Received:
        try:
            record = self._config.codec.decode_record(message.value)
        except UndecodableMessage as error:
            self.counts.undecodable += 1
            _log.warning("a message of the records topic cannot be read: %s", error.code)
            return Received(message.offset, None)
        if record.partition != message.partition:
            self.counts.undecodable += 1
            _log.warning("a record lies on another partition than its own")
            return Received(message.offset, None)
        return Received(message.offset, record)

    def _feed(self, partition: int, offset: int) -> PartitionFeed:
        feed = self._feeds.get(partition)
        if feed is None:
            # Faust may have skipped what lies between the group's offset and the first message.
            begin = min(self._places.committed([partition])[partition], offset)
            block = self._places.block_at(partition, begin) if begin < offset else -1
            since = datetime.now(UTC) - timedelta(milliseconds=self._config.topics.stream.retention_ms)
            place = Place(partition, begin, block, since)
            feed = PartitionFeed(place, self._history, self._out, self.counts)
            self._feeds[partition] = feed
        return feed

    async def _look(self) -> None:
        """See how far the topic is read, and tell of runs that go on in silence."""
        rested = 0.0
        loop = asyncio.get_running_loop()
        while not self._ending.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._ending.wait(), _LOOK_SECONDS)
            numbers = self._numbers()
            self.partitions = len(numbers)
            self.waiting = self._stuck or not self._queue.empty() or any(map(self._behind, numbers))
            if not self.waiting and loop.time() - rested > _REST_SECONDS:
                rested = loop.time()
                try:
                    await self._do(self._rest, numbers)
                except TemporaryError as error:
                    self._forget()
                    _log.warning("the feed tries again: %s", error.code)

    def _rest(self, numbers: Sequence[int]) -> None:
        lasts = {number: self._history.last_block(number) for number in numbers}
        ends, committed = self._places.ends(numbers), self._places.committed(numbers)
        for number in numbers:
            known = self._feeds.get(number)
            if (committed[number] if known is None else known.next_offset) >= ends[number]:
                self._feed(number, ends[number]).rest(datetime.now(UTC), lasts[number])
        self._out.settle()

    async def _watch(self) -> None:
        """Notice that Faust has given up; it stops without a word."""
        stopped = asyncio.create_task(self._app.wait_until_stopped())
        ending = asyncio.create_task(self._ending.wait())
        await asyncio.wait((stopped, ending), return_when=asyncio.FIRST_COMPLETED)
        ending.cancel()
        stopped.cancel()
        if not self._ending.is_set():
            raise Unavailable("the stream processor stopped", code="feed_stopped")

    def _numbers(self) -> Sequence[int]:
        topic = self._config.topics.records.name
        return sorted(place.partition for place in self._app.consumer.assignment() if place.topic == topic)

    def _behind(self, number: int) -> bool:
        feed = self._feeds.get(number)
        if feed is None:
            return False
        end: int = self._app.consumer.highwater((self._config.topics.records.name, number)) or 0
        return end > feed.next_offset

    async def _revoked(self, *_: Any, **__: Any) -> None:
        self._forget()

    async def _assigned(self, *_: Any, **__: Any) -> None:
        self._forget()

    async def _do(self, work: Callable[..., T], *arguments: Any, **named: Any) -> T:
        call = partial(work, *arguments, **named)
        return await asyncio.get_running_loop().run_in_executor(self._worker, call)
