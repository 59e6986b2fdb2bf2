"""Writing JSON the way the contract's encoders do (contract 6.1)."""

from __future__ import annotations

import json

from runlane.transcript.canonical import escape_five


def dump(value: object) -> bytes:
    """Encode ``value`` without insignificant whitespace, keys in their order, the five characters escaped.

    The five occur only inside strings, so they are escaped in the finished text.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return escape_five(text).encode()
