"""Transcript payloads are decoded whole at the append, so that a replay can never fail (contract 0)."""

from __future__ import annotations

from runlane.contract.validate.envelope import check_json


def check_transcript(payload: bytes) -> None:
    """Refuse a transcript payload that can't be replayed; the error's code is the transcript's rule."""
    check_json(payload)
