"""Run ids: claimed once, and every start in the lane that its claim names (design, Run ids)."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from runlane.contract.outcomes import ClaimResult
from runlane.service.verify.answers import AnswerCheck
from runlane.service.verify.report import Place, Report
from runlane.service.verify.rows import Row


def check_claims(rows: Iterable[Row], answers: AnswerCheck, report: Report) -> None:
    """Report faulty claims, starts and receipts; ``rows`` are those, ordered by run id."""
    for _, found in groupby(rows, key=lambda row: row.run_id):
        _check_run(list(found), answers, report)


def _check_run(rows: list[Row], answers: AnswerCheck, report: Report) -> None:
    claims = [row for row in rows if row.kind == "claim"]
    for again in claims[1:]:
        report.add(_place(again).fault("claim_doubled", "the run id was claimed before"))
    starts = [row for row in rows if row.kind == "record"]
    for again in starts[1:]:
        report.add(_place(again).fault("run_doubled", "the run id started before"))
    for row in starts:
        if not claims:
            report.add(_place(row).fault("claim_missing", "a start whose run id nobody claimed"))
        elif claims[0].body != row.lane:
            report.add(_place(row).fault("claim_foreign", "a start in another lane than its claim names"))
    for row in rows:
        if row.kind == "answer" and not _true_receipt(row, claims, answers):
            report.add(_place(row).fault("receipt_wrong", "a receipt for a claim that is not there"))


def _true_receipt(row: Row, claims: list[Row], answers: AnswerCheck) -> bool:
    outcome = answers.outcome(row)
    if outcome is None or not isinstance(outcome.result, ClaimResult):
        return False
    receipt = outcome.result.receipt
    said = (receipt.run_id, receipt.lane, receipt.partition, receipt.block)
    return any(said == (claim.run_id, claim.body, claim.partition, claim.block) for claim in claims)


def _place(row: Row) -> Place:
    return Place(row.partition, row.block, row.lane)
