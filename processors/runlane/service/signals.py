"""SIGINT and SIGTERM as one orderly end."""

from __future__ import annotations

import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType
from typing import Final

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
_LOOK_SECONDS: Final = 1.0


class Stopped(BaseException):
    """Somebody asked this process to end; raised in the main thread, wherever it is."""


@contextmanager
def stoppable() -> Generator[None]:
    """Turn the first SIGINT or SIGTERM into ``Stopped``; the next one ends the process at once.

    Only the main thread may enter.
    """
    before = {number: signal.getsignal(number) for number in _SIGNALS}

    def stop(_number: int, _frame: FrameType | None) -> None:
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        raise Stopped

    for number in _SIGNALS:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def wait_for(ended: threading.Event) -> None:
    """Wait until ``ended`` is set, open to signals on every platform."""
    while not ended.wait(_LOOK_SECONDS):
        pass
