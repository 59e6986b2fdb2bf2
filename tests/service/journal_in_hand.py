"""Rows in hand, read as the verifier reads a journal."""

import hashlib
from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence

from runlane.contract.codec import Codec
from runlane.service.verify.audit import audit_journal
from runlane.service.verify.fold import LIFECYCLE
from runlane.service.verify.report import Report
from runlane.service.verify.rows import Row


class JournalInHand:
    def __init__(self, rows: Sequence[Row]) -> None:
        self._all = rows
        self.partitions = tuple(sorted({row.partition for row in rows}))

    def purges(self) -> Mapping[str, tuple[int, int]]:
        return {row.lane: (row.block, row.row) for row in self._all if row.kind == "tombstone"}

    def chain(self, partition: int) -> Iterator[Row]:
        rows = [row for row in self._all if row.partition == partition]
        return iter(sorted(rows, key=lambda row: (row.generation, row.block, row.row)))

    def lanes(self) -> Iterator[Row]:
        rows = [_narrow(row) for row in self._all if row.kind not in {"answer", "commit", "tombstone"}]
        return iter(sorted(rows, key=lambda row: (row.lane, row.partition, row.block, row.row)))

    def claims(self) -> Iterator[Row]:
        rows = [row for row in self._all if _is_of_claims(row)]
        return iter(sorted(rows, key=lambda row: (row.run_id, row.partition, row.block, row.row)))


def _is_of_claims(row: Row) -> bool:
    return (
        row.kind == "claim"
        or (row.kind == "record" and row.type == "run_started")
        or (row.kind == "answer" and row.type == "claim_run" and not row.code)
    )


def _narrow(row: Row) -> Row:
    if row.kind == "checkpoint":
        return row._replace(body=hashlib.sha256(b64decode(row.body)).hexdigest())
    return row if row.kind != "record" or row.type in LIFECYCLE else row._replace(body="")


def verify_rows(rows: Sequence[Row]) -> Report:
    report = Report()
    audit_journal(JournalInHand(rows), Codec(), report)
    return report
