"""The documentation names what there is, and nothing else."""

import re
from pathlib import Path

from runlane.owner.stops import ANSWERS
from runlane.service.cli import checks
from runlane.service.exits import Exit
from runlane.service.settings import Settings

DOCS = Path(__file__).parents[2] / "docs"


def test_every_setting_is_documented_with_its_default() -> None:
    rows = re.findall(r"^\| `RUNLANE_(\w+)` \|(.*?)\|", (DOCS / "configuration.md").read_text(), re.MULTILINE)

    assert {name.lower() for name, _ in rows} == set(Settings.model_fields)
    for name, default in rows:
        value = Settings.model_fields[name.lower()].default
        assert default.strip(" `") == (str(value) if isinstance(value, (str, int)) else ""), name


def test_every_stop_is_documented_with_its_answer() -> None:
    rows = re.findall(r"^\| `(\w+)` \| .*? \| (.*?) \|$", (DOCS / "operations.md").read_text(), re.MULTILINE)
    answers = dict(rows)

    for kind, answer in ANSWERS.items():
        assert answer.partition(" (")[0] in answers[kind.value], kind


def test_every_exit_code_is_documented() -> None:
    codes = re.findall(r"^\| (\d+) \| ", (DOCS / "operations.md").read_text(), re.MULTILINE)

    assert [int(code) for code in codes] == sorted(Exit)


def test_every_fault_that_verify_reports_is_documented() -> None:
    sources = Path(checks.__file__).parents[1].glob("verify/*.py")
    reported = {
        code
        for file in sources
        for code in re.findall(r'(?:fault|_fault)\(\s*(?:[\w.]+, )?"(\w+)"', file.read_text())
    }
    text = (DOCS / "operations.md").read_text()

    assert len(reported) > 30
    assert {code for code in reported if f"`{code}`" not in text} == set()
