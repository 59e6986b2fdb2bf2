"""A store with a running run `run` and its running child `child` in an active session."""

import pytest

from runlane.client import MemoryStore
from tests.client.scripted import NOW
from tests.recovery.doubles import Meddled, child, root


@pytest.fixture
async def store() -> MemoryStore:
    store = MemoryStore()
    await store.create_session("session", NOW)
    await store.execute(root())
    await store.execute(child())
    return store


@pytest.fixture
def meddled(store: MemoryStore) -> Meddled:
    return Meddled(store)
