"""What a run writes about itself: times, payloads and failures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from runlane.contract.errors import InvalidCommand
from runlane.contract.payloads import Failure
from runlane.contract.payloads.text import dump

Payload = bytes | str | Mapping[str, object] | Sequence[object]
"""JSON as bytes or text, taken as it is, or a value that is encoded."""

_MAX_MESSAGE_CHARACTERS = 1_000


def now() -> datetime:
    """Return this machine's time in whole milliseconds, as records carry it (contract 1.1)."""
    time = datetime.now(UTC)
    return time.replace(microsecond=time.microsecond // 1_000 * 1_000)


def payload_bytes(payload: Payload) -> bytes:
    """Return the bytes of a payload; ``InvalidCommand`` for a value that JSON cannot hold."""
    try:
        if isinstance(payload, str):
            return payload.encode()
        return payload if isinstance(payload, bytes) else dump(payload)
    except (TypeError, ValueError, RecursionError) as error:
        reason = f"the payload cannot be encoded as JSON ({type(error).__name__})"
        raise InvalidCommand(reason, code="not_encodable") from None


def failure_of(error: BaseException) -> Failure:
    """Return how an exception that ended a run is stored (contract 1.11)."""
    text = str(error)[:_MAX_MESSAGE_CHARACTERS].encode(errors="replace").decode()
    kind = "timeout" if isinstance(error, TimeoutError) else "internal"
    return Failure(message=text or type(error).__name__, kind=kind, retryable=True)
