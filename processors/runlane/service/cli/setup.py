"""`topics` and `migrate`: what has to be there before a role starts. Both may be run again at any time."""

from __future__ import annotations

import click

from runlane.kafka import Admin
from runlane.service.cli.output import json_option, note, print_json
from runlane.service.settings import load_settings


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
