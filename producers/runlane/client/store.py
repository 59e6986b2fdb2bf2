"""The run store of workers and hosts."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from runlane.client.appends import OpenAppends
from runlane.client.asking import Asking, Trip
from runlane.client.endpoints import CLIENT_ID, Api, ConnectionFile, Endpoints, FixedEndpoints, KafkaTarget
from runlane.client.exchange import Exchange
from runlane.client.follow import Followed, Follower, PagedFollower, Records
from runlane.client.http_follower import HttpFollower
from runlane.client.http_reader import HttpReader
from runlane.client.kafka_memory import KafkaMemory
from runlane.client.kafka_transport import KafkaTransport
from runlane.client.lanes import LaneCache
from runlane.client.operations import Operations
from runlane.client.options import ClientOptions
from runlane.client.own import own
from runlane.client.reads import Reads
from runlane.client.router import Router
from runlane.client.run import Run
from runlane.client.transport import Transport
from runlane.contract.codec import Codec
from runlane.contract.commands import Command
from runlane.contract.delta import Delta, encode_delta
from runlane.contract.errors import OutOfOrder, RunlaneError, Unavailable
from runlane.contract.ids import session_lane
from runlane.contract.memory import MemoryLog, MemoryReader
from runlane.contract.outcomes import Result
from runlane.contract.reader import Reader
from runlane.contract.signing import Key, parse_key
from runlane.contract.topics import DEFAULT_PREFIX
from runlane.contract.validate import validate_before_send
from runlane.contract.values import NO_LABELS, RunStart
from runlane.kafka import PATIENT_FETCH_MS, KafkaConfig

_VARIABLES = ("KAFKA", "API", "TOKEN", "HOST_KEY", "TOPIC_PREFIX")


class RunStore(Operations, Reads):
    """Every operation of the contract, over Kafka and the read API, or in this process.

    ``async with RunStore.from_connection("data/connection.json") as store: await store.load_run("r")``

    One store serves one event loop, for any number of tasks at once. Commands are repeated exactly until
    they are answered or ``options.timeout`` is over; ``reader`` may be any ``Reader``, and ``memory`` any
    ``MemoryReader``. Without a ``follower``, ``follow`` asks the reader again and again.
    """

    def __init__(
        self,
        transport: Transport,
        reader: Reader,
        *,
        memory: MemoryReader | None = None,
        follower: Follower | None = None,
        options: ClientOptions | None = None,
        on_close: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        Reads.__init__(self, reader)
        self._follower = follower or PagedFollower(reader)
        self._transport = transport
        self._options = options or ClientOptions()
        self._exchange = Exchange(transport, self._options)
        asking = Asking(self._exchange, self._options)
        self._router = Router(asking, LaneCache(self._options.max_lanes))
        self._memory: MemoryLog = KafkaMemory(asking, memory, self._options)
        self._appends = OpenAppends()
        self._on_close = on_close

    @classmethod
    def connect(
        cls,
        kafka: str | KafkaConfig,
        api: str,
        *,
        token: str = "",
        host_key: Key | None = None,
        topic_prefix: str = DEFAULT_PREFIX,
        codec: Codec | None = None,
        options: ClientOptions | None = None,
    ) -> RunStore:
        """Return a store to be entered: ``RunStore.connect("kafka:9092", "http://gateway:8080")``.

        ``token`` is the read API's; ``host_key`` signs the host commands, which are refused without;
        ``codec`` is for brokers with a schema registry.
        """
        config = kafka
        if isinstance(config, str):
            config = KafkaConfig(config, client_id=CLIENT_ID, fetch_wait_ms=PATIENT_FETCH_MS)
        target = KafkaTarget(config, topic_prefix, host_key=host_key)
        return cls._over(FixedEndpoints(target, Api(api, token)), codec, options)

    @classmethod
    def from_connection(
        cls, path: str | os.PathLike[str], *, options: ClientOptions | None = None
    ) -> RunStore:
        """Return a store for the stack that wrote ``path``: ``RunStore.from_connection("connection.json")``.

        It follows the stack through restarts: open commands are repeated exactly to the new broker.
        """
        return cls._over(ConnectionFile(Path(path)), None, options)

    @classmethod
    def from_env(cls, *, options: ClientOptions | None = None) -> RunStore:
        """Return a store by ``RUNLANE_KAFKA`` and ``RUNLANE_API``.

        ``RUNLANE_TOKEN``, ``RUNLANE_HOST_KEY`` and ``RUNLANE_TOPIC_PREFIX`` are heeded too. Raises
        ``Unavailable`` when an address is missing, ``ValueError`` for a key that is none.
        """
        given = {name: os.environ.get(f"RUNLANE_{name}", "") for name in _VARIABLES}
        if not given["KAFKA"] or not given["API"]:
            raise Unavailable("RUNLANE_KAFKA and RUNLANE_API say where to connect", code="no_address")
        return cls.connect(
            given["KAFKA"],
            given["API"],
            token=given["TOKEN"],
            host_key=parse_key(given["HOST_KEY"]) if given["HOST_KEY"] else None,
            topic_prefix=given["TOPIC_PREFIX"] or DEFAULT_PREFIX,
            options=options,
        )

    @staticmethod
    def _over(endpoints: Endpoints, codec: Codec | None, options: ClientOptions | None) -> RunStore:
        options = options or ClientOptions()
        reader = HttpReader(endpoints.api, options=options)
        transport = KafkaTransport(endpoints.kafka, options=options, codec=codec)
        return RunStore(
            transport,
            reader,
            memory=reader,
            follower=HttpFollower(endpoints.api, reader, options=options),
            options=options,
            on_close=reader.aclose,
        )

    @property
    def memory(self) -> MemoryLog:
        """What products keep of their agents' runs: ``await store.memory.load_run("agent", "r")``."""
        return self._memory

    async def __aenter__(self) -> Self:
        """Connect; raises ``Unavailable``."""
        await self._exchange.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Let go; whoever still waits for an outcome gets ``OutcomeUnknown``."""
        try:
            await self._exchange.stop()
        finally:
            if self._on_close is not None:
                await self._on_close()

    async def execute(self, command: Command, *, on_sent: Callable[[], None] | None = None) -> Result:
        """Run any command and return its result: ``await store.execute(PurgeSession("s"))``.

        ``on_sent`` is called once the command is on its way, so a caller may send the next one before the
        answer.
        """
        validate_before_send(command)
        command = own(command)
        predecessor = self._appends.predecessor(command)
        deadline = asyncio.get_running_loop().time() + self._options.timeout
        settled = self._appends.begin(command)
        stored = False
        try:
            result = await self._router.route(command, Trip(deadline, on_sent, predecessor))
            stored = True
        except OutOfOrder as error:
            raise _hopeless(error, predecessor) from None
        finally:
            if settled is not None and not settled.done():
                settled.set_result(stored)
        return result

    def run(
        self,
        run_id: str,
        agent_id: str,
        *,
        session_id: str = "",
        labels: Mapping[str, str] = NO_LABELS,
        predecessor_run_id: str = "",
        started_at: datetime | None = None,
    ) -> Run:
        """Return a run to be entered: ``async with store.run("r", "agent", session_id="s") as run: ...``.

        Without a session it is a one-shot run. ``started_at`` is now unless given, in whole milliseconds.
        """
        start = RunStart(
            run_id=run_id,
            agent_id=agent_id,
            session_id=session_id,
            predecessor_run_id=predecessor_run_id,
            started_at=started_at,
            labels=labels,
        )
        return Run(self, start)

    def follow(self, *, run: str = "", session: str = "", after: str = "") -> Records:
        """Return the records of a run or a session, stored and to come, until no record can follow.

        ``async for record in store.follow(run="r")``: each comes once and in order, through every break of
        the connection. ``after`` is the ``seq`` (of a run) or ``lane_seq`` (of a session) to go on behind, in
        decimal. A run is over when it has stopped, a session when it has ended and none of its runs is
        running. Raises ``InvalidCommand``, ``RunNotFound``, ``SessionNotFound``, ``SessionPurged``, and
        ``TemporaryError`` when nothing is reached for ``options.timeout``.
        """
        return self._follower.follow(Followed.of(run=run, session=session), after)

    def send_delta(self, delta: Delta, *, session_id: str = "") -> None:
        """Show text that is being written to whoever watches the run; ``session_id`` is the run's, if any.

        Best effort: it waits for nothing, and what cannot be sent now is dropped. ``InvalidCommand`` for a
        delta that is none.
        """
        body = encode_delta(delta)
        lane = session_lane(session_id) if session_id else self._router.lane_of(delta.run_id)
        self._transport.send_delta(lane, body)


def _hopeless(error: OutOfOrder, predecessor: asyncio.Future[bool] | None) -> RunlaneError:
    if predecessor is None or not predecessor.done() or predecessor.result():
        return error
    return OutOfOrder("the append that it follows was refused or is unknown")
