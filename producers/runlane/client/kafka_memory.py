"""What products keep of their agents' runs, in the store's memory (contract 9; design, Flow)."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Sequence
from typing import Final

from runlane.client.asking import Asking, Trip
from runlane.client.options import ClientOptions
from runlane.contract.errors import Unavailable
from runlane.contract.memory import (
    AppendMemory,
    DeleteMemory,
    MemoryCommand,
    MemoryEvent,
    MemoryPage,
    MemoryReader,
    MemorySnapshot,
    validate_memory,
)

_PAGE: Final = 500


class KafkaMemory:
    """Implements ``MemoryLog``: ``await store.memory.append_events("agent", "run", events)``.

    A call returns once its change is stored, so ``load_run`` shows it. A change that is not answered is
    repeated under its key, which the sink stores once. ``key`` makes an append repeatable by its caller too,
    in another process: the same key with other events is ``EventConflict``.
    """

    def __init__(self, asking: Asking, reader: MemoryReader | None, options: ClientOptions) -> None:
        self._asking = asking
        self._reader = reader
        self._options = options

    async def append_events(
        self, agent_id: str, run_id: str, events: Sequence[MemoryEvent], *, key: str = ""
    ) -> None:
        """Append all events or none; without any it does nothing. ``InvalidCommand``, ``EventConflict``.

        Raises ``Unavailable`` when nothing was sent, ``OutcomeUnknown`` when nobody answered in time.
        """
        if events:
            await self._change(AppendMemory.of(agent_id, run_id, key or uuid.uuid4().hex, events))

    async def load_run(self, agent_id: str, run_id: str) -> MemorySnapshot:
        """Return what the run remembers, an empty snapshot when it is unknown (C368); ``Unavailable``."""
        if self._reader is None:
            raise Unavailable("this store has no reader of memory", code="no_memory_reader")
        pages: list[MemoryPage] = []
        while not pages or pages[-1].next_cursor:
            cursor = pages[-1].next_cursor if pages else ""
            page = await self._reader.memory_page(agent_id, run_id, cursor, _PAGE)
            if pages and page.deleted != pages[-1].deleted:
                # What was read so far has been deleted meanwhile.
                pages.clear()
                continue
            pages.append(page)
        return MemorySnapshot(agent_id, run_id, tuple(event for page in pages for event in page.events))

    async def delete_run(self, agent_id: str, run_id: str) -> None:
        """Delete what the run remembers; what is appended afterwards is remembered anew."""
        await self._change(DeleteMemory(agent_id, run_id, uuid.uuid4().hex))

    async def _change(self, command: MemoryCommand) -> None:
        validate_memory(command)
        deadline = asyncio.get_running_loop().time() + self._options.timeout
        await self._asking.result(command.run_id, command, Trip(deadline))
