"""A consumer that is told where to read, never guesses, and commits only what it is told."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from types import TracebackType
from typing import Any, Final, ParamSpec, Self, TypeVar

import confluent_kafka
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from runlane.contract.errors import KafkaNotPermitted, RunlaneError, Unavailable
from runlane.kafka.config import LOG, KafkaConfig
from runlane.kafka.failures import Standing, to_error
from runlane.kafka.reading import (
    GroupSettings,
    Message,
    OnCommit,
    OnPartitions,
    Partition,
    Partitions,
    Polled,
    to_message,
    to_partitions,
    to_place,
)
from runlane.kafka.stranding import Stranding
from runlane.kafka.weak import weakly

_LOST_POSITION: Final = frozenset(
    {KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE, KafkaError._NO_OFFSET}  # noqa: SLF001
)
_MISSING: Final = frozenset(
    {KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC, KafkaError._UNKNOWN_PARTITION}  # noqa: SLF001
)
_REFUSED_SECONDS: Final = 10.0
"""How long brokers refuse our user before it is no passing trouble, such as one of them just starting."""
_LEAVE_SECONDS: Final = 5.0
"""How long a group may take to hear that a member leaves; it finds out by itself once the session is over."""
_STAMPLESS: Final = 10_000
"""How many messages from the end are looked at where nothing was stamped later, or the broker cannot tell."""


P = ParamSpec("P")
T = TypeVar("T")


class Consumer:
    """Reads assigned or subscribed partitions; one thread at a time uses it, callbacks run inside ``poll``.

    A position that the log does not have is reported, never reset (``auto.offset.reset=error``). ``group``
    is needed to commit offsets and to subscribe. ``errors`` counts, by their names, those that the library
    goes on after by itself. Whatever waits for a broker may raise ``FatalKafkaError``, as ``poll`` does.
    """

    def __init__(
        self,
        config: KafkaConfig,
        *,
        group: GroupSettings | None = None,
        max_queued_bytes: int = 16 * 1024 * 1024,
        on_commit: OnCommit | None = None,
    ) -> None:
        settings = group or GroupSettings(group=f"{config.client_id}-ungrouped")
        options: dict[str, Any] = config.options() | {
            "group.id": settings.group,
            "session.timeout.ms": settings.session_timeout_ms,
            "heartbeat.interval.ms": settings.heartbeat_interval_ms,
            "max.poll.interval.ms": settings.max_poll_interval_ms,
            "partition.assignment.strategy": "cooperative-sticky",
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            "auto.offset.reset": "error",
            # An open transaction of any writer would hold up a reader of committed messages.
            "isolation.level": "read_uncommitted",
            "allow.auto.create.topics": False,
            "fetch.wait.max.ms": config.fetch_wait_ms,
            "fetch.error.backoff.ms": 50,
            "queued.max.messages.kbytes": max(1, max_queued_bytes // 1024),
            "error_cb": weakly(self._on_error),
            "on_commit": weakly(self._committed),
        }
        self._on_commit = on_commit
        self._on_assign: OnPartitions = _unheard
        self._on_revoke: OnPartitions = _unheard
        self._on_lost: OnPartitions = _unheard
        self._grouped = group is not None
        self._inside = threading.RLock()
        self._standing = Standing()
        self._fatal: RunlaneError | None = None
        self.errors: Counter[str] = Counter()
        self._consumer = confluent_kafka.Consumer(options)
        self._stranding = Stranding(config, self._consumer.list_topics)

    def assign(self, offsets: Mapping[Partition, int]) -> None:
        """Read exactly these partitions, each from its offset, in place of those assigned before."""
        self._do("assigning", self._consumer.assign, [to_place(*item) for item in offsets.items()])

    def subscribe(
        self,
        topics: Sequence[str],
        *,
        on_assign: OnPartitions,
        on_revoke: OnPartitions,
        on_lost: OnPartitions,
    ) -> None:
        """Share the partitions of ``topics`` with the group's other members.

        An assigned partition starts paused: the callback's user calls ``start`` once it knows from where to
        read. After ``on_revoke`` or ``on_lost`` returns, the partitions are another member's; ``on_lost``
        means that they already are.
        """
        self._on_assign, self._on_revoke, self._on_lost = on_assign, on_revoke, on_lost
        self._do(
            "subscribing",
            lambda: self._consumer.subscribe(
                list(topics),
                on_assign=weakly(self._assigned),
                on_revoke=weakly(self._revoked),
                on_lost=weakly(self._lost),
            ),
        )

    def poll(self, max_messages: int, timeout: float) -> Polled:
        """Return what is there, up to ``max_messages``, waiting up to ``timeout`` seconds for a first one.

        Raises ``FatalKafkaError``, also where the library has lost its brokers for good, or
        ``KafkaNotPermitted`` when our user may not read or is refused for some seconds, or ``TopicMismatch``
        when a topic or partition was never there. Passing troubles of the connection raise nothing: the
        library goes on trying. Nor does a topic that is deleted or made anew under a running reader, which
        then goes on at its old offset: ``Admin.identity`` tells.
        """
        # Asked for many, the library waits for that many; so it is asked for one, then for what is there.
        first = self._do("polling", self._consumer.poll, timeout)
        more = self._do("polling", self._consumer.consume, max_messages - 1, 0) if max_messages > 1 else []
        taken = more if first is None else [first, *more]
        if self._fatal is not None:
            raise self._fatal
        messages: list[Message] = []
        lost: list[Partition] = []
        for message in taken:
            error = message.error()
            if error is None:
                messages.append(to_message(message))
            elif error.code() in _LOST_POSITION:
                lost.append(Partition(message.topic() or "", message.partition() or 0))
            else:
                self._judge(error, Partition(message.topic() or "", message.partition() or 0))
        if messages:
            self._standing.clear()
            self._stranding.answered()
        elif (end := self._standing.refused_for(_REFUSED_SECONDS) or self._stranding.found()) is not None:
            raise end
        return Polled(tuple(messages), tuple(lost))

    def start(self, partition: Partition, offset: int) -> None:
        """Read an assigned partition from ``offset`` on, whether it was paused or not."""
        place = to_place(partition, offset)
        # Assigning anew moves a partition that has not begun to fetch, where a seek would be refused.
        self._do("starting", self._consumer.incremental_unassign, [place])
        self._do("starting", self._consumer.incremental_assign, [place])
        self.resume([partition])

    def seek(self, partition: Partition, offset: int) -> None:
        """Go on reading a running partition from ``offset``; what was fetched before is dropped."""
        self._do("seeking", self._consumer.seek, to_place(partition, offset))

    def pause(self, partitions: Sequence[Partition]) -> None:
        """Fetch no more of these partitions until ``resume``; keep polling meanwhile."""
        self._do("pausing", self._consumer.pause, [to_place(partition) for partition in partitions])

    def resume(self, partitions: Sequence[Partition]) -> None:
        """Fetch again from where these partitions were paused."""
        self._do("resuming", self._consumer.resume, [to_place(partition) for partition in partitions])

    def commit(self, offsets: Mapping[Partition, int]) -> None:
        """Send the group's next offsets without waiting; ``on_commit`` hears in ``poll`` how it went."""
        places = [to_place(*item) for item in offsets.items()]
        self._do("committing", lambda: self._consumer.commit(offsets=places, asynchronous=True))

    def commit_now(self, offsets: Mapping[Partition, int]) -> None:
        """Send the group's next offsets and wait; ``Unavailable`` when the broker refuses one."""
        places = [to_place(*item) for item in offsets.items()]
        done = self._do("committing", lambda: self._consumer.commit(offsets=places, asynchronous=False))
        for place in done:
            if place.error is not None:
                raise to_error(place.error, "committing", topic=place.topic)

    def committed(self, partitions: Sequence[Partition], timeout: float) -> dict[Partition, int | None]:
        """Return the group's offset of each partition, None where it has none."""
        places = [to_place(partition) for partition in partitions]
        found = self._do("reading offsets", self._consumer.committed, places, timeout)
        return {
            Partition(place.topic, place.partition): place.offset if place.offset >= 0 else None
            for place in found
        }

    def offsets_since(
        self, partitions: Sequence[Partition], since: datetime, timeout: float
    ) -> dict[Partition, int]:
        """Return the first offset of each partition that the broker stamped at ``since`` or later.

        Without such a message some before the end are told: the embedded broker finds none by its stamp.
        """
        millis = int(since.timestamp() * 1000)
        asked = [TopicPartition(place.topic, place.number, millis) for place in partitions]
        found = self._do("reading offsets", self._consumer.offsets_for_times, asked, timeout)
        offsets: dict[Partition, int] = {}
        for place in found:
            partition = Partition(place.topic, place.partition)
            low, end = self.watermarks(partition, timeout)
            offsets[partition] = place.offset if place.offset >= 0 else max(low, end - _STAMPLESS)
        return offsets

    def watermarks(self, partition: Partition, timeout: float) -> tuple[int, int]:
        """Return the first offset that the log still has, and the one that its next message gets."""
        # The stubs leave out the None of a time-out.
        answer: Any = self._do(
            "reading watermarks", self._consumer.get_watermark_offsets, to_place(partition), timeout
        )
        if answer is None:
            raise self._stranding.judge(Unavailable("reading watermarks took too long"))
        low, high = answer
        return low, high

    def close(self) -> None:
        """Leave the group, without committing anything.

        Where no broker answers, the group is left to find out by itself: at once when the brokers are lost
        for good, else after 5 seconds. Callbacks may run in another thread meanwhile.
        """
        # The library waits for the answers to its commits, however long no broker gives one.
        lost = self._stranding.lost
        faults: list[Exception] = []
        leave = self._drop if lost else partial(self._leave, faults)
        leaving = threading.Thread(target=leave, name="runlane-leaving", daemon=True)
        leaving.start()
        leaving.join(0.0 if lost else _LEAVE_SECONDS)
        self._on_assign = self._on_revoke = self._on_lost = _unheard
        if faults:
            raise faults[0]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _drop(self) -> None:
        # That ends the client, where closing it would wait for its brokers for ever.
        del self._consumer, self._stranding

    def _leave(self, faults: list[Exception]) -> None:
        try:
            self._do("closing", self._consumer.close)
        except Exception as fault:  # noqa: BLE001 - whoever closes raises it
            faults.append(fault)

    def _do(self, doing: str, call: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        # The library may crash when two threads are inside one consumer; callbacks come back in the same one.
        if not self._inside.acquire(blocking=False):
            raise RuntimeError("two threads use one consumer at once")
        try:
            return call(*arguments, **named)
        except KafkaException as error:
            raise self._stranding.judge(to_error(error, doing)) from error
        finally:
            self._inside.release()

    def _judge(self, error: KafkaError, place: Partition) -> None:
        """Raise what ends a reader; count and log what the library goes on after."""
        code = error.code()
        if code == KafkaError.GROUP_AUTHORIZATION_FAILED and not self._grouped:
            # The library looks for the group's coordinator also for a reader that is in none.
            return
        failure = to_error(error, "reading", topic=place.topic)
        if error.fatal() or code in _MISSING or isinstance(failure, KafkaNotPermitted):
            raise failure
        self.errors[error.name()] += 1
        LOG.warning("READ [%s %d %s]: what is there is not read", *place, error.name())

    def _assigned(self, consumer: confluent_kafka.Consumer, places: list[TopicPartition]) -> None:
        # An explicit offset, since the group may have none yet; paused, so nothing is fetched from it.
        explicit = [TopicPartition(place.topic, place.partition, 0) for place in places]
        consumer.incremental_assign(explicit)
        consumer.pause(explicit)
        self._on_assign(to_partitions(places))

    def _revoked(self, consumer: confluent_kafka.Consumer, places: list[TopicPartition]) -> None:
        self._on_revoke(to_partitions(places))
        consumer.incremental_unassign(places)

    def _lost(self, consumer: confluent_kafka.Consumer, places: list[TopicPartition]) -> None:
        self._on_lost(to_partitions(places))
        consumer.incremental_unassign(places)

    def _on_error(self, error: KafkaError) -> None:
        self._standing.hear(error)
        if error.fatal():
            self._fatal = to_error(error, "reading for good")

    def _committed(self, error: KafkaError | None, places: list[TopicPartition]) -> None:
        if self._on_commit is not None:
            first = error or next((place.error for place in places if place.error is not None), None)
            self._on_commit(None if first is None else to_error(first, "committing"))


def _unheard(_: Partitions) -> None:
    """Nobody subscribed."""
