"""Identifiers and lane keys (contract 0 and 1.1; design, Words)."""

from __future__ import annotations

import unicodedata

from runlane.contract.errors import InvalidCommand
from runlane.contract.limits import MAX_ID_BYTES

SESSION_PREFIX = "s/"
RUN_PREFIX = "r/"


def id_fault(value: str) -> str:
    """Return the code of the rule that ``value`` breaks as an identifier, or an empty string.

    An identifier is 1 to 256 UTF-8 bytes, printable, without control characters, NFC. Absence is not judged.
    """
    if value.isascii():
        if len(value) > MAX_ID_BYTES:
            return "id_too_long"
        return "" if value.isprintable() else "id_not_printable"
    try:
        encoded = value.encode("utf-8")
    except UnicodeEncodeError:
        return "id_not_unicode"
    if len(encoded) > MAX_ID_BYTES:
        return "id_too_long"
    if not value.isprintable():
        return "id_not_printable"
    return "" if unicodedata.is_normalized("NFC", value) else "id_not_nfc"


def plainly_valid(*values: str) -> bool:
    """Whether each identifier is valid or absent, told by one look at all; False says nothing of them."""
    text = "".join(values)
    return len(text) <= MAX_ID_BYTES and text.isascii() and text.isprintable()


def check_id(value: str, field: str) -> None:
    """Raise ``InvalidCommand`` when a present identifier breaks a rule; ``field`` names it in the message."""
    fault = id_fault(value)
    if fault:
        raise InvalidCommand(f"{field} is not a valid identifier", code=fault)


def session_lane(session_id: str) -> str:
    """Return the lane of a session with all its runs."""
    return SESSION_PREFIX + session_id


def run_lane(run_id: str) -> str:
    """Return the lane of a sessionless root run, which also holds the claim of ``run_id``."""
    return RUN_PREFIX + run_id


def lane_session(lane: str) -> str:
    """Return the session id of an ``s/`` lane, empty for an ``r/`` lane."""
    return lane[len(SESSION_PREFIX) :] if lane.startswith(SESSION_PREFIX) else ""


def lane_fault(lane: str) -> str:
    """Return the code of the rule that ``lane`` breaks as a lane key, or an empty string."""
    if not lane.startswith((SESSION_PREFIX, RUN_PREFIX)):
        return "lane_prefix"
    name = lane[2:]
    return id_fault(name) if name else "lane_empty"
