"""What operations are called; journals hold these names for ever."""

from typing import get_args

from runlane.contract.commands import Command, operation_name


def test_each_operation_is_called_by_the_name_that_journals_hold() -> None:
    assert {operation_name(kind) for kind in get_args(Command)} == {
        "claim_run",
        "start_root_run",
        "start_child_run",
        "start_one_shot_run",
        "start_one_shot_child_run",
        "append_run_record",
        "record_run_cancellation",
        "record_run_suspension",
        "record_run_terminal",
        "ensure_run_terminal",
        "ensure_run_suspension",
        "create_session",
        "end_session",
        "purge_session",
    }
