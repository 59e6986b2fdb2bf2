"""One command in one lane, repeated exactly while its failure is temporary."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from runlane.client.exchange import Exchange
from runlane.client.options import ClientOptions
from runlane.client.transport import Sent
from runlane.contract.errors import ContractError, ErrorInfo, OutOfOrder, RunlaneError, from_info
from runlane.contract.outcomes import Result


@dataclass(frozen=True, slots=True)
class Trip:
    """One operation: until when (loop time), whom to tell that it was sent, which append it follows."""

    deadline: float
    on_sent: Callable[[], None] | None = None
    predecessor: asyncio.Future[bool] | None = None


class Asking:
    """Gets a command's result out of one lane: ``result = await asking.result(lane, command, trip)``."""

    def __init__(self, exchange: Exchange, options: ClientOptions) -> None:
        self._exchange = exchange
        self._options = options

    async def result(self, lane: str, command: Sent, trip: Trip) -> Result:
        """Return the result; raises the error of the outcome once it is permanent or the time is over."""
        failures = 0
        while True:
            outcome = await self._exchange.ask(lane, command, trip.deadline, on_sent=trip.on_sent)
            if outcome.result is not None:
                return outcome.result
            error = _error(outcome.error)
            failures += 1
            if not error.retryable or not await self._pause(error, failures, trip):
                raise error

    async def _pause(self, error: RunlaneError, failures: int, trip: Trip) -> bool:
        """Wait until another try makes sense; False when there is no time for it or no hope."""
        try:
            async with asyncio.timeout_at(trip.deadline):
                # An append that came before the one it follows goes again as soon as that one is stored.
                if isinstance(error, OutOfOrder) and trip.predecessor is not None:
                    if not await asyncio.shield(trip.predecessor):
                        return False
                    if failures == 1:
                        return True
                await asyncio.sleep(self._options.retry_pause(failures))
        except TimeoutError:
            return False
        return True


def _error(info: ErrorInfo | None) -> RunlaneError:
    if info is None:
        return ContractError("the outcome holds neither a result nor an error", code="empty_outcome")
    return from_info(info)
