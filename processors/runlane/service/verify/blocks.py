"""One block by itself, of any table of chains: its commit row, its rows, the digests of its lanes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from runlane.service.verify.report import Place, Report
from runlane.service.verify.rows import AnyRow, Header, digest_rows, parse_header


def check_block(
    rows: Sequence[AnyRow], gone: Callable[[str], bool], place: Place, report: Report
) -> Header | None:
    """Report the faults of one block's rows; return its header when there is one to trust.

    ``gone`` says of which lanes rows may be missing here. ``place`` is that of the block.
    """
    commits = [row for row in rows if row.kind == "commit"]
    if not commits:
        report.add(place.fault("commit_row_missing", "the block has rows but no commit row"))
        return None
    if len(commits) > 1:
        report.add(place.fault("block_doubled", f"{len(commits)} commit rows carry this number"))
        return None
    header = _header(commits[0], place, report)
    if header is not None:
        _check_rows(rows, header, gone, place, report)
    return header


def _header(row: AnyRow, place: Place, report: Report) -> Header | None:
    try:
        header = parse_header(row.body)
    except ValueError:
        report.add(place.fault("commit_row_unreadable", "the commit row's body is no header"))
        return None
    if header.hash != row.digest:
        report.add(place.fault("hash_broken", "the block's hash is not that of its header"))
    stated = (row.part, row.partition, row.generation, row.block, row.time, row.type, row.epoch, row.position)
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


def _check_rows(
    rows: Sequence[AnyRow], header: Header, gone: Callable[[str], bool], place: Place, report: Report
) -> None:
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
        if gone(lane):
            explained = True
        elif found is None or digest_rows(found) != digest:
            explained = True
            code = "row_changed" if whole else "rows_missing"
            report.add(place.of_lane(lane).fault(code, "the lane's rows are not those that were committed"))
    for lane in texts:
        report.add(place.of_lane(lane).fault("rows_foreign", "rows of a lane that the header does not name"))
    if not explained:
        report.add(place.fault("rows_missing", f"{len(rows)} rows where the header counts {header.rows}"))
