"""`verify` sees each planted fault, and none in a sound journal."""

import pytest

from runlane.service.verify.report import MAX_FAULTS, Fault, Report
from tests.service.journal_faults import FAULTS
from tests.service.journal_in_hand import verify_rows
from tests.service.journals import erase_nothing, sound_journal
from tests.service.planting import Rows, Spoil, resealed


@pytest.fixture(scope="module")
def journal() -> Rows:
    return sound_journal()


def codes(report: Report) -> set[str]:
    return {fault.code for fault in report.faults}


def test_a_sound_journal_has_no_fault(journal: Rows) -> None:
    report = verify_rows(journal)

    assert (report.blocks, report.commands, report.records, report.faults) == (19, 37, 31, [])


def test_resealing_alone_makes_no_fault(journal: Rows) -> None:
    assert verify_rows(resealed(journal)).as_json()["faults"] == []


@pytest.mark.parametrize(("spoil", "code"), FAULTS, ids=lambda value: getattr(value, "__name__", None))
def test_a_planted_fault_is_reported(journal: Rows, spoil: Spoil, code: str) -> None:
    spoiled = spoil(journal)

    report = verify_rows(spoiled)

    assert sorted(spoiled) != sorted(journal)
    assert code in codes(report)
    assert not report.sound


@pytest.mark.parametrize(("spoil", "code"), FAULTS, ids=lambda value: getattr(value, "__name__", None))
def test_no_report_holds_a_payload(journal: Rows, spoil: Spoil, code: str) -> None:
    report = verify_rows(spoil(journal))

    assert code in codes(report)
    assert "ünï" not in str(report.as_json())


def test_an_erase_that_has_not_come_yet_is_reported() -> None:
    assert codes(verify_rows(erase_nothing())) == {"purged_rows"}


def test_a_lane_purged_meanwhile_is_forgiven() -> None:
    report = Report()
    report.add(Fault("rows_missing", "x", 0, 1, "s/a"))
    report.add(Fault("rows_missing", "x", 0, 1, "s/b"))

    report.forgive({"s/a"})

    assert [fault.lane for fault in report.faults] == ["s/b"]


def test_more_faults_than_are_kept_are_counted() -> None:
    report = Report()
    for number in range(MAX_FAULTS + 5):
        report.add(Fault("row_changed", "x", 0, number))

    faults = report.as_json()["faults"]

    assert not report.sound
    assert len(faults) == MAX_FAULTS + 1
    assert faults[-1]["message"].startswith("5 more")
