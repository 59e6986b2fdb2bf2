"""The hashed requirement files are whole, say no address, and agree with pyproject.toml and each other."""

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.repository.sources import ROOT

FILES = sorted((ROOT / "requirements").glob("*.txt"))
ADDRESS = re.compile(r"://|--(index|extra-index|find-links|trusted-host)|(^|\s)@\s", re.MULTILINE)
PIN = re.compile(r"^(?P<name>[a-z0-9.-]+)==(?P<version>\S+)(?P<rest>(?:.*\\\n)+.*)", re.MULTILINE)


@cache
def pyproject() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def pins(file: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for match in PIN.finditer((ROOT / "requirements" / file).read_text()):
        found.setdefault(match["name"], set()).add(match["version"])
    return found


def group(name: str) -> list[str]:
    """The requirements of a dependency group and of those it includes."""
    lines: list[str] = []
    for entry in pyproject()["dependency-groups"][name]:
        lines += [entry] if isinstance(entry, str) else group(entry["include-group"])
    return lines


def declared(file: str) -> list[str]:
    project = pyproject()["project"]
    extras = [line for extra in project["optional-dependencies"].values() for line in extra]
    runtime: list[str] = [*project["dependencies"], *extras]
    by_file = {
        "client.txt": project["dependencies"],
        "all.txt": runtime,
        "test.txt": [*runtime, *group("test")],
        "lint.txt": group("lint"),
        "build.txt": group("build"),
    }
    return [line for line in by_file[file] if not line.startswith("runlane[")]


def test_there_is_one_file_a_purpose() -> None:
    assert [path.name for path in FILES] == ["all.txt", "build.txt", "client.txt", "lint.txt", "test.txt"]
    assert not (ROOT / "uv.lock").exists()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_pin_has_hashes_and_no_line_an_address(path: Path) -> None:
    text = path.read_text()
    entries = [line for line in text.splitlines() if re.match(r"[A-Za-z0-9]", line)]
    hashed = [match for match in PIN.finditer(text) if "--hash=sha256:" in match["rest"]]
    assert len(hashed) == len(entries) > 0
    assert ADDRESS.search(text) is None


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_pins_satisfy_pyproject(path: Path) -> None:
    pinned = pins(path.name)
    for line in declared(path.name):
        wanted = Requirement(line)
        versions = pinned.get(canonicalize_name(wanted.name), set())
        assert versions, f"{wanted.name}: run make requirements"
        assert all(wanted.specifier.contains(version) for version in versions), line


def test_files_agree_on_every_version() -> None:
    tested = pins("test.txt")
    for path in FILES:
        for name, versions in pins(path.name).items():
            assert versions <= tested.get(name, versions), f"{name} in {path.name}"


def test_a_client_installs_neither_faust_nor_a_web_server_nor_an_engine() -> None:
    assert not {"faust-streaming", "fastapi", "starlette", "uvicorn", "chdb"} & pins("client.txt").keys()
