"""The command line: `runlane`."""

from runlane.service.cli.main import COMMANDS, main

__all__ = ["COMMANDS", "main"]
