"""The run store of workers and hosts."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Self

from runlane.client.appends import OpenAppends
from runlane.client.asking import Asking, Trip
from runlane.client.exchange import Exchange
from runlane.client.lanes import LaneCache
from runlane.client.operations import Operations
from runlane.client.options import ClientOptions
from runlane.client.own import own
from runlane.client.reads import Reads
from runlane.client.router import Router
from runlane.client.transport import Transport
from runlane.contract.commands import Command
from runlane.contract.errors import OutOfOrder, RunlaneError
from runlane.contract.outcomes import Result
from runlane.contract.reader import Reader
from runlane.contract.validate import validate_before_send


class RunStore(Operations, Reads):
    """Every operation of the contract, over Kafka and the read API, or in this process.

    ``async with RunStore.from_connection("data/connection.json") as store: await store.load_run("r")``

    One store serves one event loop, for any number of tasks at once. Commands are repeated exactly until they are
    answered or ``options.timeout`` is over; ``reader`` may be any ``Reader``.
    """

    def __init__(
        self,
        transport: Transport,
        reader: Reader,
        *,
        options: ClientOptions | None = None,
        on_close: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        Reads.__init__(self, reader)
        self._options = options or ClientOptions()
        self._exchange = Exchange(transport, self._options)
        self._router = Router(Asking(self._exchange, self._options), LaneCache(self._options.max_lanes))
        self._appends = OpenAppends()
        self._on_close = on_close

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

        ``on_sent`` is called once the command is on its way, so a caller may send the next one before the answer.
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


def _hopeless(error: OutOfOrder, predecessor: asyncio.Future[bool] | None) -> RunlaneError:
    if predecessor is None or not predecessor.done() or predecessor.result():
        return error
    return OutOfOrder("the append that it follows was refused or is unknown")
