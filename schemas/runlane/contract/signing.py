"""Signatures of host commands and of claim receipts: HMAC-SHA-256 under named keys.

A Kafka consumer never sees who wrote a message, so a host command proves itself by a signature over its key
and body, and a start proves its claim by the owners' signature (design, Who may do what).
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from runlane.contract.commands import ClaimReceipt

MIN_SECRET_BYTES: Final = 16
_KEY_ID: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")
# No host message starts like this: its first four bytes are the length of a key.
_RECEIPT_DOMAIN: Final = b"runlane.claim_receipt.1\x00"


@dataclass(frozen=True, slots=True)
class Key:
    """A named secret of at least 16 bytes; ``id`` is 1 to 64 letters, digits, ``.``, ``_`` or ``-``."""

    id: str
    secret: bytes = field(repr=False)

    def __post_init__(self) -> None:
        if not _KEY_ID.fullmatch(self.id):
            raise ValueError("a key id is 1 to 64 letters, digits, dots, underscores or hyphens")
        if len(self.secret) < MIN_SECRET_BYTES:
            raise ValueError(f"key {self.id} has a secret of fewer than {MIN_SECRET_BYTES} bytes")

    def mac(self, message: bytes) -> bytes:
        """Return the HMAC-SHA-256 of ``message``."""
        return hmac.digest(self.secret, message, hashlib.sha256)


def parse_key(text: str) -> Key:
    """Return the key that a setting writes as ``id:secret``, or as a secret alone, whose id is ``main``.

    Raises ``ValueError``, whose text holds no part of the secret.
    """
    key_id, separator, secret = text.partition(":")
    return Key(key_id, secret.encode()) if separator else Key("main", text.encode())


class Keyring:
    """Keys of one purpose: the first signs, all verify, so that a key can be replaced in use."""

    def __init__(self, keys: Sequence[Key]) -> None:
        if len({key.id for key in keys}) != len(keys) or not keys:
            raise ValueError("a keyring holds at least one key, each with an id of its own")
        self._signer = keys[0]
        self._keys = {key.id: key for key in keys}

    def sign_host(self, key: bytes, body: bytes) -> str:
        """Return the header ``signature`` of a host command with that message key and body."""
        return f"{self._signer.id}:{self._signer.mac(_host_message(key, body)).hex()}"

    def verify_host(self, key: bytes, body: bytes, signature: str | None) -> bool:
        """Whether ``signature`` is one of our keys' over that message key and body; never raises."""
        key_id, _, mac = (signature or "").partition(":")
        known = self._keys.get(key_id)
        if known is None or not mac.isascii():
            return False
        return hmac.compare_digest(known.mac(_host_message(key, body)).hex(), mac)

    def sign_receipt(self, receipt: ClaimReceipt) -> ClaimReceipt:
        """Return ``receipt`` with this ring's key id and signature."""
        return replace(receipt, key_id=self._signer.id, mac=self._signer.mac(_receipt_message(receipt)))

    def verify_receipt(self, receipt: ClaimReceipt | None) -> bool:
        """Whether one of our keys signed exactly this claim; False for None."""
        known = None if receipt is None else self._keys.get(receipt.key_id)
        if receipt is None or known is None:
            return False
        return hmac.compare_digest(known.mac(_receipt_message(receipt)), receipt.mac)


def _sized(part: bytes) -> bytes:
    return len(part).to_bytes(4, "big") + part


def _host_message(key: bytes, body: bytes) -> bytes:
    return _sized(key) + body


def _receipt_message(receipt: ClaimReceipt) -> bytes:
    parts = (receipt.run_id, receipt.lane, str(receipt.partition), str(receipt.block))
    return _RECEIPT_DOMAIN + b"".join(_sized(part.encode()) for part in parts)
