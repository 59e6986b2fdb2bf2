"""What the blocks of memory hold: changes in their order, and the events of each append.

Events are erased when their product deletes them; that nothing else is missing is judged run by run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Final

from runlane.contract.errors import InvalidCommand
from runlane.contract.memory import AppendMemory, decode_event
from runlane.contract.partitioner import partition_for
from runlane.contract.times import micros
from runlane.service.verify.report import Place, Report
from runlane.service.verify.rows import Header, MemoryRow, json_object

_KEPT: Final = ("append", "delete", "refusal")


class MemoryBlocks:
    """Implements ``BlockContents`` for memory; one for all partitions."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._partition_count = 0
        self._place = Place()

    def gone(self, rows: Sequence[MemoryRow]) -> Callable[[str], bool]:
        """As ``BlockContents.gone``: of a run that has an append without any event here."""
        there = {(row.run, row.position) for row in rows if row.kind == "event"}
        appends = ((row.run, row.position) for row in rows if row.kind == "append")
        return frozenset(run for run, position in appends if (run, position) not in there).__contains__

    def check(self, rows: Sequence[MemoryRow], header: Header, place: Place) -> None:
        """As ``BlockContents.check``."""
        self._report.memory_blocks += 1
        self._report.memory_events += header.records
        self._place = place
        self._partition_count = self._partition_count or header.partition_count
        if header.partition_count != self._partition_count:
            self._fault("partitions_changed", "the chains state several numbers of partitions")
        kept = [row for row in rows if row.kind not in {"event", "commit"}]
        self._check_kept(kept, header)
        self._check_counts(kept, header)
        self._check_events(kept, [row for row in rows if row.kind == "event"])

    def _check_kept(self, kept: Sequence[MemoryRow], header: Header) -> None:
        """Check that the messages stand in their order, each with room for its events."""
        position, number = header.first - 1, 0
        for row in kept:
            if row.kind not in _KEPT:
                self._fault("row_unknown", f"row {row.row} is of no known kind")
            elif not _is_whole(row):
                self._fault("message_wrong", f"row {row.row} has not what a row of its kind has")
            if row.position == position:
                self._fault("message_doubled", f"position {row.position} is there before")
            elif not position < row.position <= header.last:
                self._fault("message_misplaced", f"position {row.position} is not the block's next")
            if row.row != number:
                self._fault("row_misplaced", f"row {row.row} stands where row {number} belongs")
            if row.run_id and not _is_at_home(row, header):
                self._fault("lane_misplaced", "the run belongs to another partition", row)
            position, number = row.position, row.row + 1 + (row.events if row.kind == "append" else 0)

    def _check_counts(self, kept: Sequence[MemoryRow], header: Header) -> None:
        events = sum(row.events for row in kept if row.kind == "append")
        if events != header.records:
            text = f"appends of {events} events, the header counts {header.records}"
            self._fault("records_miscounted", text)
        if len(kept) + events + 1 != header.rows:
            text = f"{len(kept) + events + 1} rows were appended, the header counts {header.rows}"
            self._fault("rows_miscounted", text)
        if len(kept) > header.commands:
            self._fault("message_doubled", f"{len(kept)} rows of {header.commands} messages")

    def _check_events(self, kept: Sequence[MemoryRow], events: Sequence[MemoryRow]) -> None:
        appends = {(row.run, row.position): row for row in kept if row.kind == "append"}
        for name, group in groupby(events, key=lambda row: (row.run, row.position)):
            found = list(group)
            append = appends.pop(name, None)
            if append is None:
                self._fault("append_missing", "events without their append", found[0])
            else:
                self._check_append(append, found)
            for row in found:
                self._check_event(row)

    def _check_append(self, append: MemoryRow, events: Sequence[MemoryRow]) -> None:
        if len(events) < append.events:
            text = f"{len(events)} of the {append.events} events of position {append.position}"
            self._fault("rows_missing", text, append)
            return
        if [row.row - append.row for row in events] != list(range(1, append.events + 1)):
            self._fault("row_misplaced", f"the events of position {append.position} do not follow it", append)
        bodies = tuple(row.body.encode() for row in events)
        if (
            AppendMemory(append.agent_id, append.run_id, append.append_key, bodies).digest.hex()
            != append.digest
        ):
            text = f"the events of position {append.position} are not what its digest stands for"
            self._fault("append_digest_wrong", text, append)

    def _check_event(self, row: MemoryRow) -> None:
        try:
            event = decode_event(row.body.encode())
            labels = json_object(row.labels)
        except (InvalidCommand, ValueError):
            self._fault("event_unreadable", f"row {row.row} is no event of memory", row)
            return
        stated = (row.type, row.at, labels, row.append_key, row.events, row.digest)
        if stated != (event.type.value, micros(event.timestamp), dict(event.labels or {}), "", 0, ""):
            self._fault("analysis_wrong", f"row {row.row} has columns that are not its event's", row)

    def _fault(self, code: str, message: str, row: MemoryRow | None = None) -> None:
        place = self._place if row is None else self._place.of_lane(row.run)
        self._report.add(place.fault(code, message))


def _is_whole(row: MemoryRow) -> bool:
    """Whether a row has the columns of its kind, and no others."""
    named = bool(row.agent_id and row.run_id and row.append_key)
    empty = not (row.at or row.labels or row.body)
    match row.kind:
        case "append":
            return empty and named and row.events > 0 and len(row.digest) > 0 and not row.type
        case "delete":
            return empty and named and not (row.events or row.digest or row.type)
        case _:
            bare = not (row.agent_id or row.run_id or row.append_key or row.events or row.digest)
            return empty and bare and row.type != ""


def _is_at_home(row: MemoryRow, header: Header) -> bool:
    count = header.partition_count
    return count > 0 and partition_for(row.run_id.encode(), count) == header.partition
