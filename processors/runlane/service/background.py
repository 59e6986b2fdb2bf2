"""Work on a thread of its own, and what ended it."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Protocol, Self


class Work(Protocol):
    """What runs until it is told to end."""

    def run(self) -> None:
        """Work until ``stop``; raises what cannot be gone on from."""
        ...

    def stop(self) -> None:
        """End ``run``; any thread."""
        ...


class Background:
    """Works from entering to leaving: ``with Background("feed", work) as running: running.ended.wait()``.

    ``failure`` is what ended the work before it was asked to, and ``ended`` is set then.
    """

    def __init__(self, name: str, work: Work) -> None:
        self.failure: BaseException | None = None
        self.ended = threading.Event()
        self._work = work
        self._thread = threading.Thread(target=self._run, name=name)

    def __enter__(self) -> Self:
        """Start."""
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Finish what is in hand, then end."""
        self._work.stop()
        self._thread.join()

    def check(self) -> None:
        """Raise what ended the work, if anything did."""
        if self.failure is not None:
            raise self.failure

    def _run(self) -> None:
        try:
            self._work.run()
        except BaseException as failure:  # noqa: BLE001 - the main thread raises it and chooses the exit code
            self.failure = failure
        finally:
            self.ended.set()
