"""Looks at partitions from any thread, apart from the consumer that reads them."""

from __future__ import annotations

import threading
import time
from types import TracebackType
from typing import Final, Self

from runlane.contract.errors import Unavailable
from runlane.kafka.config import KafkaConfig
from runlane.kafka.consumer import Consumer
from runlane.kafka.reading import GroupSettings, Message, Partition

_SLICE_SECONDS: Final = 0.1


class Inspector:
    """Watermarks, single messages and group offsets, for whoever checks a log before trusting it.

    Each method waits up to ``timeout`` seconds and then raises ``Unavailable``; calls take turns.
    """

    def __init__(self, config: KafkaConfig, *, group: str, timeout: float = 10.0) -> None:
        self._timeout = timeout
        self._lock = threading.Lock()
        self._consumer = Consumer(config, group=GroupSettings(group))

    def watermarks(self, partition: Partition) -> tuple[int, int]:
        """Return the first offset that the log still has, and the one that its next message gets."""
        with self._lock:
            return self._consumer.watermarks(partition, self._timeout)

    def message_at(self, partition: Partition, offset: int) -> Message | None:
        """Return the message at ``offset``, None when the log has none there (any more, or yet)."""
        low, high = self.watermarks(partition)
        if not low <= offset < high:
            return None
        with self._lock:
            self._consumer.assign({partition: offset})
            try:
                return self._first(offset)
            finally:
                self._consumer.assign({})

    def committed(self, partition: Partition) -> int | None:
        """Return the group's offset, None where it has none."""
        with self._lock:
            return self._consumer.committed([partition], self._timeout)[partition]

    def force_offset(self, partition: Partition, offset: int) -> None:
        """Set the group's offset; ``Unavailable`` also while the group has members."""
        with self._lock:
            self._consumer.commit_now({partition: offset})

    def close(self) -> None:
        """Let go of the connection, once nobody uses it."""
        with self._lock:
            self._consumer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _first(self, offset: int) -> Message | None:
        deadline = time.monotonic() + self._timeout
        while time.monotonic() < deadline:
            polled = self._consumer.poll(1, _SLICE_SECONDS)
            if polled.lost:
                return None
            if polled.messages:
                # A later one: the place holds a mark that is no message, such as a transaction's end.
                return polled.messages[0] if polled.messages[0].offset == offset else None
        raise Unavailable("reading one message took too long")
