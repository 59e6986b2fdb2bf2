"""Tickets: a browser's ``EventSource`` sends no header, and a token does not belong into an address."""

from __future__ import annotations

import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final, Generic, TypeVar

from runlane.contract.errors import NotPermitted

Held = TypeVar("Held")
TICKET_SECONDS: Final = 60
_MAX_TICKETS: Final = 10_000


class TicketBook(Generic[Held]):
    """The tickets of one process: each gives what it was issued for, once and within ``seconds``."""

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, *, seconds: float = TICKET_SECONDS
    ) -> None:
        self._clock = clock
        self._seconds = seconds
        self._tickets: OrderedDict[str, tuple[float, Held]] = OrderedDict()

    def issue(self, held: Held) -> str:
        """Return a fresh ticket; of too many the oldest are void."""
        now = self._clock()
        while self._tickets and (len(self._tickets) >= _MAX_TICKETS or self._oldest() <= now):
            self._tickets.popitem(last=False)
        ticket = secrets.token_urlsafe(32)
        self._tickets[ticket] = (now + self._seconds, held)
        return ticket

    def redeem(self, ticket: str) -> Held:
        """Return what it was issued for, and void it; ``NotPermitted`` (unauthorized) for a void one."""
        until, held = self._tickets.pop(ticket, (0.0, None))
        if held is None or until <= self._clock():
            raise NotPermitted("this ticket is used, too old, or none", code="unauthorized")
        return held

    def _oldest(self) -> float:
        return next(iter(self._tickets.values()))[0]
