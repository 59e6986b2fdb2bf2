"""The documentation names what there is, and nothing else."""

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from runlane.service.cli import checks
from runlane.service.cli.main import COMMANDS, cli
from runlane.service.exits import Exit
from runlane.service.settings import Settings
from runlane.store.stops import ANSWERS

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


def commands(group: click.Group, prefix: str = "runlane") -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield f"{prefix} {name}", command


@pytest.mark.parametrize(("name", "command"), list(commands(cli)))
def test_every_command_is_documented_with_its_options(name: str, command: click.Command) -> None:
    text = (DOCS / "cli.md").read_text()
    (section,) = re.findall(rf"^### `{name}\b.*?(?=^##|\Z)", text, re.MULTILINE | re.DOTALL)
    inner = [one for _, one in commands(command)] if isinstance(command, click.Group) else [command]

    for one in inner:
        assert one.help
        options = {long for option in one.params for long in option.opts if long.startswith("--")}
        assert {option for option in options if option not in section} == set()


def test_a_command_that_reads_has_json() -> None:
    writes = {"runlane up", "runlane owner", "runlane gateway", "runlane feed", "runlane memory-sink"}

    for name, command in commands(cli):
        inner = commands(command, name) if isinstance(command, click.Group) else [(name, command)]
        for full, one in inner:
            assert full in writes or any("--json" in option.opts for option in one.params), full


def test_the_help_lists_every_command_with_its_own_words() -> None:
    for name, command in commands(cli):
        (_, line) = COMMANDS[name.removeprefix("runlane ")]
        assert line.endswith("."), name
        assert command.help, name
