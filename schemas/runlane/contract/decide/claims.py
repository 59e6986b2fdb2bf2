"""Claiming a run id for a lane, for ever (contract 0; design, Run ids)."""

from __future__ import annotations

from runlane.contract.commands import ClaimReceipt, ClaimRun
from runlane.contract.decide.decision import Decision, Meta
from runlane.contract.errors import NotPermitted, RunConflict, WrongLane
from runlane.contract.ids import run_lane
from runlane.contract.outcomes import ClaimResult
from runlane.contract.state import Changes, LaneView, RunClaim
from runlane.contract.validate.commands import validate_before_send


def claim_run(view: LaneView, command: ClaimRun, meta: Meta) -> Decision:
    """Claim ``run_id`` for ``lane``, or find it claimed for it; another lane is ``RunConflict``."""
    validate_before_send(command)
    home = run_lane(command.run_id)
    if view.lane != home:
        raise WrongLane("the claim of this run is held by another lane", lane=home)
    claim = find_claim(view, command.run_id, command.lane)
    if claim is not None:
        return Decision(ClaimResult(_receipt(claim, meta), False), None)
    claim = RunClaim(command.run_id, command.lane, meta.block)
    return Decision(ClaimResult(_receipt(claim, meta), True), None, Changes(claim=claim))


def find_claim(view: LaneView, run_id: str, lane: str) -> RunClaim | None:
    """Return the claim of ``run_id`` for ``lane``, None without one; another lane's is ``RunConflict``."""
    claim = view.claim(run_id)
    if claim is not None and claim.lane != lane:
        raise RunConflict("the run id is claimed by another lane")
    return claim


def check_receipt(view: LaneView, receipt: ClaimReceipt | None, run_id: str, meta: Meta) -> None:
    """Raise ``NotPermitted`` unless the start carries a true receipt for this run and this lane."""
    if receipt is None or not meta.receipt_valid or (receipt.run_id, receipt.lane) != (run_id, view.lane):
        raise NotPermitted("a start needs a true claim receipt of its run")


def _receipt(claim: RunClaim, meta: Meta) -> ClaimReceipt:
    return ClaimReceipt(claim.run_id, claim.lane, meta.partition, claim.block, "", b"")
