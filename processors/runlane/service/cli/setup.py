"""`topics` and `migrate`: what has to be there before a role starts. Both may be run again at any time."""

from __future__ import annotations

from pathlib import Path

import click

from runlane.kafka import Admin
from runlane.service.cli.output import json_option, note, print_json
from runlane.service.journal import data_option, open_pool
from runlane.service.settings import load_settings
from runlane.store import migrate


@click.command("topics")
@json_option
def topics_command(*, as_json: bool) -> None:
    """Make the topics that are missing and check the ones that are there."""
    settings = load_settings()
    admin = Admin(settings.kafka_config("topics"))
    specs = settings.topics().all()
    made = admin.create_topics(specs, replication_factor=settings.replication)
    admin.check_topics(specs)
    if as_json:
        print_json({"topics": [spec.name for spec in specs], "made": list(made)})
        return
    for name in made:
        note(f"made {name}")
    note(f"all {len(specs)} topics are as declared")


@click.command("migrate")
@data_option
@json_option
def migrate_command(*, data: Path | None, as_json: bool) -> None:
    """Bring the journal's tables to this release; refuse tables that were altered by hand."""
    with open_pool(load_settings(), data) as pool:
        journal = migrate(pool)
    if as_json:
        print_json({"journal_id": journal})
    else:
        note(f"journal {journal} is at this release")
