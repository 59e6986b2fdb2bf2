"""`adopt-log`, `repair`, `rebuild`: what an operator answers a typed stop with, and the search table anew."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click

from runlane.contract.topics import EMBEDDED_PARTITIONS, Topics
from runlane.kafka import EmbeddedBroker, GroupSettings, KafkaConfig
from runlane.owner.adopt import adopt_log
from runlane.owner.config import Bounds
from runlane.owner.journal_store import JournalStore
from runlane.owner.kafka_log import KafkaLog
from runlane.owner.owner import SystemClock, SystemIds
from runlane.owner.ports import Ports
from runlane.service.cli.output import json_option, note, print_json
from runlane.service.embedded.folder import DataFolder
from runlane.service.journal import data_option, open_pool
from runlane.service.settings import Settings, load_settings
from runlane.store import ClientPool, connect, journal_id, rebuild_search
from runlane.store.memory import MemoryTable
from runlane.store.repair import repair

_BOUNDS = Bounds()


@dataclass(frozen=True, slots=True)
class MemoryRepair:
    """What a repair of memory needs."""

    store: MemoryTable
    clock: SystemClock


partition_option = click.option(
    "--partition", type=click.IntRange(min=0), required=True, help="The stopped partition."
)


@click.command("adopt-log")
@partition_option
@json_option
def adopt_log_command(*, partition: int, as_json: bool) -> None:
    """Accept that a partition's log is another one than its journal knows, and go on with it.

    Answers the stops log_replaced, log_trimmed, log_truncated, tip_changed, offset_ahead and log_begins_late.
    Find out first why the owner stopped: commands that are only in the old log are lost. Stop every owner: a
    group with members refuses. Changes nothing where log and journal agree.
    """
    settings = load_settings()
    with (
        open_pool(settings, None) as pool,
        _ports(settings.kafka_config("adopt-log"), settings, pool) as ports,
    ):
        adopted = adopt_log(ports, partition, _BOUNDS)
    _tell(None if adopted is None else asdict(adopted), "log and journal agree: nothing was changed", as_json)


@click.command("repair")
@partition_option
@click.option("--memory", is_flag=True, help="The chain of memory, in place of the journal's.")
@data_option
@json_option
def repair_command(*, partition: int, memory: bool, data: Path | None, as_json: bool) -> None:
    """Go on with a chain whose acknowledged last block is gone, in a new generation of block numbers.

    Answers the stop block_missing. Stop every owner, or memory sink, first; it waits until nothing that is
    under way can still come, a minute and a half. What the lost block decided is decided again, if the log
    still has it.
    """
    settings = load_settings()
    with ExitStack() as parts:
        if data is None:
            pool = parts.enter_context(open_pool(settings, None))
            kafka = settings.kafka_config("repair")
        else:
            folder = parts.enter_context(DataFolder(data))
            pool = connect(folder.engine_dsn)
            parts.callback(pool.close)
            # A stopped stack has no broker; repairing reads none, but an owner's parts come with one.
            topics = Topics(partitions=EMBEDDED_PARTITIONS).all()
            broker = parts.enter_context(EmbeddedBroker({topic.name: topic.partitions for topic in topics}))
            kafka = KafkaConfig(broker.bootstrap)
        ports = parts.enter_context(_ports(kafka, settings, pool))
        note("waiting until nothing that is under way can still come …")
        if memory:
            table = MemoryTable(pool, journal_id(pool), max_execution=_BOUNDS.max_execution)
            repaired = repair(MemoryRepair(table, SystemClock()), partition, _BOUNDS)
        else:
            repaired = repair(ports, partition, _BOUNDS)
    _tell(asdict(repaired), "", as_json)


@click.command("rebuild")
@data_option
@json_option
def rebuild_command(*, data: Path | None, as_json: bool) -> None:
    """Make the derived search table anew out of the journal. A search that runs meanwhile finds less."""
    with open_pool(load_settings(), data) as pool:
        journal = journal_id(pool)
        rebuild_search(pool)
    _tell({"journal_id": journal, "rebuilt": ["run_search"]}, "", as_json)


@contextmanager
def _ports(kafka: KafkaConfig, settings: Settings, pool: ClientPool) -> Generator[Ports]:
    log = KafkaLog(kafka, topics=settings.topics(), group=GroupSettings(settings.group))
    try:
        store = JournalStore(pool, journal_id(pool), max_execution=_BOUNDS.max_execution)
        yield Ports(log, store, SystemClock(), SystemIds())
    finally:
        log.close()


def _tell(done: dict[str, Any] | None, nothing: str, as_json: bool) -> None:  # noqa: FBT001 - the option
    if as_json:
        print_json(done)
    elif done is None:
        note(nothing)
    else:
        for name, value in done.items():
            click.echo(f"{name}: {value}")
