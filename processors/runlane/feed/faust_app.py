"""The Faust application: it shares the partitions among feeds, fetches, and keeps the offsets.

It does no more than that. Partitions are read as they come; what is made of them, and its delivery, is ours.
"""

from __future__ import annotations

import logging
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Final, Protocol, cast

import faust
from faust.auth import SASLCredentials, SSLCredentials
from faust.transport.drivers.aiokafka import AIOKafkaConsumerThread, Consumer, Transport
from yarl import URL

from runlane.kafka import KafkaConfig, Tls

_BUFFERED: Final = 64
_FETCH_WAIT: Final = "_fetch_max_wait_ms"
_COMMIT_SECONDS: Final = 1.0
_HEARTBEAT_SECONDS: Final = 1.0
_SESSION_SECONDS: Final = 10.0
_REBALANCE_SECONDS: Final = 30.0


_LOG: Final = logging.getLogger("faust.feed")
"""A part of Faust says what it does in the name of its module, which is ours here."""


class FaustMessage(Protocol):
    """A message as it was fetched, and under which assignment of partitions."""

    partition: int
    offset: int
    value: bytes | None
    generation_id: int


class FaustEvent(Protocol):
    """A message on its way through Faust; ``ack`` lets the group's offset pass it."""

    message: FaustMessage

    def ack(self) -> bool:
        """Take notice that it is done with."""
        ...


OnEvent = Callable[[FaustEvent], Awaitable[None]]


class _QuickThread(AIOKafkaConsumerThread):
    logger = _LOG

    def _create_worker_consumer(self, transport: Any) -> Any:
        consumer = super()._create_worker_consumer(transport)
        # Faust asks for 1,500 ms; the embedded broker lets a fetch wait that long though something came.
        setattr(consumer, _FETCH_WAIT, transport.fetch_wait_ms)
        return consumer


class _QuickConsumer(Consumer):
    logger = _LOG

    def _new_consumer_thread(self) -> AIOKafkaConsumerThread:
        beacon: Any = cast("Any", self).beacon
        return _QuickThread(self, loop=self.loop, beacon=beacon)


class _QuickTransport(Transport):
    Consumer = _QuickConsumer
    fetch_wait_ms: int


class _App(faust.App):
    def _create_directories(self) -> None:
        """Make none: Faust would make its own in the working directory, which may be read-only."""


def make_app(config: KafkaConfig, *, group: str, topic: str, on_event: OnEvent) -> faust.App:
    """Return an application of consumer group ``group`` that hands every message of ``topic`` on.

    Topics are made beforehand, nothing is kept on disk, no port is opened.
    """
    app = _App(
        group,
        broker=[URL(f"aiokafka://{address}") for address in config.bootstrap.split(",")],
        broker_client_id=config.client_id,
        broker_credentials=_credentials(config),
        broker_commit_interval=_COMMIT_SECONDS,
        broker_heartbeat_interval=_HEARTBEAT_SECONDS,
        broker_session_timeout=_SESSION_SECONDS,
        broker_rebalance_timeout=_REBALANCE_SECONDS,
        consumer_auto_offset_reset="earliest",
        stream_buffer_maxsize=_BUFFERED,
        stream_wait_empty=False,
        key_serializer="raw",
        value_serializer="raw",
        store="memory://",
        topic_allow_declare=False,
        topic_disable_leader=True,
        web_enabled=False,
    )
    transport = _QuickTransport(app.conf.broker, app, loop=app.loop)
    transport.fetch_wait_ms = config.fetch_wait_ms
    app.transport = transport

    async def read(stream: Any) -> None:
        # The channel, not the stream: it costs a third, and acknowledges nothing by itself.
        async for event in cast("AsyncIterator[FaustEvent]", stream.channel):
            await on_event(event)

    untyped = cast("Any", app)
    untyped.agent(untyped.topic(topic), name="feed")(read)
    return app


def _credentials(config: KafkaConfig) -> SASLCredentials | SSLCredentials | None:
    context = _tls(config.tls) if config.security_protocol.endswith("ssl") else None
    if config.sasl is not None:
        return SASLCredentials(
            username=config.sasl.username,
            password=config.sasl.password,
            mechanism=config.sasl.mechanism,
            ssl_context=context,
        )
    return None if context is None else SSLCredentials(context)


def _tls(files: Tls) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=files.ca_file or None)
    if files.certificate_file:
        context.load_cert_chain(files.certificate_file, files.key_file or None, files.key_password or None)
    return context
