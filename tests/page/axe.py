"""What axe objects to in an open page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

AXE = Path(__file__).parent / "node_modules" / "axe-core" / "axe.min.js"
SCHEMES = ("light", "dark")


def violations(page: Any) -> list[str]:
    """Rule and elements of each violation."""
    if not AXE.exists():
        pytest.skip("axe-core is not installed: run npm ci in tests/page")
    page.evaluate(AXE.read_text())
    found: list[str] = page.evaluate(
        """axe.run().then((r) => r.violations.flatMap((v) =>
             v.nodes.map((n) => `${v.id}: ${n.target} ${n.html.slice(0, 160)} ${n.failureSummary}`)))"""
    )
    return found
