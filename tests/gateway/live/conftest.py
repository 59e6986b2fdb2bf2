from collections.abc import AsyncIterator

import pytest

from tests.gateway.live.world import World, serve


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with serve(World()) as served:
        yield served
