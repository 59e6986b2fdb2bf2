"""A whole verification: of the journal each chain, each lane and all claims; of memory each chain and run."""

from __future__ import annotations

from runlane.contract.codec import Codec
from runlane.service.verify.answers import AnswerCheck
from runlane.service.verify.chain import ChainCheck
from runlane.service.verify.claims import check_claims
from runlane.service.verify.journal_blocks import JournalBlocks
from runlane.service.verify.journal_source import JournalSource, JournalTable
from runlane.service.verify.lanes import check_lanes
from runlane.service.verify.memory_blocks import MemoryBlocks
from runlane.service.verify.memory_runs import check_runs
from runlane.service.verify.memory_source import MemorySource, MemoryTable
from runlane.service.verify.purges import report_ghosts
from runlane.service.verify.report import MEMORY, Place, Report
from runlane.service.verify.source import QueryClient


def verify_journal(client: QueryClient, codec: Codec | None = None) -> Report:
    """Read the whole journal and the memory beside it, and report their faults.

    Both may be in use: what is added meanwhile is left out, and what is purged or deleted meanwhile is not
    held against them. Memory is bounded by one block, the keys of one lane or run and the names of purged
    lanes. Raises the client's own errors when ClickHouse does not answer.
    """
    report = Report()
    journal, memory = JournalTable(client), MemoryTable(client)
    audit_journal(journal, codec or Codec(), report)
    audit_memory(memory, report)
    return report


def audit_journal(source: JournalSource, codec: Codec, report: Report) -> None:
    """Read all of a journal and report its faults."""
    answers = AnswerCheck(codec)
    purges = source.purges()
    blocks = JournalBlocks(answers, purges, report)
    partition_counts: dict[int, int] = {}
    for partition in source.partitions:
        chain = ChainCheck(blocks, Place(partition), report)
        chain.run(report_ghosts(source.chain(partition), purges, report))
        partition_counts[partition] = chain.partition_count
    check_lanes(source.lanes(), purges, partition_counts, report)
    check_claims(source.claims(), answers, report)
    report.forgive(source.purges().keys() - purges.keys())


def audit_memory(source: MemorySource, report: Report) -> None:
    """Read all of a memory and report its faults; what products deleted is none, erased yet or not."""
    blocks = MemoryBlocks(report)
    for partition in source.partitions:
        ChainCheck(blocks, Place(partition, table=MEMORY), report).run(source.chain(partition))
    check_runs(source.runs(), report)
