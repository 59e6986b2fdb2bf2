"""The group of all commands, and how a failure becomes a message and an exit code."""

from __future__ import annotations

import importlib
import sys
import traceback
from typing import Any, Final

import click

from runlane.contract.errors import (
    FatalKafkaError,
    KafkaNotPermitted,
    RunlaneError,
    SchemaDrift,
    SettingsError,
    TemporaryError,
    TopicMismatch,
    UnsafeEngine,
)
from runlane.service.exits import Exit
from runlane.service.signals import Stopped

COMMANDS: Final = {
    "adopt-log": ("recovery", "Accept that a partition's log is another one than its journal knows."),
    "demo": ("embedded", "Tell a scripted agent session, check what was stored, and leave."),
    "feed": ("feed", "Turn committed records into stream events and activity windows."),
    "gateway": ("roles", "Serve the read API."),
    "inspect": ("inspect", "Show chains, blocks, runs, sessions and erases of the journal."),
    "memory-sink": ("memory", "Store what products remember."),
    "migrate": ("setup", "Bring the journal's tables to this release."),
    "owner": ("roles", "Decide and commit the commands of the partitions that the group assigns."),
    "rebuild": ("recovery", "Make the derived search table anew out of the journal."),
    "rejected": ("inspect", "List refused commands and undecodable messages, newest first."),
    "repair": ("recovery", "Go on with a chain whose acknowledged last block is gone."),
    "tail": ("reads", "Print the records of a run or a session as they are committed."),
    "topics": ("setup", "Make the topics that are missing and check the ones that are there."),
    "up": ("embedded", "Run everything in one process on the embedded parts."),
    "verify": ("checks", "Scan the whole journal and report every fault."),
}
"""Each command, its module, which is imported only when the command is used, and its line in the help."""


class LazyGroup(click.Group):
    """A group that imports a command when it is needed: a gateway loads no owner, `--help` loads neither."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - the base class's signature
        """Return the names, sorted."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Return a command, or None for an unknown name."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"runlane.service.cli.{COMMANDS[cmd_name][0]}")
        found: Any = getattr(module, f"{cmd_name.replace('-', '_')}_command")
        assert isinstance(found, click.Command)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in sorted(COMMANDS.items())])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="runlane")
def cli() -> None:
    """The run store of AI-agent runtimes: Kafka in, ClickHouse as the journal.

    Settings come from RUNLANE_* variables and from the TOML file that RUNLANE_CONFIG names.
    """


def main() -> None:
    """Run the command line and leave with its exit code."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run one command and return its exit code; no exception leaves."""
    try:
        result = cli.main(arguments, prog_name="runlane", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt, Stopped):
        return Exit.INTERRUPTED
    except RunlaneError as error:
        click.echo(f"runlane: {error.message} ({error.code})", err=True)
        return exit_of(error)
    except Exception as fault:  # noqa: BLE001 - the last line of defence: a fault has an exit code of its own
        # The fault's own text may quote data, so only its kind and its place are shown.
        frames = "".join(traceback.format_tb(fault.__traceback__))
        click.echo(f"runlane: internal fault {type(fault).__name__}\n{frames}", err=True)
        return Exit.INTERNAL
    return int(result) if isinstance(result, int) else Exit.OK


def exit_of(error: RunlaneError) -> Exit:
    """Return the exit code of an error of the tree."""
    if isinstance(error, SettingsError):
        return Exit.SETTINGS
    if isinstance(error, (KafkaNotPermitted, SchemaDrift, TopicMismatch, UnsafeEngine)):
        return Exit.STOPPED
    return Exit.UNAVAILABLE if isinstance(error, (TemporaryError, FatalKafkaError)) else Exit.FAULTS
