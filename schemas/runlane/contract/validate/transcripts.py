"""Transcript payloads are decoded whole at the append, so that a replay can never fail (contract 0)."""

from __future__ import annotations

from runlane import transcript
from runlane.contract.validate.envelope import fail


def check_transcript(payload: bytes) -> None:
    """Refuse a transcript payload that can't be replayed; the error's code is the transcript's rule.

    The message names positions and fields of the contract only, never text of the payload.
    """
    code = message = ""
    try:
        transcript.validate_payload(payload)
    except transcript.TranscriptError as refused:
        code, message = refused.code, str(refused)
    if code:  # raised here, so that the payload does not hang on the error as its context
        raise fail(code, f"payload is not a transcript: {message}")
