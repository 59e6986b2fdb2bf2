"""One step in the making: what a command adds is collected before anything is changed."""

from __future__ import annotations

from runlane.contract.decide.decision import Meta
from runlane.contract.digest import record_digest
from runlane.contract.errors import EventConflict
from runlane.contract.outcomes import AppendResult
from runlane.contract.state import Changes, Checkpoint, KeyEntry, LaneView, RunClaim, RunState
from runlane.contract.times import to_utc
from runlane.contract.values import CommittedRecord, RunRecord, SessionStatus


def session_status(view: LaneView) -> SessionStatus:
    """Return the state of the lane's session now, ``NONE`` for a lane without one."""
    state = view.session
    return state.session.status if state is not None and state.session is not None else SessionStatus.NONE


def stored_entry(view: LaneView, record: RunRecord, digest: bytes) -> KeyEntry | None:
    """Return the entry of the identical stored record, None when the key is free.

    Raises ``EventConflict`` when the key is used with any difference (contract 2.1).
    """
    entry = view.key(record.run_id, record.event_key)
    if entry is not None and entry.digest != digest:
        raise EventConflict(
            "the event key is already used in this run with different content",
            run_id=record.run_id,
            event_key=record.event_key,
        )
    return entry


class Step:
    """Collects what one command writes; ``status`` is the session's state, on every record and result."""

    __slots__ = ("_keys", "_lane_seq", "_meta", "_records", "_seqs", "_view", "status")

    def __init__(self, view: LaneView, meta: Meta) -> None:
        self.status = session_status(view)
        self._view = view
        self._meta = meta
        self._lane_seq = view.next_lane_seq
        self._seqs: dict[str, int] = {}
        self._records: list[CommittedRecord] = []
        self._keys: list[tuple[str, str, KeyEntry]] = []

    def found(self, entry: KeyEntry) -> AppendResult:
        """Return the answer for a record that is stored already."""
        return AppendResult(str(entry.seq), False, self.status)

    def append(self, record: RunRecord, digest: bytes) -> AppendResult:
        """Add a record whose key is free."""
        run_id = record.run_id
        seq = self._seqs.get(run_id) or self._view.next_seq(run_id)
        self._seqs[run_id] = seq + 1
        self._records.append(self._commit(record, seq))
        self._lane_seq += 1
        self._keys.append((run_id, record.event_key, KeyEntry(seq, digest)))
        return AppendResult(str(seq), True, self.status)

    def put(self, record: RunRecord) -> AppendResult:
        """Add a record, or find the identical one; raises ``EventConflict``."""
        digest = record_digest(record)
        entry = stored_entry(self._view, record, digest)
        return self.append(record, digest) if entry is None else self.found(entry)

    def compare(self, record: RunRecord) -> AppendResult:
        """Find a record whose key is used; raises ``EventConflict`` when its content differs."""
        entry = stored_entry(self._view, record, record_digest(record))
        assert entry is not None, "the key of a stored lifecycle record is used"
        return self.found(entry)

    def changes(
        self,
        *runs: RunState,
        claim: RunClaim | None = None,
        checkpoint: Checkpoint | None = None,
    ) -> Changes:
        """Return all that the step adds, with the new states of ``runs``."""
        return Changes(tuple(self._records), runs, None, claim, checkpoint, tuple(self._keys))

    def _commit(self, record: RunRecord, seq: int) -> CommittedRecord:
        assert record.timestamp is not None, "a record is validated before it is added"
        return CommittedRecord(
            self._view.lane,
            self._lane_seq,
            seq,
            record.run_id,
            record.agent_id,
            record.session_id,
            record.turn_id,
            record.event_key,
            record.type,
            bytes(record.payload),
            to_utc(record.timestamp),
            self._meta.now,
            self.status,
            self._meta.partition,
            self._meta.block,
        )
