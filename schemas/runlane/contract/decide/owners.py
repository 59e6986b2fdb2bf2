"""Finding the run that a command names, and the checks that every append shares (contract 2.1)."""

from __future__ import annotations

from runlane.contract.decide.step import stored_entry
from runlane.contract.digest import record_digest
from runlane.contract.errors import RunNotFound, RunRecordOwnerMismatch, WrongLane
from runlane.contract.ids import RUN_PREFIX, run_lane
from runlane.contract.state import KeyEntry, LaneView, RunState
from runlane.contract.values import RunRecord


def find_run(view: LaneView, run_id: str) -> RunState:
    """Return the run of a run-keyed command.

    Raises ``WrongLane`` in the lane that holds the run's claim when the claim names another one, else
    ``RunNotFound`` (design, Run ids).
    """
    run = view.run(run_id)
    if run is not None:
        return run
    check_claimed_here(view, run_id)
    raise RunNotFound("the run is unknown")


def check_claimed_here(view: LaneView, run_id: str) -> None:
    """Raise ``WrongLane`` where this lane holds claims of ``run_id`` and its claim names another lane.

    Without a claim there the run is nowhere: ``RunNotFound``.
    """
    if view.lane.startswith(RUN_PREFIX) and view.lane == run_lane(run_id):
        claim = view.claim(run_id)
        if claim is None:
            raise RunNotFound("the run is unknown")
        if claim.lane != view.lane:
            raise WrongLane("the run lives in another lane", lane=claim.lane)


def check_append(view: LaneView, run: RunState, record: RunRecord) -> tuple[bytes, KeyEntry | None]:
    """Check a valid record against its stored run; return its digest and the identical record's entry.

    Raises ``RunRecordOwnerMismatch``, then ``EventConflict``. The session of a stored run exists and is not
    purged: a purge removes the runs of its lane.
    """
    if record.agent_id != run.agent_id or record.session_id != run.session_id:
        raise RunRecordOwnerMismatch("record names another agent or session than the stored run")
    digest = record_digest(record)
    return digest, stored_entry(view, record, digest)
