"""A whole verification: each chain, then each lane, then all claims."""

from __future__ import annotations

from runlane.contract.codec import Codec
from runlane.service.verify.answers import AnswerCheck
from runlane.service.verify.chain import ChainCheck
from runlane.service.verify.claims import check_claims
from runlane.service.verify.lanes import check_lanes
from runlane.service.verify.report import Report
from runlane.service.verify.source import JournalSource, QueryClient, Source


def verify_journal(client: QueryClient, codec: Codec | None = None, *, table: str = "journal") -> Report:
    """Read the whole journal and report its faults.

    The journal may be in use: what is added meanwhile is left out, and a lane that is purged meanwhile is not
    held against it. Memory is bounded by one block, the keys of one lane and the names of purged lanes.
    Raises the client's own errors when ClickHouse does not answer.
    """
    return audit(JournalSource(client, table), codec or Codec())


def audit(source: Source, codec: Codec) -> Report:
    """Read all of ``source`` and report its faults."""
    report = Report()
    answers = AnswerCheck(codec)
    purges = source.purges()
    partition_counts: dict[int, int] = {}
    for partition in source.partitions:
        chain = ChainCheck(partition, answers, purges, report)
        chain.run(source.chain(partition))
        partition_counts[partition] = chain.partition_count
    check_lanes(source.lanes(), purges, partition_counts, report)
    check_claims(source.claims(), answers, report)
    report.forgive(source.purges().keys() - purges.keys())
    return report
