"""The feed of an embedded stack, a process of its own: it is busy in Python, and owners want that time.

It reaches the stack as any other process does, and ends with it: its input is a pipe that closes then.
"""

from __future__ import annotations

import importlib.util
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Final, Self

import httpx2
import structlog

from runlane.service.cli.main import run
from runlane.service.exits import Exit
from runlane.service.health import Faults
from runlane.service.settings import PREFIX

_LOOK_SECONDS: Final = 1.0
_STOP_SECONDS: Final = 15.0
_FIRST_PAUSE: Final = 1.0
_LONGEST_PAUSE: Final = 30.0
_SOUND_SECONDS: Final = 60.0
"""A feed that ran so long was well; that it ended has nothing to do with how the ones before it ended."""
_STARTING: Final = {"feed": "it is starting"}


def feed_installed() -> bool:
    """Whether the extra `faust` is there."""
    return importlib.util.find_spec("faust") is not None


class FeedProcess:
    """Keeps a feed running from entering to leaving; ``settings`` are its own, by name without prefix."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}
        self._environment = kept | {f"{PREFIX}{name}": value for name, value in settings.items()}
        self._leaving = threading.Event()
        self._faults: Faults = _STARTING
        self._thread = threading.Thread(target=self._keep, name="feed-keeper")

    def __enter__(self) -> Self:
        """Start it."""
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End it in the orderly way."""
        self._leaving.set()
        self._thread.join()

    def faults(self) -> Faults:
        """Say what the feed said when it was last asked."""
        return self._faults

    def _keep(self) -> None:
        log, pause = structlog.get_logger(__name__), _FIRST_PAUSE
        while not self._leaving.is_set():
            begun = time.monotonic()
            code = self._run_once()
            if code is None:
                return
            self._faults = {"feed": f"it ended with exit code {code}"}
            log.warning("the feed ended and is started again", exit_code=code)
            if time.monotonic() - begun >= _SOUND_SECONDS:
                pause = _FIRST_PAUSE
            self._leaving.wait(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _run_once(self) -> int | None:
        """Run the feed; return the code that it ended with by itself, None when it was told to end."""
        address = f"127.0.0.1:{_free_port()}"
        environment = self._environment | {f"{PREFIX}METRICS_LISTEN": address}
        process = subprocess.Popen(  # noqa: S603 - our own module
            [sys.executable, "-m", __name__],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
        )
        try:
            return self._watch(process, f"http://{address}")
        finally:
            _end(process)

    def _watch(self, process: subprocess.Popen[bytes], probes: str) -> int | None:
        # One client for all looks: each new one would load the system's certificates.
        with httpx2.Client(base_url=probes, timeout=_LOOK_SECONDS, trust_env=False) as client:
            while not self._leaving.wait(_LOOK_SECONDS):
                code = process.poll()
                if code is not None:
                    return code
                self._faults = _ask(client)
        return None


def _ask(client: httpx2.Client) -> Faults:
    try:
        faults: Faults = client.get("/readyz").json()["faults"]
    except httpx2.HTTPError:
        return _STARTING
    return faults


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdin is not None:
        process.stdin.close()


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _main() -> int:
    """Be the feed, for as long as the input is open."""

    def watch() -> None:
        # Not through the buffer, whose lock a thread must not hold when the interpreter ends.
        while os.read(sys.stdin.fileno(), 4_096):
            pass
        # Broker and journal went with the stack, so there is nothing left to finish.
        os._exit(Exit.UNAVAILABLE)

    threading.Thread(target=watch, daemon=True).start()
    return run(["feed"])


if __name__ == "__main__":
    sys.exit(_main())
