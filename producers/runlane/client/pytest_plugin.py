"""Pytest fixtures that give tests a run store without any server.

Every lane is decided in this process by the same code as in production; nothing is shared between tests.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from runlane.client.memory import MemoryStore
    from runlane.client.sync import SyncRunStore


@pytest.fixture
def run_store() -> MemoryStore:
    """An empty store, usable in any event loop: ``await run_store.create_session("s", at=now)``."""
    # Loaded with the first test that needs it: pytest loads this plugin in every project.
    from runlane.client.memory import MemoryStore

    return MemoryStore()


@pytest.fixture
def sync_run_store(run_store: MemoryStore) -> Iterator[SyncRunStore]:
    """The store of ``run_store`` without ``await``: ``sync_run_store.create_session("s", at=now)``."""
    from runlane.client.sync import SyncRunStore

    with SyncRunStore(run_store) as store:
        yield store
