"""`inspect` and `rejected`: what the journal holds, for operators, without payloads."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import click

from runlane.contract.codec import Codec
from runlane.contract.errors import TopicMismatch, UndecodableMessage
from runlane.kafka import Inspector, Message, Partition
from runlane.owner.intake import OPERATIONS, lane_of, subject
from runlane.service.cli.output import json_option, print_json, print_table
from runlane.service.journal import data_option, open_pool
from runlane.service.settings import load_settings
from runlane.store import BlockHeader, ChainReader, Eraser, JournalReader

_BLOCK: Final = (
    "number",
    "kind",
    "epoch",
    "first",
    "last",
    "commands",
    "records",
    "rows",
    "watermark",
    "time",
)
_REJECTED: Final = (
    "refused_at",
    "partition",
    "position",
    "operation",
    "code",
    "lane",
    "run_id",
    "session_id",
    "agent_id",
)
_REFUSED: Final = """
SELECT refused_at, partition, position, operation, code, lane, run_id, session_id, agent_id
FROM v_refused_commands
WHERE {code:String} IN ('', code)
ORDER BY refused_at DESC, partition, position DESC
LIMIT {count:UInt32}
"""
_LAST: Final = 2**62


@click.group("inspect")
def inspect_command() -> None:
    """Show what the journal holds. Payloads are never shown here; `runlane tail` shows them."""


@inspect_command.command("chains")
@data_option
@json_option
def chains(*, data: Path | None, as_json: bool) -> None:
    """Each partition's chain: its last block, its log, and the positions it has decided."""
    with open_pool(load_settings(), data) as pool:
        reader = ChainReader(pool)
        count = reader.recorded_partition_count() or 0
        ends = [reader.end(partition) for partition in range(count)]
    rows = [
        {"partition": at, "generation": end.generation, **_block(end.header)} for at, end in enumerate(ends)
    ]
    columns = (
        "partition",
        "generation",
        "number",
        "kind",
        "epoch",
        "last",
        "watermark",
        "log",
        "base",
        "time",
    )
    _print(rows, columns, as_json=as_json)


@inspect_command.command("blocks")
@click.argument("partition", type=click.IntRange(min=0))
@click.option("--from", "first", type=click.IntRange(min=0), help="First block; the last ones unless given.")
@click.option("--count", type=click.IntRange(1, 10_000), default=20, show_default=True)
@data_option
@json_option
def blocks(*, partition: int, first: int | None, count: int, data: Path | None, as_json: bool) -> None:
    """The blocks of a partition."""
    with open_pool(load_settings(), data) as pool:
        reader = ChainReader(pool)
        if first is None:
            head = reader.end(partition).header
            first = 0 if head is None else max(0, head.number - count + 1)
        headers = reader.headers(partition, first, min(first + count - 1, _LAST))
    _print([_block(header) for header in headers], _BLOCK, as_json=as_json)


@inspect_command.command("command")
@click.argument("partition", type=click.IntRange(min=0))
@click.argument("position", type=click.IntRange(min=0))
@json_option
def command(*, partition: int, position: int, as_json: bool) -> None:
    """Whose command lies at a position of the commands topic, decided or not."""
    settings = load_settings()
    settings.need("kafka", "clickhouse")
    with open_pool(settings, None) as pool:
        head = ChainReader(pool).end(partition).header
    topic = settings.topics().commands.name
    offset = position - (0 if head is None else head.base)
    with Inspector(settings.kafka_config("inspect"), group=settings.group) as inspector:
        message = inspector.message_at(Partition(topic, partition), offset)
    if message is None:
        raise TopicMismatch(f"the topic has no message at offset {offset}, or none any more", topic=topic)
    _print_one({"position": position, **_told(message, settings.codec())}, as_json=as_json)


@inspect_command.command("run")
@click.argument("run_id")
@data_option
@json_option
def run(*, run_id: str, data: Path | None, as_json: bool) -> None:
    """One run's state."""
    with open_pool(load_settings(), data) as pool:
        found = asdict(JournalReader(pool).load_run(run_id))
    _print_one({**found, "labels": dict(found["labels"])}, as_json=as_json)


@inspect_command.command("session")
@click.argument("session_id")
@data_option
@json_option
def session(*, session_id: str, data: Path | None, as_json: bool) -> None:
    """One session and its runs."""
    with open_pool(load_settings(), data) as pool:
        reader = JournalReader(pool)
        found = asdict(reader.load_session(session_id))
        runs = sorted(reader.list_runs_by_session(session_id), key=lambda meta: meta.started_at)
    listed = [
        {
            "run": meta.run_id,
            "agent": meta.agent_id,
            "status": meta.status.value,
            "parent": meta.parent_run_id,
        }
        for meta in runs
    ]
    if as_json:
        print_json({**found, "runs": listed})
        return
    _print_one(found, as_json=False)
    print_table(listed, ("run", "agent", "status", "parent"))


@inspect_command.command("erases")
@data_option
@json_option
def erases(*, data: Path | None, as_json: bool) -> None:
    """Purged lanes whose rows are not erased yet, and the mutations that run."""
    with open_pool(load_settings(), data) as pool:
        eraser = Eraser(pool)
        count = ChainReader(pool).recorded_partition_count() or 0
        pending = [lane for partition in range(count) for lane in eraser.pending(partition)]
        running = [asdict(erasure) for erasure in eraser.running()]
    if as_json:
        print_json({"pending": pending, "running": running})
        return
    print_table([{"lane": lane} for lane in pending], ("lane",))
    print_table(running, ("table", "mutation_id", "parts_to_do", "failing"))


@click.command("rejected")
@click.option("--code", default="", help="Only this code.")
@click.option("--count", type=click.IntRange(1, 100_000), default=50, show_default=True)
@data_option
@json_option
def rejected_command(*, code: str, count: int, data: Path | None, as_json: bool) -> None:
    """List refused commands and undecodable messages, newest first.

    A message that was no command has no operation. What was in it is not shown: it lies at its position of
    the commands topic as long as that keeps it.
    """
    with open_pool(load_settings(), data) as pool:
        found = pool.query(_REFUSED, {"code": code, "count": count})
    _print([dict(zip(_REJECTED, row, strict=True)) for row in found], _REJECTED, as_json=as_json)


def _told(message: Message, codec: Codec) -> dict[str, Any]:
    """Return what may be shown of a message; of one that is no command only its outside."""
    value = message.value or b""
    shown = {
        "offset": message.offset,
        "lane": lane_of(message.key or b"")[0],
        "size": len(value),
        "sha256": hashlib.sha256(value).hexdigest(),
    }
    try:
        decoded = codec.decode_command(message.value)
    except UndecodableMessage as error:
        return {**shown, "undecodable": error.code}
    run_id, session_id, agent_id = subject(decoded)
    named = {"run_id": run_id, "session_id": session_id, "agent_id": agent_id}
    return {**shown, "operation": OPERATIONS[type(decoded)], **named}


def _block(header: BlockHeader | None) -> dict[str, Any]:
    if header is None:
        return {}
    named = {name: getattr(header, name) for name in (*_BLOCK, "base", "partition", "logic_version", "nonce")}
    return {**named, "log": f"{header.log.cluster_id}/{header.log.topic_id}", "hash": header.hash.hex()}


def _print(rows: list[dict[str, Any]], columns: tuple[str, ...], *, as_json: bool) -> None:
    if as_json:
        print_json(rows)
    else:
        print_table(rows, columns)


def _print_one(value: Mapping[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(value)
    else:
        print_table([{"field": name, "value": shown} for name, shown in value.items()], ("field", "value"))
