"""Reads the golden vectors of the reference implementation (tests/golden)."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "golden"


def lines(file: str) -> list[dict[str, Any]]:
    with (FOLDER / file).open(encoding="utf-8") as stream:
        return [json.loads(line) for line in stream]


def exact(line: dict[str, Any], field: str) -> bytes | None:
    """The exact bytes of a field, which stand in base64 where they are not UTF-8; None where it is null."""
    if f"{field}_b64" in line:
        return base64.b64decode(line[f"{field}_b64"])
    text = line[field]
    return None if text is None else text.encode()
