"""The README's example runs against an embedded stack, and its commands exist."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

import pytest

from runlane.service.embedded.folder import DataFolder
from runlane.service.embedded.stack import EmbeddedStack
from tests.docs.examples import blocks

README = Path(__file__).parents[2] / "README.md"


@pytest.mark.slow
async def test_the_example_runs_as_it_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with DataFolder(tmp_path / "runlane-data") as folder, EmbeddedStack(folder):
        for line, source in blocks(README):
            code = compile("\n" * line + source, str(README), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
            result = eval(code, {"__name__": "readme"})
            if inspect.isawaitable(result):
                await result


def test_both_commands_stand_on_the_first_screen() -> None:
    first_screen = README.read_text().splitlines()[:20]

    assert any(line.startswith("make demo") for line in first_screen)
    assert any(line.startswith("make test") for line in first_screen)


def test_every_page_that_the_readme_links_exists() -> None:
    targets = re.findall(r"\]\(([^)#]+\.md)\)", README.read_text())

    assert targets
    assert [target for target in targets if not (README.parent / target).exists()] == []
