"""The seam between the store and what carries its commands: Kafka, or the lanes of this process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeAlias

from runlane.contract.commands import Command
from runlane.contract.errors import RunlaneError
from runlane.contract.memory import MemoryCommand
from runlane.contract.outcomes import Outcome

Sent: TypeAlias = "Command | MemoryCommand"
"""What is sent and answered: commands to the owners, in lanes, and to the memory sink, in runs."""


@dataclass(frozen=True, slots=True)
class Letter:
    """A command sealed for one lane: repeating it sends the very same bytes under the same correlation id.

    ``partition`` and ``size`` say what it takes of the bounds in flight; ``body`` is the transport's own.
    """

    lane: str
    correlation_id: str
    command: Sent
    partition: int
    size: int
    body: bytes = b""


class Listener(Protocol):
    """What a transport tells; every call but ``waits_for`` comes on the event loop of the store."""

    def waits_for(self, correlation_id: str) -> bool:
        """Whether an outcome is still wanted; safe to call from any thread."""
        ...

    def answered(self, outcome: Outcome) -> None:
        """Take an outcome: it may be late, doubled, or belong to nobody."""
        ...

    def failed(self, correlation_id: str, error: RunlaneError) -> None:
        """Take notice that a letter was not delivered, or that nobody knows."""
        ...

    def moved(self) -> None:
        """Take notice that commands now go to another log: open ones have to be sent again."""
        ...


class Transport(Protocol):
    """Carries letters to the owners and their outcomes back."""

    async def open(self, listener: Listener) -> None:
        """Connect; outcomes sent from now on reach ``listener``. Raises ``Unavailable``."""
        ...

    async def close(self) -> None:
        """Let go of everything; no call of the listener follows."""
        ...

    def seal(self, lane: str, command: Sent, correlation_id: str) -> Letter:
        """Return the letter; ``InvalidCommand`` when it is too large to be sent at all."""
        ...

    def send(self, letter: Letter) -> None:
        """Send without waiting, behind all sent before; ``TemporaryError`` when it cannot be taken now."""
        ...

    def send_delta(self, lane: str, body: bytes) -> None:
        """Send an encoded delta, or drop it when it cannot be sent now."""
        ...
