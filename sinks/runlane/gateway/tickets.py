"""Tickets: a browser's ``EventSource`` sends no header, and a token does not belong into an address."""

from __future__ import annotations

import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from runlane.contract.errors import NotPermitted
from runlane.gateway.auth import Principal

TICKET_SECONDS: Final = 60
_MAX_TICKETS: Final = 10_000


class TicketBook:
    """The tickets of one process: each lets its holder's principal in once, within a minute."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._tickets: OrderedDict[str, tuple[float, Principal]] = OrderedDict()

    def issue(self, principal: Principal) -> str:
        """Return a fresh ticket; of too many the oldest are void."""
        now = self._clock()
        while self._tickets and (len(self._tickets) >= _MAX_TICKETS or self._oldest() <= now):
            self._tickets.popitem(last=False)
        ticket = secrets.token_urlsafe(32)
        self._tickets[ticket] = (now + TICKET_SECONDS, principal)
        return ticket

    def redeem(self, ticket: str) -> Principal:
        """Return whose ticket it is, and void it; ``NotPermitted`` (unauthorized) for one that is no more."""
        until, principal = self._tickets.pop(ticket, (0.0, None))
        if principal is None or until <= self._clock():
            raise NotPermitted("this ticket is used, too old, or none", code="unauthorized")
        return principal

    def _oldest(self) -> float:
        return next(iter(self._tickets.values()))[0]
