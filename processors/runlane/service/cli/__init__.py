"""The command line: `runlane`."""

from runlane.service.cli.main import main

__all__ = ["main"]
