"""Runs the command line as its users do: as processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

RUNLANE = str(Path(sys.executable).parent / "runlane")
PATIENCE = 180.0


def environment(**given: str) -> dict[str, str]:
    """Return this process's environment without its own settings, with ``given`` ones."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RUNLANE_")}
    return kept | {f"RUNLANE_{name}": value for name, value in given.items()}


def runlane(*arguments: str, expect: int = 0, **given: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end and check its exit code."""
    done = subprocess.run(
        [RUNLANE, *arguments],
        env=environment(**given),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == expect, (done.returncode, done.stdout[-2000:], done.stderr[-2000:])
    return done


def runlane_json(*arguments: str, expect: int = 0, **given: str) -> Any:
    """Run a command that prints one JSON value."""
    return json.loads(runlane(*arguments, "--json", expect=expect, **given).stdout)


class Process:
    """A command that runs until it is ended; its output is kept."""

    def __init__(self, *arguments: str, **given: str) -> None:
        self._command = [RUNLANE, *arguments]
        self._environment = environment(**given)
        self.lines: list[str] = []

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            self._command, env=self._environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        self._reader.join()
        assert self._process.stdout is not None
        self._process.stdout.close()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def output(self) -> str:
        return "\n".join(self.lines)

    def wait_for(self, text: str) -> str:
        """Return the first line that holds ``text``."""
        deadline = time.monotonic() + PATIENCE
        while True:
            for line in list(self.lines):
                if text in line:
                    return line
            assert self._process.poll() is None, self.output[-3000:]
            assert time.monotonic() < deadline, self.output[-3000:]
            time.sleep(0.05)

    def end(self, number: signal.Signals) -> int:
        """Send a signal and return the exit code."""
        self._process.send_signal(number)
        return self._process.wait(PATIENCE)

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.lines.append(line.rstrip("\n"))
