from collections.abc import AsyncIterator

import pytest

from runlane.gateway.live import board
from tests.gateway.live.world import World, serve


@pytest.fixture
async def world(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[World]:
    # A second look of the runs list at the search would come between what a slow test does.
    monkeypatch.setattr(board, "_LAG_SECONDS", 600.0)
    async with serve(World()) as served:
        yield served
