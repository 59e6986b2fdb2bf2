"""How long ``import runlane.client`` takes above its own dependencies; the last line is JSON."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from importlib.util import find_spec
from typing import Final

TARGET_S: Final = 0.3
_RUNS: Final = 9
_WHOLE: Final = ("runlane.client", "runlane.client.store", "runlane.client.sync")
_SCRIPT: Final = """
import sys, time
begun = time.perf_counter()
for name in sys.argv[1:]:
    __import__(name)
print(time.perf_counter() - begun, *{name.partition(".")[0] for name in sys.modules})
"""


def main() -> None:
    """Import the client whole, and its dependencies alone, each in new interpreters; print the medians.

    The package loads its parts when they are first used, so ``import runlane.client`` alone takes less still.
    """
    _, loaded = _import(*_WHOLE)
    others = sorted(loaded - _import()[1] - {"runlane"} - set(sys.stdlib_module_names))
    public = [name for name in others if not name.startswith("_") and find_spec(name)]
    client = statistics.median(_import(*_WHOLE)[0] for _ in range(_RUNS))
    alone = statistics.median(_import(*public)[0] for _ in range(_RUNS))
    print(f"dependencies: {', '.join(public)}; target {TARGET_S} s or less above them")
    first = statistics.median(_import("runlane.client")[0] for _ in range(_RUNS))
    figures = {"import_s": first, "whole_s": client, "dependencies_s": alone, "above_s": client - alone}
    print(json.dumps({name: round(value, 3) for name, value in figures.items()}))


def _import(*names: str) -> tuple[float, set[str]]:
    """Return the seconds that importing modules takes in a new interpreter, and what is loaded after it."""
    command = [sys.executable, "-c", _SCRIPT, *names]
    seconds, *loaded = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    return float(seconds), set(loaded)


if __name__ == "__main__":
    main()
