"""Digests that stand for content in a lane's state: a record's compared fields, a checkpoint's bytes."""

from __future__ import annotations

import hashlib
from struct import Struct
from typing import Final

from runlane.contract.times import micros
from runlane.contract.values import RunRecord

RECORD_DIGEST_BYTES: Final = 16
_HEAD: Final = Struct("<6Iq")


def record_digest(record: RunRecord) -> bytes:
    """Return 16 bytes of BLAKE2b over all that record equality compares, with lengths (contract 2.1).

    ``record`` is valid: its timestamp is set and aware. Two records are equal exactly when their digests are.
    """
    assert record.timestamp is not None, "a record is validated before its digest is taken"
    key = record.event_key.encode()
    run = record.run_id.encode()
    agent = record.agent_id.encode()
    session = record.session_id.encode()
    turn = record.turn_id.encode()
    kind = record.type.encode()
    head = _HEAD.pack(
        len(key), len(run), len(agent), len(session), len(turn), len(kind), micros(record.timestamp)
    )
    content = b"".join((head, key, run, agent, session, turn, kind, record.payload))
    return hashlib.blake2b(content, digest_size=RECORD_DIGEST_BYTES).digest()


def checkpoint_digest(data: bytes) -> bytes:
    """Return the SHA-256 of checkpoint bytes, which stands for them in a run's state."""
    return hashlib.sha256(data).digest()
