"""The default sink of stream events: topic ``runlane.stream`` (contract 8; design, Topics)."""

from __future__ import annotations

import asyncio
import contextlib
from types import TracebackType
from typing import Final, Self

from runlane.contract.errors import RunlaneError, Unavailable
from runlane.contract.stream import StreamEvent, stream_message
from runlane.contract.topics import DEFAULT_PREFIX, Topics
from runlane.kafka import KafkaConfig, Producer

_CLOSE_SECONDS: Final = 5.0


class KafkaStreamSink:
    """Implements ``StreamSink``: ``async with KafkaStreamSink(KafkaConfig("kafka:9092")) as sink: ...``.

    It writes what the feed writes: the same events under the same identity, so it does not matter which of
    them comes first or comes twice.
    """

    def __init__(self, config: KafkaConfig, *, topic_prefix: str = DEFAULT_PREFIX) -> None:
        self._config = config
        self._topic = Topics(topic_prefix).stream.name
        self._producer: Producer | None = None

    async def __aenter__(self) -> Self:
        """Start a producer; a broker that is away is noticed by ``send``."""
        self._producer = Producer(self._config, background=True)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Let what is queued leave, for a few seconds, then let go."""
        producer, self._producer = self._producer, None
        if producer is not None:
            await asyncio.to_thread(producer.close, _CLOSE_SECONDS)

    async def send(self, event: StreamEvent) -> None:
        """Write one event; returns once all in-sync replicas have it.

        ``Unavailable`` or ``Overloaded`` for what may pass, ``FatalKafkaError`` when only a new sink can
        help, ``TopicMismatch``, ``ContractError`` with code ``message_too_large``.
        """
        if self._producer is None:
            raise Unavailable("the sink is closed")
        loop = asyncio.get_running_loop()
        delivered: asyncio.Future[None] = loop.create_future()

        def settle(failure: RunlaneError | None) -> None:
            if delivered.done():
                return
            if failure is None:
                delivered.set_result(None)
            else:
                delivered.set_exception(failure)

        def report(failure: RunlaneError | None) -> None:
            with contextlib.suppress(RuntimeError):  # the loop was closed: nobody waits any more
                loop.call_soon_threadsafe(settle, failure)

        message = stream_message(event)
        self._producer.produce(
            self._topic,
            message.body,
            key=message.key,
            headers=list(message.headers),
            on_delivery=report,
        )
        await delivered
