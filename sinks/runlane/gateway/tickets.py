"""Tickets: a browser's ``EventSource`` sends no header, and a token does not belong into an address."""

from __future__ import annotations

import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final, Generic, TypeVar

from runlane.contract.errors import NotPermitted

Held = TypeVar("Held")
"""What a ticket gives; hashable, as tickets are counted by it."""
TICKET_SECONDS: Final = 60
MOST_TICKETS: Final = 1_000
"""Of one holder at a time: twice the streams that one may open."""


class TicketBook(Generic[Held]):
    """The tickets of one process: each gives what it was issued for, once and within ``seconds``.

    Holders, the tokens of a gateway, are few; each has its own ``MOST_TICKETS``, so that nobody can void the
    tickets of others.
    """

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, *, seconds: float = TICKET_SECONDS
    ) -> None:
        self._clock = clock
        self._seconds = seconds
        self._ends: dict[Held, OrderedDict[str, float]] = {}

    def issue(self, held: Held) -> str:
        """Return a fresh ticket; of too many for the same the oldest are void."""
        now = self._clock()
        own = self._ends.setdefault(held, OrderedDict())
        while own and (len(own) >= MOST_TICKETS or next(iter(own.values())) <= now):
            own.popitem(last=False)
        ticket = secrets.token_urlsafe(32)
        own[ticket] = now + self._seconds
        return ticket

    def redeem(self, ticket: str) -> Held:
        """Return what it was issued for, and void it; ``NotPermitted`` (unauthorized) for a void one."""
        now = self._clock()
        for held, own in self._ends.items():
            if own.pop(ticket, now) > now:
                return held
        raise NotPermitted("this ticket is used, too old, or none", code="unauthorized")
