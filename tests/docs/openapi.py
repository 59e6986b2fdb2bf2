"""Writes docs/openapi.json: `python -m tests.docs.openapi`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

from runlane.client import MemoryStore
from runlane.contract.memory import MemoryReader
from runlane.gateway import Access, Activity, Live, Parts, Role, Token, create_app
from tests.gateway.live.world import MemoryHistory, Shares, Topic

FILE = Path(__file__).parents[2] / "docs" / "openapi.json"


def document() -> dict[str, Any]:
    """The OpenAPI document of a gateway with everything that it can serve."""
    store = MemoryStore()
    live = Live(Topic(), MemoryHistory(store), store)
    activity = Activity(Shares())
    parts = Parts(streams=live, activity=activity, host=store, memory=cast("MemoryReader", object()))
    return create_app(store, Access((Token("x", Role.WORKER),)), parts=parts).openapi()


def text() -> str:
    """The file as it must be."""
    return json.dumps(document(), indent=1, ensure_ascii=False, sort_keys=True) + "\n"


if __name__ == "__main__":
    FILE.write_text(text())
