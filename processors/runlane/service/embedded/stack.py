"""All parts in one process: broker, engine, owner, memory sink, read API, endpoint; the feed beside it."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Self

from runlane.client import Connection
from runlane.contract.codec import Codec
from runlane.contract.errors import Unavailable
from runlane.contract.topics import EMBEDDED_PARTITIONS, Topics
from runlane.gateway import ENTRANCE, Access, Role, TicketBook, Token
from runlane.gateway.auth import LOOPBACK_HOSTS
from runlane.kafka import EmbeddedBroker, GroupSettings, KafkaConfig
from runlane.owner.config import OwnerConfig
from runlane.service.embedded.feed_process import FeedProcess
from runlane.service.embedded.folder import ENGINE_FOLDER, DataFolder, Secrets
from runlane.service.gateway_parts import GatewayParts, serve_gateway
from runlane.service.journal import endpoint_dsn
from runlane.service.memory_thread import MemoryParts, MemoryThread
from runlane.service.owner_thread import OwnerParts, OwnerThread
from runlane.store.block import LogId
from runlane.store.endpoint import Endpoint, EndpointConfig
from runlane.store.engine import ClientPool, connect, connection_string
from runlane.store.migrate import migrate
from runlane.store.self_test import self_test
from runlane.store.stops import StopKind

_HOST: Final = "127.0.0.1"
_CLUSTER: Final = "embedded"
_OPEN_SECONDS: Final = 120.0
_READ_THREADS: Final = 2
_LINK_SECONDS: Final = 3600.0
_BESIDE_FETCH_MS: Final = 25
"""An idle reader of the embedded broker asks again and again: less often where no command waits for it."""
ADOPTS: Final = frozenset({StopKind.LOG_REPLACED, StopKind.LOG_TRIMMED, StopKind.LOG_BEGINS_LATE})
"""The embedded broker is empty at each start and keeps 5 MB a partition, so these are its everyday life."""


@dataclass(frozen=True, slots=True)
class _Base:
    """What the parts that answer stand on: the folder's secrets, the journal and its endpoint, the broker."""

    keys: Secrets
    journal_id: str
    endpoint: Endpoint
    broker: EmbeddedBroker
    log: LogId


