"""Runs the Python blocks of a documentation page: all blocks of a page share one namespace."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from runlane.client import MemoryStore

DOCS = Path(__file__).parents[2] / "docs"

_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def pages() -> list[Path]:
    """Every page that holds an example; a block that must not be run is not marked `python`."""
    return [page for page in sorted(DOCS.glob("*.md")) if _BLOCK.search(page.read_text())]


def blocks(page: Path) -> Iterator[tuple[int, str]]:
    """The examples of a page with the line that each begins at."""
    text = page.read_text()
    for block in _BLOCK.finditer(text):
        yield text.count("\n", 0, block.start(1)), block[1]


async def run_page(page: Path) -> dict[str, Any]:
    """Run a page from top to bottom with an empty `store`; `await` may stand at the top level."""
    namespace: dict[str, Any] = {"__name__": f"docs.{page.stem}", "store": MemoryStore()}
    for line, source in blocks(page):
        code = compile("\n" * line + source, str(page), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        result = eval(code, namespace)
        if inspect.isawaitable(result):
            await result
    return namespace
