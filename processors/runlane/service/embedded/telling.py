"""Keeps a scripted agent session going: `runlane up --demo`."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import structlog

from runlane.client import RunStore
from runlane.contract.errors import RunlaneError
from runlane.service.demo import Names, Step, play, scripted_session

_STEP_SECONDS: Final = 0.4
_SESSION_SECONDS: Final = 3.0


def new_names(now: datetime) -> Names:
    """Return names that no telling had before."""
    return Names(f"demo-{now:%Y%m%d-%H%M%S}")


def whole_second() -> datetime:
    """Return the time of a telling: this second, so that its records are whole milliseconds."""
    return datetime.now(UTC).replace(microsecond=0)


class Telling:
    """Tells session after session to the stack, slowly, from entering to leaving."""

    def __init__(self, connection_file: Path, on_session: Callable[[Names], None]) -> None:
        self._file = connection_file
        self._on_session = on_session
        self._thread = threading.Thread(target=self._run, name="demo")
        self._loop = asyncio.new_event_loop()
        self._task: asyncio.Task[None] | None = None

    def __enter__(self) -> Self:
        """Begin to tell."""
        self._task = self._loop.create_task(self._tell())
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Break off."""
        assert self._task is not None, "left without entering"
        self._loop.call_soon_threadsafe(self._task.cancel)
        self._thread.join()

    def _run(self) -> None:
        assert self._task is not None, "the thread starts with its task"
        try:
            self._loop.run_until_complete(self._task)
        except asyncio.CancelledError:
            pass
        finally:
            self._loop.close()

    async def _tell(self) -> None:
        log = structlog.get_logger(__name__)
        async with RunStore.from_connection(self._file) as store:
            while True:
                now = whole_second()
                names = new_names(now)
                self._on_session(names)
                try:
                    await play(store, scripted_session(names, now), _slowly)
                except RunlaneError as error:
                    log.warning("the demo broke off", code=error.code)
                await asyncio.sleep(_SESSION_SECONDS)


async def _slowly(_step: Step) -> None:
    await asyncio.sleep(_STEP_SECONDS)
