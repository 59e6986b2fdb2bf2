import re
from pathlib import Path

import pytest

from runlane.contract.commands import AppendRunRecord, EndSession, PurgeSession
from runlane.store.migrate import migrations
from tests.store.world import (
    NOON,
    World,
    a_note,
    a_record,
    a_start,
    a_usage,
    completed,
    suspended,
)

TEXT = (Path(__file__).parents[2] / "docs" / "journal.md").read_text()
EXAMPLES = re.findall(r"```sql\n(.*?)```", TEXT, re.DOTALL)
(VIEWS,) = (one.creates for one in migrations() if one.name == "0002_views.sql")
SECRET = b"S3CR3T checkpoint"


@pytest.fixture
def told(world: World) -> World:
    """Two runs of a session, one of a purged session, refusals, a tool call, tokens, a checkpoint."""
    run, other, gone = (
        a_start("run-1", "support-42"),
        a_start("run-2", "support-42"),
        a_start("gone", "purged"),
    )
    lane = world.session(0, "support-42")
    world.start(0, run)
    world.start(0, other)
    tool = a_record(run, "call", "tool_call_scheduled", b'{"ToolName":"search","ToolCallID":"1"}')
    world.commit(0, (lane, a_note(run, 1)), (lane, a_usage(run, 1, 40)), (lane, a_usage(run, 2, 2)))
    world.commit(0, (lane, AppendRunRecord(tool)), (lane, suspended(other, SECRET)))
    world.commit(0, (lane, completed(run)), (lane, a_note(run, 9)), (lane, a_note(a_start("none"), 1)))
    purged = world.session(1, "purged")
    world.start(1, gone)
    world.commit(
        1, (purged, completed(gone)), (purged, a_note(gone, 9)), (purged, EndSession("purged", NOON))
    )
    world.commit(1, (purged, PurgeSession("purged")))
    return world


def test_every_example_of_the_page_runs_and_finds_something(told: World) -> None:
    assert len(EXAMPLES) >= 6
    for sql in EXAMPLES:
        # The examples ask about now; the journal here is of another day.
        rows = told.pool.query(
            re.sub(r"now64\(6\)|now\(\)", "toDateTime64('2026-04-01 00:00:00', 6, 'UTC')", sql)
        )
        assert rows, sql


def test_every_view_and_kind_of_row_is_on_the_page(told: World) -> None:
    assert sorted(re.findall(r"^\| `(v_\w+)` \|", TEXT, re.MULTILINE)) == sorted(VIEWS)
    kinds = {kind for (kind,) in told.pool.query("SELECT DISTINCT kind FROM journal")}
    assert kinds | {"kind"} == set(re.findall(r"^\| `([a-z]+)` \| ", TEXT, re.MULTILINE))


def test_the_views_say_what_happened(told: World) -> None:
    query = told.pool.query
    assert query("SELECT run_id, status, labels['a'] FROM v_runs ORDER BY run_id") == [
        ("run-1", "completed", "b"),
        ("run-2", "suspended", "b"),
    ]
    assert query("SELECT session_id, status, isNull(ended_at) FROM v_sessions") == [
        ("support-42", "active", 1)
    ]
    assert query(
        "SELECT run_id, model, input_tokens, output_tokens, total_tokens, calls FROM v_token_use"
    ) == [("run-1", "m", 42, 4, 46, 2)]
    assert query("SELECT records, runs FROM v_records_by_type WHERE type = 'usage'") == [(2, 1)]
    assert query("SELECT tool FROM v_records WHERE type = 'tool_call_scheduled'") == [("search",)]
    assert query("SELECT count(), min(seq) FROM v_records WHERE run_id = 'run-1'") == [(6, 1)]
    assert query("SELECT operation, code FROM v_refused_commands ORDER BY position") == [
        ("append_run_record", "run_not_active"),
        ("append_run_record", "run_not_found"),
    ]
    assert query("SELECT lane FROM v_purged") == [("s/purged",)]


@pytest.mark.guarantee("G7")
def test_no_view_shows_a_checkpoint_or_a_purged_sessions_rows(told: World) -> None:
    for name in VIEWS:
        if name == "v_purged":
            continue
        shown = repr(told.pool.query(f"SELECT * FROM {name}"))
        assert "S3CR3T" not in shown
        assert "UzNDUjNU" not in shown
        assert "gone" not in shown
        assert "s/purged" not in shown
