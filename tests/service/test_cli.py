"""How a command ends: its exit code, its message, and nothing that it should not say."""

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import click
import pytest

from runlane.contract.errors import (
    FatalKafkaError,
    JournalFault,
    OutcomeUnknown,
    RunConflict,
    SchemaDrift,
    SettingsError,
    TopicMismatch,
    Unavailable,
    UnsafeEngine,
)
from runlane.service.cli import checks
from runlane.service.cli.main import LazyGroup, run
from runlane.service.exits import Exit
from runlane.service.signals import Stopped
from runlane.service.verify import MEMORY, Fault, Report

Raising = Callable[[BaseException], int]


@pytest.fixture
def raising(monkeypatch: pytest.MonkeyPatch) -> Raising:
    def ends_with(failure: BaseException) -> int:
        def fail() -> None:
            raise failure

        command = click.Command("x", callback=fail)
        monkeypatch.setattr(LazyGroup, "get_command", lambda *_: command)
        return run(["x"])

    return ends_with


@pytest.mark.parametrize(
    ("failure", "code"),
    [
        (SettingsError("missing"), Exit.SETTINGS),
        (Unavailable("down"), Exit.UNAVAILABLE),
        (OutcomeUnknown("no answer"), Exit.UNAVAILABLE),
        (FatalKafkaError("fenced"), Exit.UNAVAILABLE),
        (SchemaDrift("altered"), Exit.STOPPED),
        (UnsafeEngine("forks"), Exit.STOPPED),
        (TopicMismatch("small"), Exit.STOPPED),
        (RunConflict("held"), Exit.FAULTS),
        (JournalFault("refused"), Exit.FAULTS),
        (Stopped(), Exit.INTERRUPTED),
        (KeyboardInterrupt(), Exit.INTERRUPTED),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
def test_each_failure_has_its_exit_code(
    raising: Raising, capsys: pytest.CaptureFixture[str], failure: BaseException, code: Exit
) -> None:
    assert raising(failure) == code
    assert str(failure) in capsys.readouterr().err


def test_an_unforeseen_fault_says_where_but_not_what(
    raising: Raising, capsys: pytest.CaptureFixture[str]
) -> None:
    assert raising(ValueError('{"secret": 1}')) == Exit.INTERNAL

    said = capsys.readouterr().err
    assert "ValueError" in said
    assert "test_cli.py" in said
    assert "secret" not in said


@pytest.mark.parametrize(
    "arguments", [["nothing"], ["verify", "--nothing"], ["tail"], ["tail", "r", "--session", "s"]]
)
def test_a_wrong_command_line_is_a_usage_error(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == Exit.USAGE
    assert "Usage: runlane" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["owner", "gateway", "topics", "verify", "migrate", "rejected", "rebuild"])
def test_a_command_without_its_settings_says_which(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for setting in ("KAFKA", "CLICKHOUSE", "OWNER_KEY"):
        monkeypatch.delenv(f"RUNLANE_{setting}", raising=False)

    assert run([name]) == Exit.SETTINGS
    assert "RUNLANE_" in capsys.readouterr().err


def test_verify_of_an_empty_folder_is_a_fault_not_a_pass(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["verify", "--data", str(tmp_path)]) != Exit.OK
    assert capsys.readouterr().out == ""


def test_verify_prints_the_run_of_a_fault_of_memory(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    report = Report(memory_blocks=4, memory_events=9)
    report.add(Fault("rows_missing", "why", 1, 3, "an agent\nr\x1b", MEMORY))
    monkeypatch.setattr(checks, "open_journal", lambda *_: nullcontext())
    monkeypatch.setattr(checks, "verify_journal", lambda *_: report)

    assert run(["verify", "--data", str(tmp_path)]) == Exit.FAULTS
    said = capsys.readouterr()
    assert "memory partition 1 block 3 agent an agent run r\\u001b  why" in said.out
    assert "4 blocks of memory, 9 events; 1 faults" in said.err


def test_help_and_version_end_well(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == Exit.OK
    assert run(["--version"]) == Exit.OK
    assert "adopt-log" in capsys.readouterr().out
