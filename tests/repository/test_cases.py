"""Every behaviour case is covered by a test that names it."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.repository.sources import ROOT, name_of, python_files

CASE = re.compile(r"^- (C\d{3}) \[([a-z-]+)\] ", re.MULTILINE)


def cases_by_section() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for number, section in CASE.findall((ROOT / "tests" / "cases.md").read_text()):
        found.setdefault(section, []).append(number)
    return found


def marked_cases(path: Path) -> Iterator[str]:
    """Numbers in `pytest.mark.case("C014", …)`, on a test, a class, a module or one parameter set."""
    for node in ast.walk(ast.parse(path.read_text(), filename=name_of(path))):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Attribute(attr="mark"), attr="case"), args=numbers):
                for number in numbers:
                    assert isinstance(number, ast.Constant), f"{name_of(path)}:{node.lineno}: not a literal"
                    yield str(number.value)
            case _:
                pass


@cache
def covered_cases() -> set[str]:
    tests = (path for path in python_files("tests") if path.name.startswith("test_"))
    return {number for path in tests for number in marked_cases(path)}


@pytest.mark.parametrize("section", cases_by_section())
def test_every_case_has_a_test(section: str) -> None:
    missing = sorted(set(cases_by_section()[section]) - covered_cases())
    assert not missing, f"cases of {section} without a test: {', '.join(missing)}"


def test_every_marker_names_a_case() -> None:
    known = {number for numbers in cases_by_section().values() for number in numbers}
    assert covered_cases() <= known
