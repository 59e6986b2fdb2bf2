"""Open commands and their outcomes: sent again until answered, each answered once."""

from __future__ import annotations

import asyncio
import itertools
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field

from runlane.client.describe import describe
from runlane.client.options import ClientOptions
from runlane.client.room import Room
from runlane.client.transport import Letter, Sent, Transport
from runlane.contract.errors import (
    ContractError,
    OutcomeUnknown,
    Overloaded,
    RunlaneError,
    TemporaryError,
    Unavailable,
)
from runlane.contract.outcomes import Outcome


@dataclass(slots=True)
class _Open:
    letter: Letter
    answer: asyncio.Future[Outcome]
    sends: int = 0
    failures: int = 0
    fault: str = ""
    timer: asyncio.TimerHandle | None = field(default=None)

    def still(self) -> None:
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None


class Exchange:
    """Asks owners over a transport: ``outcome = await exchange.ask(lane, command, deadline)``.

    A command whose outcome does not come is repeated with the same bytes and the same correlation id, so
    that the outcome of any of its sends answers it; the future of a command is resolved once, whatever
    arrives later.
    """

    def __init__(self, transport: Transport, options: ClientOptions) -> None:
        self._transport = transport
        self._options = options
        self._room = Room(options.max_bytes_in_flight, options.max_partition_bytes)
        self._open: dict[str, _Open] = {}
        # Ids of one process never meet those of another on the shared outcomes partition.
        self._prefix = secrets.token_hex(8)
        self._numbers = itertools.count(1)

    async def start(self) -> None:
        """Open the transport; raises ``Unavailable``."""
        await self._transport.open(self)

    async def stop(self) -> None:
        """Close the transport; whoever still waits gets ``OutcomeUnknown``."""
        await self._transport.close()
        for entry in self._open.values():
            entry.still()
            if not entry.answer.done():
                entry.answer.set_exception(self._no_answer(entry, "the store was closed"))

    async def ask(
        self, lane: str, command: Sent, deadline: float, *, on_sent: Callable[[], None] | None = None
    ) -> Outcome:
        """Return the command's outcome, whatever it says; ``on_sent`` is called once the first bytes are off.

        ``deadline`` is a time of the running loop. Raises ``InvalidCommand`` for a command that is too
        large, ``Overloaded`` when it found no room in flight, ``Unavailable`` or ``KafkaNotPermitted`` when
        it was never sent, ``OutcomeUnknown`` when it was sent and not answered.
        """
        letter = self._transport.seal(lane, command, f"{self._prefix}-{next(self._numbers)}")
        try:
            async with asyncio.timeout_at(deadline):
                await self._room.enter(letter.partition, letter.size)
        except TimeoutError:
            reason = f"{describe(command)}: not sent, too many bytes are in flight"
            raise Overloaded(reason, code="client_overloaded") from None
        entry = _Open(letter, asyncio.get_running_loop().create_future())
        self._open[letter.correlation_id] = entry
        try:
            self._send(entry)
            if on_sent is not None:
                on_sent()
            # A process that was held up finds the answer and the end of its time in the same moment.
            await asyncio.wait([entry.answer], timeout=deadline - asyncio.get_running_loop().time())
            if not entry.answer.done():
                raise self._no_answer(entry, "no answer came in time")
            return entry.answer.result()
        finally:
            entry.still()
            del self._open[letter.correlation_id]
            self._room.leave(letter.partition, letter.size)

    def answered(self, outcome: Outcome) -> None:
        """Resolve the command that the outcome belongs to; a late or doubled one changes nothing."""
        entry = self._open.get(outcome.correlation_id)
        if entry is not None and not entry.answer.done():
            entry.still()
            entry.answer.set_result(outcome)

    def waits_for(self, correlation_id: str) -> bool:
        """Whether the command of this correlation id is open."""
        return correlation_id in self._open

    def failed(self, correlation_id: str, error: RunlaneError) -> None:
        """Send an open command again after a pause, unless the broker refuses it for good."""
        entry = self._open.get(correlation_id)
        if entry is None or entry.answer.done():
            return
        if isinstance(error, ContractError):
            self._refuse(entry, error, earlier=entry.sends > 1)
        else:
            entry.fault = error.code
            self._pause(entry)

    def moved(self) -> None:
        """Send every open command again, in the order of their first sends."""
        for entry in list(self._open.values()):
            if not entry.answer.done():
                self._send(entry)

    def _send(self, entry: _Open) -> None:
        entry.still()
        try:
            self._transport.send(entry.letter)
        except TemporaryError as error:
            entry.fault = error.code
            self._pause(entry)
            return
        except ContractError as error:
            self._refuse(entry, error, earlier=entry.sends > 0)
            return
        entry.sends += 1
        if not entry.answer.done():
            self._send_later(entry, self._options.answer_pause(entry.sends))

    def _refuse(self, entry: _Open, error: ContractError, *, earlier: bool) -> None:
        """Give up. What an earlier send may have brought to an owner is unknown, and no refusal."""
        entry.still()
        entry.fault = error.code
        entry.answer.set_exception(self._no_answer(entry, "no answer came") if earlier else error)

    def _pause(self, entry: _Open) -> None:
        entry.still()
        entry.failures += 1
        self._send_later(entry, self._options.retry_pause(entry.failures))

    def _send_later(self, entry: _Open, pause: float) -> None:
        entry.timer = asyncio.get_running_loop().call_later(pause, self._send, entry)

    def _no_answer(self, entry: _Open, cause: str) -> TemporaryError:
        what = describe(entry.letter.command)
        if entry.fault:
            cause = f"{cause} ({entry.fault})"
        if not entry.sends:
            return Unavailable(f"{what}: not sent, {cause}", code="broker_unavailable")
        return OutcomeUnknown(
            f"{what}: {cause} after {entry.sends} sends; it may or may not be committed, an exact retry tells"
        )
