"""`memory-sink`: one role, any number of processes."""

from __future__ import annotations

from contextlib import ExitStack

import click
import structlog

from runlane.kafka import GroupSettings
from runlane.service.exits import Exit
from runlane.service.journal import open_pool
from runlane.service.logs import configure_logs
from runlane.service.memory_thread import ADOPTABLE, MemoryParts, MemoryThread
from runlane.service.probes import ProbeServer
from runlane.service.settings import Settings, load_settings, parse_listen
from runlane.service.signals import Stopped, stoppable, wait_for
from runlane.service.topics import need_topics
from runlane.store import ClientPool, journal_id, self_test


@click.command("memory-sink")
@click.option(
    "--adopt-log", is_flag=True, help="Accept a log that is another one than what is stored came from."
)
def memory_sink_command(*, adopt_log: bool) -> int:
    """Store what products remember: topic memory into ClickHouse, each message once.

    Needs the topics and the tables as `runlane topics` and `runlane migrate` make them. A partition whose log
    is not the one that its stored messages came from is stopped; `--adopt-log` goes on with the log as it is
    and journals that.
    """
    settings = load_settings()
    configure_logs(settings.log_level)
    settings.need("kafka", "clickhouse")
    log = structlog.get_logger(__name__)
    try:
        with stoppable(), ExitStack() as parts:
            made = _parts(settings, parts.enter_context(open_pool(settings, None)), adopt_log=adopt_log)
            self_test(made.pool)
            thread = parts.enter_context(MemoryThread(made))
            address = parse_listen(settings.metrics_listen)
            probes = parts.enter_context(ProbeServer(address, thread.registry(), ready=thread.faults))
            log.info(
                "memory sink runs",
                metrics_port=probes.port,
                journal=made.journal_id,
                group=settings.memory_group,
            )
            wait_for(thread.ended)
            thread.check()
    except Stopped:
        log.info("memory sink stopped")
    return Exit.OK


def _parts(settings: Settings, pool: ClientPool, *, adopt_log: bool) -> MemoryParts:
    """Return what a memory sink is made of; ``TopicMismatch`` and ``SchemaDrift`` as of an owner."""
    kafka, topics = settings.kafka_config("memory-sink"), settings.topics()
    need_topics(kafka, topics.memory, topics.outcomes)
    return MemoryParts(
        kafka=kafka,
        topics=topics,
        group=GroupSettings(settings.memory_group),
        pool=pool,
        journal_id=journal_id(pool),
        codec=settings.codec(),
        adopts=ADOPTABLE if adopt_log else frozenset(),
    )
