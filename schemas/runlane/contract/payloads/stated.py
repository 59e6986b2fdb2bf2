"""What a payload states, for those who count and show: one that they do not understand states nothing."""

from __future__ import annotations

import json
from typing import Any, cast


def stated_members(payload: bytes | str) -> dict[str, Any]:
    """Return the members of a payload that is a JSON object, none of any other."""
    try:
        value: object = json.loads(payload)
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