class EmbeddedStack:
    """The running stack of a data folder: ``with EmbeddedStack(folder) as stack: stack.connection.api``.

    ``port`` is that of the read API; 0 takes a free one. ``feed`` starts a feed too, which may come up later.
    Raises ``Unavailable`` when a part does not start, ``SchemaDrift`` and ``UnsafeEngine`` when the folder's
    journal must not be used.
    """

    def __init__(self, folder: DataFolder, *, port: int = 0, feed: bool = False) -> None:
        self._folder = folder
        self._port = port
        self._feeds = feed
        self._topics = Topics(partitions=EMBEDDED_PARTITIONS)
        self._links = TicketBook[str](seconds=_LINK_SECONDS)
        self._parts = ExitStack()
        self.pool: ClientPool
        self.owner: OwnerThread
        self.memory: MemoryThread
        self.feed: FeedProcess | None = None
        self.connection: Connection

    def __enter__(self) -> Self:
        """Start every part, then tell other processes where they are."""
        with ExitStack() as starting:
            self._start(starting)
            self._parts = starting.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop: first who asks, then who answers, the engine last."""
        self._folder.connection_file.unlink(missing_ok=True)
        self._parts.close()

    def link(self) -> str:
        """Return an address that lets one browser in, once and within the hour; with a worker's token."""
        ticket = self._links.issue(self._folder.secrets().worker_token)
        return f"{self.connection.api}{ENTRANCE}?ticket={ticket}"

    def _start(self, parts: ExitStack) -> None:
        base = self._start_base(parts)
        self.owner = parts.enter_context(OwnerThread(self._owner_parts(base)))
        self.memory = parts.enter_context(MemoryThread(self._memory_parts(base)))
        api = parts.enter_context(serve_gateway(self._gateway_parts(base), ready=self._ready))
        self.owner.wait_until_open(EMBEDDED_PARTITIONS, _OPEN_SECONDS)
        self.memory.wait_until_open(EMBEDDED_PARTITIONS, _OPEN_SECONDS)
        self.connection = self._connection(base, api.url)
        self.connection.save(self._folder.connection_file)
        if self._feeds:
            settings = {"KAFKA": base.broker.bootstrap, "CLICKHOUSE": endpoint_dsn(self.connection)}
            self.feed = parts.enter_context(FeedProcess(settings))

    def _start_base(self, parts: ExitStack) -> _Base:
        keys = self._folder.secrets()
        self.pool = connect(self._folder.engine_dsn)
        parts.callback(self.pool.close)
        journal_id = migrate(self.pool)
        self_test(self.pool)
        endpoint = parts.enter_context(self._endpoint(keys))
        broker = parts.enter_context(
            EmbeddedBroker({topic.name: topic.partitions for topic in self._topics.all()})
        )
        # The broker has no identity of its own, and is another one each time.
        log = LogId(_CLUSTER, secrets.token_hex(16))
        return _Base(keys, journal_id, endpoint, broker, log)

    def _endpoint(self, keys: Secrets) -> Endpoint:
        path = str(self._folder.path / ENGINE_FOLDER)
        try:
            return Endpoint(connection_string(path), EndpointConfig(keys.clickhouse_password))
        except OSError as error:
            raise Unavailable(f"the ClickHouse endpoint cannot listen ({error.strerror})") from None

    def _owner_parts(self, base: _Base) -> OwnerParts:
        return OwnerParts(
            kafka=KafkaConfig(base.broker.bootstrap, client_id="runlane-owner"),
            topics=self._topics,
            group=GroupSettings("runlane-owner"),
            pool=self.pool,
            journal_id=base.journal_id,
            config=OwnerConfig(base.keys.host_keys(), base.keys.owner_keys(), ADOPTS),
            codec=Codec(),
            log=base.log,
        )

    def _memory_parts(self, base: _Base) -> MemoryParts:
        return MemoryParts(
            kafka=_beside(base, "runlane-memory-sink"),
            topics=self._topics,
            group=GroupSettings("runlane-memory-sink"),
            pool=self.pool,
            journal_id=base.journal_id,
            codec=Codec(),
            adopts=ADOPTS,
            log=base.log,
        )

    def _gateway_parts(self, base: _Base) -> GatewayParts:
        keys = base.keys
        tokens = (Token(keys.worker_token, Role.WORKER), Token(keys.host_token, Role.HOST))
        return GatewayParts(
            self.pool,
            Access(tokens, LOOPBACK_HOSTS),
            (_HOST, self._port),
            kafka=_beside(base, "runlane-gateway"),
            topics=self._topics,
            host_key=keys.signing_key(),
            read_threads=_READ_THREADS,
            links=self._links,
        )

    def _connection(self, base: _Base, api: str) -> Connection:
        tokens, host_key = base.keys.for_clients()
        return Connection(
            kafka=base.broker.bootstrap,
            topic_prefix=self._topics.prefix,
            log_id=base.log.topic_id,
            api=api,
            clickhouse=base.endpoint.url,
            tokens=tokens,
            clickhouse_password=base.keys.clickhouse_password,
            host_key=host_key,
        )

    async def _ready(self) -> Mapping[str, str]:
        faults = {**self.owner.progress.faults(), **self.memory.faults()}
        return faults if self.feed is None else {**faults, **self.feed.faults()}


def _beside(base: _Base, client_id: str) -> KafkaConfig:
    """Return how a part beside the owner reaches the broker."""
    return KafkaConfig(base.broker.bootstrap, client_id=client_id, fetch_wait_ms=_BESIDE_FETCH_MS)
