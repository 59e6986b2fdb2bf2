"""Lane by lane: gapless numbers, single keys, and states that equal the fold of the records (G3, G9)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from itertools import groupby

from runlane.contract.partitioner import partition_for
from runlane.service.verify.fold import FoldError, LaneState, Session
from runlane.service.verify.purges import Purges
from runlane.service.verify.report import Place, Report
from runlane.service.verify.rows import Row


def check_lanes(
    rows: Iterable[Row], purges: Purges, partition_counts: Mapping[int, int], report: Report
) -> None:
    """Report the faults of all lanes; ``rows`` hold no answers and are ordered by lane, block and row.

    A checkpoint row's body is the digest of its bytes. ``partition_counts`` are those that the chains state.
    Rows of purged lanes are judged with the chain.
    """
    for lane, found in groupby(rows, key=lambda row: row.lane):
        if lane in purges:
            continue
        check = LaneCheck(lane, report)
        for _, block in groupby(found, key=lambda row: (row.partition, row.block)):
            check.block(list(block), partition_counts)


class LaneCheck:
    """One lane, block after block."""

    def __init__(self, lane: str, report: Report) -> None:
        self._lane = lane
        self._report = report
        self._state = LaneState()
        self._lane_seq = 0
        self._seqs: dict[str, int] = {}
        self._keys: set[bytes] = set()
        self._place = Place()

    def block(self, rows: list[Row], partition_counts: Mapping[int, int]) -> None:
        """Check the rows that one block has of this lane."""
        partition = rows[0].partition
        self._place = Place(partition, rows[0].block, self._lane)
        count = partition_counts.get(partition, 0)
        if count and partition_for(self._lane.encode(), count) != partition:
            self._fault("lane_misplaced", "the lane belongs to another partition")
        changed: set[str] = set()
        session: Session | None = None
        for row in rows:
            match row.kind:
                case "record":
                    changed |= self._record(row)
                    session = self._state.session if not row.run_id else session
                case "checkpoint":
                    self._checkpoint(row)
                case "run":
                    self._run(row, changed)
                case "session":
                    self._session(row, session)
                    session = None
                case "claim":
                    self._claim(row)
                case _:
                    self._fault("row_unknown", f"row {row.row} is of no known kind")
        self._end_of_block(changed, session)

    def _end_of_block(self, changed: set[str], session: Session | None) -> None:
        if changed:
            self._fault("run_state_missing", f"{len(changed)} runs changed and have no state row")
        if session is not None:
            self._fault("session_state_missing", "the session changed and has no state row")
        if self._state.links:
            self._fault("link_without_child", "a parent links a child that did not start with it")
            self._state.links.clear()

    def _record(self, row: Row) -> set[str]:
        if row.lane_seq != self._lane_seq + 1:
            self._fault("lane_seq_broken", f"lane_seq {row.lane_seq} after {self._lane_seq}")
        self._lane_seq = row.lane_seq
        if row.run_id:
            self._numbered(row)
        expected = self._lane[2:] if self._lane.startswith("s/") else ""
        if row.session_id != expected:
            self._fault("record_misplaced", f"lane_seq {row.lane_seq} is of another session than its lane")
        try:
            changed = self._state.fold(row)
        except ValueError as error:
            text = str(error) if isinstance(error, FoldError) else "a lifecycle payload that is no object"
            self._fault("fold_failed", f"lane_seq {row.lane_seq}: {text}")
            return set()
        if row.status != self._state.status:
            self._fault("session_status_wrong", f"lane_seq {row.lane_seq} states another session state")
        return {changed} if changed else set()

    def _numbered(self, row: Row) -> None:
        last = self._seqs.get(row.run_id, 0)
        if row.seq != last + 1:
            self._fault("seq_broken", f"seq {row.seq} after {last}")
        self._seqs[row.run_id] = row.seq
        text = f"{row.run_id}\0{row.event_key}".encode()
        key = hashlib.blake2b(text, digest_size=16).digest()
        if key in self._keys:
            self._fault("key_doubled", f"seq {row.seq} uses an event key again")
        self._keys.add(key)

    def _checkpoint(self, row: Row) -> None:
        run = self._state.runs.get(row.run_id)
        if run is None or run.suspension_id != row.event_key or run.checkpoint_digest:
            self._fault("checkpoint_foreign", "a checkpoint without its suspension")
        else:
            run.checkpoint_digest = row.body

    def _run(self, row: Row, changed: set[str]) -> None:
        if row.run_id not in changed:
            self._fault("run_state_wrong", "a state row of a run that did not change")
            return
        changed.remove(row.run_id)
        try:
            stated = self._state.stated_run(row)
        except (TypeError, ValueError):
            self._fault("run_state_wrong", "a run's state row cannot be read")
            return
        if stated != self._state.runs[row.run_id]:
            self._fault("run_state_wrong", "a run's state is not the fold of its records")

    def _session(self, row: Row, changed: Session | None) -> None:
        if changed is None or Session(row.status, row.at, row.body) != changed:
            self._fault("session_state_wrong", "the session's state is not the fold of its events")

    def _claim(self, row: Row) -> None:
        if self._lane != f"r/{row.run_id}":
            self._fault("claim_misplaced", "a claim in another lane than its run id's")

    def _fault(self, code: str, message: str) -> None:
        self._report.add(self._place.fault(code, message))
