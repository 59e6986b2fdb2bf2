"""`verify`: whether the journal is sound."""

from __future__ import annotations

from pathlib import Path

import click

from runlane.service.cli.output import json_option, note, print_json
from runlane.service.exits import Exit
from runlane.service.journal import data_option, open_journal
from runlane.service.settings import load_settings
from runlane.service.verify import Fault, verify_journal


@click.command("verify")
@data_option
@json_option
def verify_command(*, data: Path | None, as_json: bool) -> int:
    """Scan the whole journal and report every fault; exits 0 only when there is none.

    It may run beside owners. It shares no code with what wrote the journal.
    """
    settings = load_settings()
    with open_journal(settings, data) as client:
        report = verify_journal(client, settings.codec())
    if as_json:
        print_json(report.as_json())
    else:
        for fault in report.faults:
            click.echo(f"{fault.code:<24} {_place(fault)}  {fault.message}")
        if report.unlisted:
            note(f"{report.unlisted} more faults are not listed")
        faults = len(report.faults) + report.unlisted
        note(f"{report.blocks} blocks, {report.commands} commands, {report.records} records, {faults} faults")
    return Exit.OK if report.sound else Exit.FAULTS


def _place(fault: Fault) -> str:
    lane = f" lane {fault.lane}" if fault.lane else ""
    return f"partition {fault.partition} block {fault.block}{lane}"
