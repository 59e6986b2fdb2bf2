"""Instants as the contract counts them: aware, in microseconds, compared by instant (contract 0, 1.1)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND: Final = 1_000_000
_DAY_SECONDS: Final = 86_400
_MILLISECOND: Final = 1_000


def micros(instant: datetime) -> int:
    """Return the microseconds since 1970-01-01 UTC of an aware instant."""
    delta = instant - EPOCH
    return (delta.days * _DAY_SECONDS + delta.seconds) * _SECOND + delta.microseconds


def to_utc(instant: datetime) -> datetime:
    """Return the same instant in UTC."""
    return instant if instant.tzinfo is UTC else instant.astimezone(UTC)


def parse_utc(text: str) -> datetime | None:
    """Return the instant that an ISO 8601 text spells in UTC, None for any other text."""
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        return None
    return instant if instant.tzinfo is UTC else None


def time_fault(instant: datetime) -> str:
    """Return the code of the rule that ``instant`` breaks, or an empty string.

    A time without a zone means another instant on each machine; one that leaves the years 1 to 9999 in UTC
    can't be stored.
    """
    if instant.tzinfo is UTC:
        return ""
    if instant.utcoffset() is None:
        return "time_without_zone"
    try:
        instant.astimezone(UTC)
    except OverflowError:
        return "time_out_of_range"
    return ""


def is_whole_millisecond(instant: datetime) -> bool:
    """Whether an aware instant is a whole number of milliseconds (contract 1.1)."""
    if instant.tzinfo is UTC:
        return instant.microsecond % _MILLISECOND == 0
    return micros(instant) % _MILLISECOND == 0
