"""The journal in ClickHouse: migrations, writer, reads of chains, lanes and the contract, search, erase."""

from runlane.store.async_reader import AsyncJournalReader
from runlane.store.block import (
    BlockHeader,
    BlockKind,
    Draft,
    LogId,
    SealedBlock,
    header_body,
    parse_header,
    part_of,
    seal,
)
from runlane.store.chain import ChainEnd, ChainReader, ChainTip, OutboxPage
from runlane.store.engine import ClientPool, connect, connection_string
from runlane.store.erase import Eraser, Erasure
from runlane.store.filling import rebuild_search, refresh_search
from runlane.store.lanes import LaneReader
from runlane.store.migrate import journal_id, migrate, migrations
from runlane.store.reader import JournalReader
from runlane.store.rows import Answer
from runlane.store.self_test import self_test
from runlane.store.writer import BlockWriter

__all__ = [
    "Answer",
    "AsyncJournalReader",
    "BlockHeader",
    "BlockKind",
    "BlockWriter",
    "ChainEnd",
    "ChainReader",
    "ChainTip",
    "ClientPool",
    "Draft",
    "Eraser",
    "Erasure",
    "JournalReader",
    "LaneReader",
    "LogId",
    "OutboxPage",
    "SealedBlock",
    "connect",
    "connection_string",
    "header_body",
    "journal_id",
    "migrate",
    "migrations",
    "parse_header",
    "part_of",
    "rebuild_search",
    "refresh_search",
    "seal",
    "self_test",
]
