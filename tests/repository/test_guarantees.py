"""Each guarantee names tests that exist, and each is marked on a test."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "guarantees.md").read_text()
NAMES = [f"G{number}" for number in range(1, 11)]


def row(name: str) -> str:
    return next(line for line in PAGE.splitlines() if line.startswith(f"| {name} |"))


@pytest.mark.parametrize("name", NAMES)
def test_a_guarantee_names_tests_that_exist(name: str) -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", row(name))

    assert named
    for path, test in named:
        assert f"def {test}" in (ROOT / path).read_text()


@pytest.mark.parametrize("name", NAMES)
def test_a_guarantee_is_marked_on_a_test(name: str) -> None:
    marked = (
        path for path in (ROOT / "tests").rglob("test_*.py") if f'guarantee("{name}")' in path.read_text()
    )

    assert next(marked, None) is not None
