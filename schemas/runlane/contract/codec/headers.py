"""Message headers: the schema's name, and where a command's answer goes, readable without decoding a body.

Every message has ``schema``. A command also has ``correlation`` and ``reply``, a host's command
``signature``; an outcome has ``correlation``; a committed record has ``lane_seq``. Reading never raises: a
broken header reads as absent.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from runlane.contract.schemas import COMMAND, COMMITTED_RECORD, OUTCOME, history

SCHEMA: Final = "schema"
CORRELATION: Final = "correlation"
REPLY: Final = "reply"
SIGNATURE: Final = "signature"
LANE_SEQ: Final = "lane_seq"

MAX_CORRELATION_BYTES: Final = 64
MAX_SIGNATURE_BYTES: Final = 256
_MAX_DIGITS: Final = 19

Headers = list[tuple[str, bytes]]
RawHeaders = Sequence[tuple[str, bytes | str | None]] | None

_COMMAND_SCHEMA: Final = history(COMMAND).current.label.encode()
_OUTCOME_SCHEMA: Final = history(OUTCOME).current.label.encode()
_MEMORY_SCHEMA: Final = b"runlane.memory.v1"
_RECORD_SCHEMA: Final = history(COMMITTED_RECORD).current.label.encode()


class CommandHeaders(NamedTuple):
    """What a command's headers say; without correlation id or reply partition nobody can be told."""

    correlation_id: str
    reply_partition: int | None
    signature: str | None


def command_headers(correlation_id: str, reply_partition: int, signature: str | None = None) -> Headers:
    """Return the headers of a command; ``signature`` as ``Keyring.sign_host`` made it.

    Raises ``ValueError`` unless the correlation id is 1 to 64 printable ASCII characters and the partition
    is not negative.
    """
    correlation = correlation_id.encode()
    if not _correlation(correlation) or reply_partition < 0:
        raise ValueError("a command needs a correlation id and a reply partition")
    headers = [(SCHEMA, _COMMAND_SCHEMA), (CORRELATION, correlation), (REPLY, b"%d" % reply_partition)]
    if signature is not None:
        headers.append((SIGNATURE, signature.encode()))
    return headers


def memory_headers(correlation_id: str, reply_partition: int) -> Headers:
    """Return the headers of a message to the memory sink; ``ValueError`` as of ``command_headers``."""
    return [(SCHEMA, _MEMORY_SCHEMA), *command_headers(correlation_id, reply_partition)[1:]]


def parse_command_headers(headers: RawHeaders) -> CommandHeaders:
    """Return what the headers of a command say; never raises."""
    found = _last_of_each(headers)
    signature = _ascii(found[SIGNATURE], MAX_SIGNATURE_BYTES) if SIGNATURE in found else ""
    return CommandHeaders(_correlation(found.get(CORRELATION)), _number(found.get(REPLY)), signature or None)


def outcome_headers(correlation_id: str) -> Headers:
    """Return the headers of an outcome, by which the waiting client knows it."""
    return [(SCHEMA, _OUTCOME_SCHEMA), (CORRELATION, correlation_id.encode())]


def outcome_correlation(headers: RawHeaders) -> str:
    """Return the correlation id of an outcome's headers, empty when there is none; never raises."""
    return _correlation(_last_of_each(headers).get(CORRELATION))


def record_headers(lane_seq: int) -> Headers:
    """Return the headers of a committed record, by which a reader drops what it has seen."""
    return [(SCHEMA, _RECORD_SCHEMA), (LANE_SEQ, b"%d" % lane_seq)]


def record_lane_seq(headers: RawHeaders) -> int | None:
    """Return the lane_seq of a committed record's headers, None when there is none; never raises."""
    return _number(_last_of_each(headers).get(LANE_SEQ))


def _last_of_each(headers: RawHeaders) -> dict[str, bytes | str | None]:
    return dict(headers) if headers else {}


def _ascii(value: bytes | str | None, limit: int) -> str:
    """Return ``value`` when it is 1 to ``limit`` printable ASCII characters, else an empty string."""
    if not value or len(value) > limit or not value.isascii():
        return ""
    text = value if isinstance(value, str) else value.decode("ascii")
    return text if text.isprintable() else ""


def _correlation(value: bytes | str | None) -> str:
    return _ascii(value, MAX_CORRELATION_BYTES)


def _number(value: bytes | str | None) -> int | None:
    text = _ascii(value, _MAX_DIGITS)
    return int(text) if text.isdecimal() else None
