"""`owner` and `gateway`: one role each, any number of processes."""

from __future__ import annotations

import threading
from contextlib import ExitStack

import click
import structlog

from runlane.contract.signing import parse_key
from runlane.kafka import GroupSettings
from runlane.owner.config import OwnerConfig
from runlane.service.api_server import access_of
from runlane.service.exits import Exit
from runlane.service.gateway_parts import GatewayParts, serve_gateway
from runlane.service.journal import open_pool
from runlane.service.logs import configure_logs
from runlane.service.owner_thread import OwnerParts, OwnerThread
from runlane.service.probes import ProbeServer
from runlane.service.settings import Settings, load_settings, parse_listen
from runlane.service.signals import Stopped, stoppable, wait_for
from runlane.service.topics import need_topics
from runlane.store import ClientPool, journal_id, self_test


@click.command("owner")
def owner_command() -> int:
    """Decide and commit the commands of the partitions that the group assigns to this process.

    Needs the topics and the journal as `runlane topics` and `runlane migrate` make them. SIGTERM and Ctrl-C
    settle what is in flight first.
    """
    settings = load_settings()
    configure_logs(settings.log_level)
    settings.need("kafka", "clickhouse", "owner_key")
    log = structlog.get_logger(__name__)
    try:
        with stoppable(), ExitStack() as parts:
            pool = parts.enter_context(open_pool(settings, None))
            made = owner_parts(settings, pool)
            self_test(pool)
            thread = parts.enter_context(OwnerThread(made))
            registry, ready = thread.registry(), thread.progress.faults
            address = parse_listen(settings.metrics_listen)
            probes = parts.enter_context(ProbeServer(address, registry, ready=ready))
            log.info("owner runs", metrics_port=probes.port, journal=made.journal_id, group=settings.group)
            wait_for(thread.ended)
            thread.check()
    except Stopped:
        log.info("owner stopped")
    return Exit.OK


@click.command("gateway")
def gateway_command() -> int:
    """Serve the read API and the web page, and with RUNLANE_KAFKA the streams.

    With RUNLANE_HOST_KEY too it takes host commands over HTTP, from holders of a host token.
    """
    settings = load_settings()
    configure_logs(settings.log_level)
    settings.need("clickhouse")
    access = access_of(settings)
    log = structlog.get_logger(__name__)
    if access.open:
        log.warning("no token is set: everyone on this machine reads everything")
    try:
        with stoppable(), ExitStack() as parts:
            pool = parts.enter_context(open_pool(settings, None))
            journal = journal_id(pool)
            made = GatewayParts(
                pool,
                access,
                parse_listen(settings.listen),
                kafka=settings.kafka_config("gateway") if settings.kafka else None,
                topics=settings.topics(),
                host_key=parse_key(settings.host_key[0].get_secret_value()) if settings.host_key else None,
                codec=settings.codec(),
            )
            api = parts.enter_context(serve_gateway(made))
            log.info("gateway serves", url=api.url, journal=journal, streams=made.kafka is not None)
            wait_for(threading.Event())
    except Stopped:
        log.info("gateway stopped")
    return Exit.OK


def owner_parts(settings: Settings, pool: ClientPool) -> OwnerParts:
    """Return what an owner of these settings is made of.

    Raises ``TopicMismatch`` and ``SchemaDrift`` when topics or tables are not as this release needs them.
    """
    kafka = settings.kafka_config("owner")
    topics = settings.topics()
    need_topics(kafka, topics.commands, topics.outcomes, topics.records, topics.rejected)
    host_keys = settings.keyring("host_key") if settings.host_key else None
    return OwnerParts(
        kafka=kafka,
        topics=topics,
        group=GroupSettings(settings.group),
        pool=pool,
        journal_id=journal_id(pool),
        config=OwnerConfig(host_keys, settings.keyring("owner_key")),
        codec=settings.codec(),
    )
