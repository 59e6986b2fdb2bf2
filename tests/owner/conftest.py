from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.owner.stack import Journal, journal


@pytest.fixture
def held(tmp_path: Path) -> Iterator[Journal]:
    with journal(tmp_path / "journal") as opened:
        yield opened
