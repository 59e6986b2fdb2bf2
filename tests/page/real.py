"""The real thing: a stack of the embedded parts with its gateway, which tests cut off and bring back."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from runlane.client import RunStore
from runlane.contract.activity import ActivityShare, share_message
from runlane.contract.topics import Topics
from runlane.contract.values import CommittedRecord
from runlane.gateway import ENTRANCE, Access, Page, Parts, Role, TicketBook, Token, create_app
from runlane.gateway.auth import LOOPBACK_HOSTS
from runlane.kafka import KafkaConfig, Producer
from runlane.service.api_server import ApiServer
from runlane.service.embedded.folder import DataFolder
from runlane.service.embedded.stack import EmbeddedStack
from runlane.service.gateway_parts import GatewayParts, serve_gateway
from runlane.store import AsyncJournalReader
from tests.harness.ports import free_ports
from tests.page.relay import Relay

Result = TypeVar("Result")
HOST = "127.0.0.1"


class Real:
    """A running stack, a store that writes to it, and a gateway of its own: ``with Real(folder) as real``.

    Browsers reach that gateway through a relay at ``url``; both keep their ports over every cut.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder
        self._parts = ExitStack()
        self._gateway = ExitStack()
        self._links = TicketBook[str]()
        self._loop = asyncio.new_event_loop()
        (self._port,) = free_ports(1)

    def __enter__(self) -> Self:
        """Start all of it."""
        with ExitStack() as starting:
            folder = starting.enter_context(DataFolder(self._path))
            self.stack = starting.enter_context(EmbeddedStack(folder))
            self.token = self.stack.connection.tokens.worker
            self.start_gateway()
            starting.callback(self.stop_gateway)
            self.relay = starting.enter_context(Relay(self._port))
            self.url = f"http://{HOST}:{self.relay.port}"
            thread = threading.Thread(target=self._loop.run_forever, name="worker")
            thread.start()
            starting.callback(self._loop.close)
            starting.callback(thread.join)
            starting.callback(lambda: self._loop.call_soon_threadsafe(self._loop.stop))
            self.store = RunStore.from_connection(folder.connection_file)
            self.run(self.store.__aenter__())
            starting.callback(lambda: self.run(self.store.__aexit__(None, None, None)))
            self._parts = starting.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop all of it."""
        self._parts.close()

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Do something as a worker does, and wait for it."""
        return self.begin(work).result(100)

    def begin(self, work: Coroutine[Any, Any, Result]) -> Future[Result]:
        """Do something as a worker does, meanwhile."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def entrance(self) -> str:
        """The path that signs one browser in."""
        return f"{ENTRANCE}?ticket={self._links.issue(self.token)}"

    def start_gateway(self) -> None:
        """Serve as ``runlane gateway`` does, at the same port each time."""
        made = GatewayParts(
            self.stack.pool,
            Access((Token(self.token, Role.WORKER),), LOOPBACK_HOSTS),
            (HOST, self._port),
            kafka=KafkaConfig(self.stack.connection.kafka, client_id="page-tests"),
            links=self._links,
        )
        self._gateway.enter_context(serve_gateway(made))

    def stop_gateway(self) -> None:
        """End the gateway: its streams, its tickets and its port are gone."""
        self._gateway.close()

    def records(self, run_id: str) -> list[CommittedRecord]:
        """Every record that the store has of a run."""

        async def read() -> list[CommittedRecord]:
            found: list[CommittedRecord] = []
            cursor = ""
            while True:
                page = await self.store.list_run_records(run_id, cursor, 1000)
                found += page.records
                cursor = page.next_cursor
                if not cursor:
                    return found

        return self.run(read())

    def publish(self, share: ActivityShare) -> None:
        """Tell of an agent as a feed does."""
        message = share_message(share)
        with Producer(KafkaConfig(self.stack.connection.kafka)) as producer:
            producer.produce(
                Topics().activity.name, message.body, key=message.key, headers=list(message.headers)
            )
            assert producer.drain(60)

    def serve(self, page: Page, *, policy: bool) -> ApiServer:
        """Another gateway over the same journal, open to this machine, with another page."""
        reader = AsyncJournalReader(self.stack.pool, threads=1)
        app = create_app(reader, Access(), parts=Parts(page=page))
        return ApiServer(app if policy else _without_policy(app), (HOST, 0))


def _without_policy(app: ASGIApp) -> ASGIApp:
    async def served(scope: Scope, receive: Receive, send: Send) -> None:
        async def bare(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [
                    (name, value)
                    for name, value in message["headers"]
                    if name.lower() != b"content-security-policy"
                ]
            await send(message)

        await app(scope, receive, bare)

    return served
