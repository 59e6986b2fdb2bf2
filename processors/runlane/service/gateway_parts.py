"""A gateway put together: reads and page, streams with a broker, host commands with a key."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from runlane.client import ClientOptions, KafkaTarget, KafkaTransport, RunStore, SyncRunStore
from runlane.contract.codec import Codec
from runlane.contract.outcomes import PurgeResult
from runlane.contract.reader import Reader
from runlane.contract.signing import Key
from runlane.contract.topics import Topics
from runlane.contract.values import Session
from runlane.gateway import (
    Access,
    Activity,
    KafkaActivitySource,
    KafkaSource,
    Live,
    Page,
    Parts,
    Probe,
    TicketBook,
    create_app,
)
from runlane.kafka import KafkaConfig
from runlane.service.api_server import ApiServer
from runlane.store import AsyncJournalReader, ClientPool
from runlane.store.live import AsyncLiveReads
from runlane.store.memory import MemoryTableReader

_HOST_SECONDS: Final = 20.0


@dataclass(frozen=True, slots=True)
class GatewayParts:
    """What a gateway is made of; without ``kafka`` it only reads, without ``host_key`` it commands not."""

    pool: ClientPool
    access: Access
    address: tuple[str, int]
    kafka: KafkaConfig | None = None
    topics: Topics = field(default_factory=Topics)
    host_key: Key | None = None
    codec: Codec = field(default_factory=Codec)
    read_threads: int = 4
    links: TicketBook[str] | None = None


@contextmanager
def serve_gateway(parts: GatewayParts, *, ready: Probe | None = None) -> Generator[ApiServer]:
    """Serve from entering to leaving; ``Unavailable`` when the address cannot be listened on."""
    with ExitStack() as held:
        reader = AsyncJournalReader(parts.pool, threads=parts.read_threads)
        held.callback(reader.close)
        memory = MemoryTableReader(parts.pool)
        held.callback(memory.close)
        streams, activity, host = None, None, None
        if parts.kafka is not None:
            reads = AsyncLiveReads(parts.pool)
            held.callback(reads.close)
            streams = Live(KafkaSource(parts.kafka, parts.topics, parts.codec), reads, reader)
            activity = Activity(KafkaActivitySource(parts.kafka, parts.topics))
            if parts.host_key is not None:
                host = HostClient(parts.kafka, parts.topics, parts.host_key, reader)
                held.callback(host.close)
        app = create_app(
            reader,
            parts.access,
            ready=ready,
            parts=Parts(streams, activity, memory, host, Page(), parts.links),
        )
        api = held.enter_context(ApiServer(app, parts.address))
        for live in (streams, activity):
            if live is not None:
                # First of all when leaving: a server ends when nobody is connected any more.
                held.callback(live.stop)
        yield api


class HostClient:
    """Implements ``HostCommands``; it connects with the first command, since most gateways never see one."""

    def __init__(self, kafka: KafkaConfig, topics: Topics, key: Key, reader: Reader) -> None:
        self._target = KafkaTarget(kafka, topics.prefix, host_key=key)
        self._reader = reader
        self._store: SyncRunStore | None = None
        self._connecting = asyncio.Lock()

    async def create_session(self, session_id: str, at: datetime | None) -> Session:
        """Create a session."""
        return await asyncio.to_thread((await self._open()).create_session, session_id, at)

    async def end_session(self, session_id: str, at: datetime | None) -> Session:
        """End a session."""
        return await asyncio.to_thread((await self._open()).end_session, session_id, at)

    async def purge_session(self, session_id: str) -> PurgeResult:
        """Purge a session."""
        return await asyncio.to_thread((await self._open()).purge_session, session_id)

    def close(self) -> None:
        """Let the broker go."""
        if self._store is not None:
            self._store.__exit__(None, None, None)

    async def _open(self) -> SyncRunStore:
        async with self._connecting:
            if self._store is None:
                self._store = await asyncio.to_thread(self._connect)
        return self._store

    def _connect(self) -> SyncRunStore:
        options = ClientOptions(timeout=_HOST_SECONDS)
        transport = KafkaTransport(lambda: self._target, options=options)
        return SyncRunStore(RunStore(transport, self._reader, options=options)).__enter__()
