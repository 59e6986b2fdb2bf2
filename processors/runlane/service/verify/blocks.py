"""One block by itself: its commit row, its rows, the digests of its lanes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from runlane.service.verify.report import Place, Report
from runlane.service.verify.rows import Header, Row, digest_rows, parse_header

Purges = Mapping[str, tuple[int, int]]
"""Purged lanes, with block and row of their tombstone."""


def check_block(rows: Sequence[Row], purges: Purges, report: Report) -> Header | None:
    """Report the faults of one block's rows; return its header when there is one to trust."""
    place = Place(rows[0].partition, rows[0].block)
    commits = [row for row in rows if row.kind == "commit"]
    if not commits:
        report.add(place.fault("commit_row_missing", "the block has rows but no commit row"))
        return None
    if len(commits) > 1:
        report.add(place.fault("block_doubled", f"{len(commits)} commit rows carry this number"))
        return None
    header = _header(commits[0], place, report)
    if header is not None:
        _check_rows(rows, header, purges, report)
        _check_counts(rows, header, purges, report)
    return header


def erased(lane: str, block: int, purges: Purges) -> bool:
    """Whether rows of ``lane`` in ``block`` may be gone, since the lane was purged then or later."""
    return lane in purges and block <= purges[lane][0]


def _header(row: Row, place: Place, report: Report) -> Header | None:
    try:
        header = parse_header(row.body)
    except ValueError:
        report.add(place.fault("commit_row_unreadable", "the commit row's body is no header"))
        return None
    if header.hash != row.digest:
        report.add(place.fault("hash_broken", "the block's hash is not that of its header"))
    stated = (row.part, row.partition, row.generation, row.block, row.time, row.type, row.seq, row.position)
    own = (
        header.part,
        header.partition,
        header.generation,
        header.number,
        header.time,
        header.kind,
        header.epoch,
        header.last,
    )
    if stated != own:
        report.add(place.fault("commit_row_wrong", "the commit row's columns differ from its header"))
    return header


def _check_rows(rows: Sequence[Row], header: Header, purges: Purges, report: Report) -> None:
    place = Place(header.partition, header.number)
    numbers = [row.row for row in rows]
    if len(set(numbers)) != len(numbers) or numbers[-1] >= header.rows:
        report.add(place.fault("rows_doubled", f"{len(numbers)} rows where the header counts {header.rows}"))
    texts: dict[str, list[str]] = {}
    for row in rows:
        if row.kind != "commit":
            texts.setdefault(row.lane, []).append(row.text())
        if (row.part, row.time) != (header.part, header.time):
            report.add(place.fault("row_misplaced", f"row {row.row} states another time or partition value"))
    whole = len(rows) >= header.rows
    explained = whole
    for lane, digest in header.lane_digests.items():
        found = texts.pop(lane, None)
        if erased(lane, header.number, purges):
            explained = True
        elif found is None or digest_rows(found) != digest:
            explained = True
            code = "row_changed" if whole else "rows_missing"
            report.add(place.of_lane(lane).fault(code, "the lane's rows are not those that were committed"))
    for lane in texts:
        report.add(place.of_lane(lane).fault("rows_foreign", "rows of a lane that the header does not name"))
    if not explained:
        report.add(place.fault("rows_missing", f"{len(rows)} rows where the header counts {header.rows}"))


def _check_counts(rows: Sequence[Row], header: Header, purges: Purges, report: Report) -> None:
    if any(erased(lane, header.number, purges) for lane in header.lane_digests):
        return
    place = Place(header.partition, header.number)
    answers = sum(row.kind == "answer" for row in rows)
    records = sum(row.kind == "record" for row in rows)
    if answers < header.commands:
        report.add(place.fault("outcome_missing", f"{answers} outcomes for {header.commands} commands"))
    if answers > header.commands:
        report.add(place.fault("outcome_doubled", f"{answers} outcomes for {header.commands} commands"))
    if records != header.records:
        report.add(
            place.fault("records_miscounted", f"{records} records, the header counts {header.records}")
        )
