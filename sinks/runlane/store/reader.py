"""The contract's reads over the journal (contract 2.11), and the searches for people.

A page is read after the states that say it exists, each from a snapshot of its own. Records never change, so a page can
only suffer from an erase that runs meanwhile: what looks like the end of a page is checked for a tombstone again.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from runlane.contract.errors import (
    RunNotFound,
    RunSuspensionNotFound,
    SessionNotFound,
    SessionPurged,
)
from runlane.contract.ids import run_lane, session_lane
from runlane.contract.limits import MAX_PAGE_BYTES
from runlane.contract.paging import check_limit, cut_page, parse_cursor
from runlane.contract.reader import RunPage, RunQuery, SessionPage, SessionScope
from runlane.contract.state import RunState
from runlane.contract.values import (
    CommittedRecord,
    Page,
    RunMeta,
    RunStatus,
    RunSuspension,
    Session,
    SessionStatus,
)
from runlane.store.engine import ClientPool
from runlane.store.search import search_runs
from runlane.store.sessions import list_sessions
from runlane.store.values import RECORD_COLUMNS, STATE_COLUMNS, record_of, run_of, session_of

_STATE: Final = ", ".join(STATE_COLUMNS)
_RECORD: Final = ", ".join(RECORD_COLUMNS)
_CLAIMED_LANE: Final = "SELECT body FROM journal WHERE lane = {home:String} AND kind = 'claim' LIMIT 1"
_RUN: Final = f"""
SELECT {_STATE} FROM journal
WHERE lane = {{lane:String}} AND kind IN ('run', 'tombstone') AND run_id IN ('', {{run:String}})
ORDER BY kind, block, row
"""
_CHECKPOINT: Final = """
SELECT event_key, body FROM journal
WHERE lane = {lane:String} AND kind = 'checkpoint' AND run_id = {run:String}
ORDER BY block DESC, row DESC LIMIT 1
"""
_SESSION: Final = f"""
SELECT {_STATE} FROM journal
WHERE lane = {{lane:String}} AND kind IN ('session', 'tombstone')
ORDER BY kind, block, row
"""
_RUNS: Final = f"""
SELECT {_STATE} FROM journal
WHERE lane = {{lane:String}} AND kind IN ('run', 'session', 'tombstone')
ORDER BY block, row
"""
_PURGED: Final = "SELECT 1 FROM journal WHERE lane = {lane:String} AND kind = 'tombstone' LIMIT 1"
_RUN_PAGE: Final = f"""
SELECT {_RECORD} FROM journal
WHERE lane = {{lane:String}} AND kind = 'record' AND run_id = {{run:String}} AND seq > {{after:UInt64}}
ORDER BY lane_seq LIMIT {{limit:UInt64}}
"""
_LANE_PAGE: Final = f"""
SELECT {_RECORD} FROM journal
WHERE lane = {{lane:String}} AND kind = 'record' AND lane_seq > {{after:UInt64}}
ORDER BY lane_seq LIMIT {{limit:UInt64}}
"""
_LANE_EVENTS: Final = 3
"""A lane has no more events than: session created, ended, purged."""
_PAGE_SETTINGS: Final = {
    "max_result_bytes": MAX_PAGE_BYTES + 1,
    "result_overflow_mode": "break",
    "max_block_size": 128,
}


class JournalReader:
    """Reads committed state; any number of threads may. Every read may raise ``Unavailable``."""

    def __init__(self, pool: ClientPool) -> None:
        self._pool = pool

    def load_run(self, run_id: str) -> RunMeta:
        """Return the run; ``RunNotFound``."""
        return self._run(run_id).meta()
