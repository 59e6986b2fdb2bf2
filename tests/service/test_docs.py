"""The documentation names what there is, and nothing else."""

import re
from pathlib import Path

from runlane.service.settings import Settings

DOCS = Path(__file__).parents[2] / "docs"


def test_every_setting_is_documented_with_its_default() -> None:
    rows = re.findall(r"^\| `RUNLANE_(\w+)` \|(.*?)\|", (DOCS / "configuration.md").read_text(), re.MULTILINE)

    assert {name.lower() for name, _ in rows} == set(Settings.model_fields)
    for name, default in rows:
        value = Settings.model_fields[name.lower()].default
        assert default.strip(" `") == (str(value) if isinstance(value, (str, int)) else ""), name
