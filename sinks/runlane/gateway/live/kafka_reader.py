"""A reader of Kafka on a thread of its own, in no group; a broker that is away is tried again for ever."""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod
from typing import Final, Generic, TypeVar

from runlane.contract.errors import RunlaneError
from runlane.kafka import Consumer, KafkaConfig

ANSWER_SECONDS: Final = 5.0
"""How long a broker may take to answer."""
_RETRY_SECONDS: Final = 1.0
_log = logging.getLogger(__name__)

SinkT = TypeVar("SinkT")


class KafkaReader(ABC, Generic[SinkT]):
    """Reads from ``start`` to ``close`` and hands on to a sink; ``subject`` names it in the log."""

    subject: str

    def __init__(self, config: KafkaConfig) -> None:
        self._config = config
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self, sink: SinkT) -> None:
        """Begin to read."""
        name = f"{self.subject}-reader"
        self._thread = threading.Thread(target=self._run, args=(sink,), name=name, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the reader."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    @abstractmethod
    def _follow(self, consumer: Consumer, sink: SinkT) -> None:
        """Read until ``_stop`` is set; raises what ends this consumer."""

    def _run(self, sink: SinkT) -> None:
        while not self._stop.is_set():
            try:
                with Consumer(self._config) as consumer:
                    self._follow(consumer, sink)
            except RunlaneError as error:
                _log.warning("the %s reader starts again: %s", self.subject, error.code)
                self._stop.wait(_RETRY_SECONDS)
