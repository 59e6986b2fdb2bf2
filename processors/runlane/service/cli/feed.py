"""`feed`: one role, any number of processes."""

from __future__ import annotations

from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from typing import Final

import click
import structlog

from runlane.contract.errors import SettingsError
from runlane.service.cli.output import note
from runlane.service.exits import Exit
from runlane.service.journal import open_pool
from runlane.service.logs import configure_logs
from runlane.service.probes import ProbeServer
from runlane.service.settings import Settings, load_settings, parse_listen
from runlane.service.signals import Stopped, stoppable, wait_for
from runlane.service.topics import need_topics
from runlane.store import ClientPool, journal_id

try:
    from runlane.feed import FeedConfig, JournalHistory, tell_again
    from runlane.service.feed_thread import FeedThread
except ModuleNotFoundError as missing:
    if missing.name != "faust":
        raise
    raise SettingsError("the feed needs Faust: pip install 'runlane[faust]'") from None


_KEPT_HOURS: Final = 24
"""The topics keep no more."""


@click.command("feed")
@click.option(
    "--again",
    type=click.IntRange(1, _KEPT_HOURS),
    metavar="HOURS",
    help="Tell once more what was committed in the last HOURS, out of the journal, and leave.",
)
def feed_command(*, again: int | None) -> int:
    """Turn committed records into stream events and activity windows: topics `stream` and `activity`.

    Needs the topics and the journal as `runlane topics` and `runlane migrate` make them. SIGTERM and Ctrl-C
    deliver what is in hand first. `--again` mends topics that lost what was told; readers see nothing new.
    """
    settings = load_settings()
    configure_logs(settings.log_level)
    settings.need("kafka", "clickhouse")
    log = structlog.get_logger(__name__)
    try:
        with stoppable(), ExitStack() as parts:
            pool = parts.enter_context(open_pool(settings, None))
            config = _config(settings, pool)
            if again is not None:
                since = datetime.now(UTC) - timedelta(hours=again)
                told = tell_again(config.kafka, config.topics, JournalHistory(pool), since)
                note(f"told again: {told.events} events of {told.records} records, {told.shares} shares")
                return Exit.OK
            thread = parts.enter_context(FeedThread(config, JournalHistory(pool)))
            address = parse_listen(settings.metrics_listen)
            probes = parts.enter_context(ProbeServer(address, thread.registry(), ready=thread.faults))
            log.info("feed runs", metrics_port=probes.port, group=config.group)
            wait_for(thread.ended)
            thread.check()
    except Stopped:
        log.info("feed stopped")
    return Exit.OK


def _config(settings: Settings, pool: ClientPool) -> FeedConfig:
    kafka, topics = settings.kafka_config("feed"), settings.topics()
    need_topics(kafka, topics.records, topics.stream, topics.activity)
    journal_id(pool)  # refuses a database without a journal
    return FeedConfig(kafka, topics, settings.feed_group, settings.codec())
