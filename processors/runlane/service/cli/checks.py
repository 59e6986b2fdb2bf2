"""`verify`: whether the journal and the memory beside it are sound."""

from __future__ import annotations

from pathlib import Path

import click

from runlane.service.cli.output import json_option, note, plain, print_json
from runlane.service.exits import Exit
from runlane.service.journal import data_option, open_journal
from runlane.service.settings import load_settings
from runlane.service.verify import MEMORY, Fault, verify_journal


@click.command("verify")
@data_option
@json_option
def verify_command(*, data: Path | None, as_json: bool) -> int:
    """Scan the whole journal and memory and report every fault; exits 0 only when there is none.

    It may run beside owners and memory sinks. It shares no code with what wrote the tables.
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
        note(f"{report.blocks} blocks, {report.commands} commands, {report.records} records")
        note(f"{report.memory_blocks} blocks of memory, {report.memory_events} events; {faults} faults")
    return Exit.OK if report.sound else Exit.FAULTS


def _place(fault: Fault) -> str:
    place = f"partition {fault.partition} block {fault.block}"
    if fault.table != MEMORY:
        return f"{place} lane {plain(fault.lane)}" if fault.lane else place
    agent, _, run = map(plain, fault.lane.partition("\n"))
    return f"memory {place} agent {agent} run {run}" if fault.lane else f"memory {place}"
