"""What ``decide`` takes besides state and command, and what it gives back."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from runlane.contract.errors import ErrorInfo
from runlane.contract.outcomes import Result
from runlane.contract.state import NO_CHANGES, Changes


@dataclass(frozen=True, slots=True)
class Meta:
    """What the owner knows about a command and its block.

    ``now`` is the block's time in UTC. ``host_authorized`` says that the host signature is true,
    ``receipt_valid`` that the claim receipt's is.
    """

    now: datetime
    partition: int
    block: int
    host_authorized: bool = False
    receipt_valid: bool = False


class Decision(NamedTuple):
    """A result or an error, never both; a refusal or an exact retry has empty changes (G4)."""

    result: Result | None
    error: ErrorInfo | None
    changes: Changes = NO_CHANGES
