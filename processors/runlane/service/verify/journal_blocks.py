"""What the blocks of the journal hold: outcomes, records, and what purges left of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from runlane.service.verify.answers import AnswerCheck
from runlane.service.verify.purges import Purges, erased
from runlane.service.verify.report import Place, Report
from runlane.service.verify.rows import Header, Row


class JournalBlocks:
    """Implements ``BlockContents`` for the journal."""

    def __init__(self, answers: AnswerCheck, purges: Purges, report: Report) -> None:
        self._answers = answers
        self._purges = purges
        self._report = report

    def gone(self, rows: Sequence[Row]) -> Callable[[str], bool]:
        """As ``BlockContents.gone``."""
        return lambda lane: erased(lane, rows[0].block, self._purges)

    def check(self, rows: Sequence[Row], header: Header, place: Place) -> None:
        """As ``BlockContents.check``."""
        self._report.blocks += 1
        self._report.commands += header.commands
        self._report.records += header.records
        if not any(map(self.gone(rows), header.lane_digests)):
            self._check_counts(rows, header, place)
        self._answers.check(rows, header, self._purges, self._report)

    def _check_counts(self, rows: Sequence[Row], header: Header, place: Place) -> None:
        add = self._report.add
        answers = sum(row.kind == "answer" for row in rows)
        records = sum(row.kind == "record" for row in rows)
        if answers < header.commands:
            add(place.fault("outcome_missing", f"{answers} outcomes for {header.commands} commands"))
        if answers > header.commands:
            add(place.fault("outcome_doubled", f"{answers} outcomes for {header.commands} commands"))
        if records != header.records:
            add(place.fault("records_miscounted", f"{records} records, the header counts {header.records}"))
