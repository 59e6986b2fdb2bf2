"""A worker that needs only the client installs only the client."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.repository.sources import ROOT

NOT_NEEDED = ("faust", "fastapi", "starlette", "uvicorn", "chdb", "clickhouse_connect", "click")
PROBE = f"""
import importlib.util
from runlane.client import *
found = [name for name in {NOT_NEEDED!r} if importlib.util.find_spec(name)]
raise SystemExit(f"installed without need: {{found}}" if found else 0)
"""


@pytest.mark.slow
def test_the_client_imports_with_the_base_requirements_alone(tmp_path: Path) -> None:
    requirements = ROOT / "requirements"
    wheel = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation"]
    subprocess.run([*wheel, "-w", str(tmp_path), str(ROOT)], check=True)
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    python = str(tmp_path / "venv" / "bin" / "python")
    install = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    subprocess.run([*install, "--require-hashes", "-r", str(requirements / "client.txt")], check=True)
    subprocess.run([*install, "--no-deps", *map(str, tmp_path.glob("*.whl"))], check=True)
    probe = subprocess.run([python, "-c", PROBE], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert probe.returncode == 0, probe.stderr
