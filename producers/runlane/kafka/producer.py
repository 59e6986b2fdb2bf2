"""An idempotent producer that counts its delivery reports."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial
from types import TracebackType
from typing import Any, Final, Self

import confluent_kafka
from confluent_kafka import KafkaError, KafkaException

from runlane.contract.errors import KafkaNotPermitted, Overloaded, RunlaneError
from runlane.kafka.config import KafkaConfig
from runlane.kafka.failures import Standing, to_error
from runlane.kafka.stranding import Stranding
from runlane.kafka.weak import weakly

Delivery = Callable[[RunlaneError | None], None]
"""Called once for each message: None when the broker has it, else why it may not."""

ANY_PARTITION: Final = -1
_SLICE_SECONDS: Final = 0.05
_REPORT_SECONDS: Final = 5.0
"""More than enough: what was given up is reported at once, unless the whole process is halted."""


class Producer:
    """Writes messages in order, each once, to all in-sync replicas.

    Delivery callbacks run in the thread that calls ``poll`` or ``drain``, or in a thread of the producer's
    own when made with ``background=True``. ``produce`` may be called from any thread. There is no flush:
    with another thread producing it may not return for seconds; ``drain`` counts reports instead.

        with Producer(config, background=True) as producer:
            producer.produce("runlane.commands", data, key=b"s/1", on_delivery=report)
    """

    def __init__(
        self,
        config: KafkaConfig,
        *,
        background: bool = False,
        linger_ms: float = 0,
        max_queued_bytes: int = 64 * 1024 * 1024,
        delivery_timeout_ms: int = 30_000,
    ) -> None:
        options: dict[str, Any] = config.options() | {
            "enable.idempotence": True,
            "acks": "all",
            "partitioner": "murmur2_random",
            "linger.ms": linger_ms,
            "delivery.timeout.ms": delivery_timeout_ms,
            "queue.buffering.max.kbytes": max(1, max_queued_bytes // 1024),
            "error_cb": weakly(self._on_error),
        }
        self._producer = confluent_kafka.Producer(options)
        self._stranding = Stranding(config, self._producer.list_topics)
        self._lock = threading.Lock()
        self._outstanding = 0
        self._standing = Standing()
        self._fatal: RunlaneError | None = None
        self._refused: KafkaNotPermitted | None = None
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None
        if background:
            self._thread = threading.Thread(target=self._serve, name="runlane-producer", daemon=True)
            self._thread.start()

    @property
    def outstanding(self) -> int:
        """How many messages wait for their delivery report."""
        return self._outstanding

    @property
    def refused(self) -> KafkaNotPermitted | None:
        """Why our user may not write to a topic that a delivery went to, or None."""
        return self._refused

    @property
    def fatal(self) -> RunlaneError | None:
        """Why this producer can never write again, or None: ``FatalKafkaError``, ``KafkaNotPermitted``."""
        return self._fatal

    def produce(
        self,
        topic: str,
        value: bytes | None,
        *,
        key: bytes | None = None,
        headers: list[tuple[str, bytes]] | None = None,
        partition: int = ANY_PARTITION,
        on_delivery: Delivery | None = None,
    ) -> None:
        """Queue a message; without ``partition`` its key chooses one, by murmur2.

        Raises ``Overloaded`` when the queue is full, ``fatal``, or what else ``to_error`` makes
        of a refusal; then no callback follows.
        """
        if self._fatal is not None:
            raise self._fatal
        with self._lock:
            self._outstanding += 1
        try:
            self._producer.produce(
                topic,
                value,
                key,
                partition,
                on_delivery=partial(self._on_report, on_delivery),
                headers=headers,  # type: ignore[arg-type]
            )
        except (BufferError, KafkaException) as error:
            with self._lock:
                self._outstanding -= 1
            if isinstance(error, KafkaException):
                raise to_error(error, "producing", topic=topic) from error
            raise Overloaded("the producer's queue is full") from error

    def poll(self, timeout: float = 0) -> None:
        """Run the callbacks that are due, waiting up to ``timeout`` seconds for a first one."""
        try:
            self._producer.poll(timeout)
        except KafkaException as error:
            # A fatal error is told to nobody else: the library raises it in whoever polls, once.
            self._end(to_error(error, "producing"))
        if self._fatal is None and (lost := self._stranding.found()) is not None:
            self._end(lost)

    def drain(self, timeout: float) -> bool:
        """Wait until every message has its report; False when some have none after ``timeout`` seconds."""
        deadline = time.monotonic() + timeout
        while self._outstanding and (left := deadline - time.monotonic()) > 0:
            self.poll(min(left, _SLICE_SECONDS))
        return not self._outstanding

    def close(self, timeout: float = 5.0) -> None:
        """Drain for up to ``timeout`` seconds, then give up what is left; every message gets its report."""
        if self._closed.is_set():
            return
        self.drain(timeout)
        self._closed.set()
        if self._thread is not None:
            self._thread.join()
        self._producer.purge()
        self.drain(_REPORT_SECONDS)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _serve(self) -> None:
        while not self._closed.is_set():
            self.poll(_SLICE_SECONDS)

    def _end(self, failure: RunlaneError) -> None:
        self._fatal = failure
        self._producer.purge()

    def _on_report(
        self, on_delivery: Delivery | None, error: KafkaError | None, message: confluent_kafka.Message
    ) -> None:
        with self._lock:
            self._outstanding -= 1
        failure = None
        if error is None:
            self._standing.clear()
            self._stranding.answered()
        else:
            failure = self._failure(error, message.topic() or "")
            if isinstance(failure, KafkaNotPermitted):
                self._refused = failure
        if on_delivery is not None:
            on_delivery(failure)

    def _failure(self, error: KafkaError, topic: str) -> RunlaneError:
        if error.code() == KafkaError._PURGE_QUEUE and self._fatal is not None:  # noqa: SLF001
            # It never left, and this is why.
            return self._fatal
        return self._standing.judge(to_error(error, "delivery", topic=topic))

    def _on_error(self, error: KafkaError) -> None:
        self._standing.hear(error)
        if error.fatal():
            self._fatal = to_error(error, "producing for good")
