"""Limits on files, and what the pure packages may import."""

import sys
from pathlib import Path

import pytest

from tests.repository.imports import imported_modules
from tests.repository.sources import ROOT, TREES, name_of, python_files

MOST_LINES = 500
PURE = {"strictjson", "transcript", "contract"}
ALLOWED = {"runlane", "pydantic", "pydantic_core"}
AVRO = ("schemas/runlane/contract/codec/", "schemas/runlane/contract/schemas.py")


def pure_files() -> list[Path]:
    base = ROOT / "schemas" / "runlane"
    return [
        path for path in python_files("schemas") if path.relative_to(base).with_suffix("").parts[0] in PURE
    ]


@pytest.mark.parametrize("tree", TREES)
def test_no_file_is_too_long(tree: str) -> None:
    lengths = {name_of(path): len(path.read_text().splitlines()) for path in python_files(tree)}
    assert {name: count for name, count in lengths.items() if count > MOST_LINES} == {}


@pytest.mark.parametrize("path", pure_files(), ids=name_of)
def test_a_pure_module_imports_the_standard_library_and_pydantic(path: Path) -> None:
    tops = {module.partition(".")[0] for module in imported_modules(path)} - sys.stdlib_module_names
    assert tops <= ALLOWED | ({"fastavro"} if name_of(path).startswith(AVRO) else set())
