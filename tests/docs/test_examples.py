"""The examples of the documentation run, and what they assert holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.examples import blocks, pages, run_page


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.stem)
async def test_the_examples_of_a_page_run(page: Path) -> None:
    before = "".join(source for _, source in blocks(page))
    await run_page(page)
    assert "assert " in before, "a page shows what its examples result in"
