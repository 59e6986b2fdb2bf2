"""The record types of the contract (contract 1.8)."""

from __future__ import annotations

from typing import Final

RUN_STARTED: Final = "run_started"
CHILD_RUN_LINKED: Final = "child_run_linked"
CANCELLATION_INTENT: Final = "runtime.cancellation_intent"
RUN_SUSPENDED: Final = "run_suspended"
RUN_COMPLETED: Final = "run_completed"
LIFECYCLE_TYPES: Final = frozenset(
    {RUN_STARTED, CHILD_RUN_LINKED, CANCELLATION_INTENT, RUN_SUSPENDED, RUN_COMPLETED}
)
"""Only a lifecycle operation writes these."""

TRANSCRIPT_SEEDED: Final = "transcript_messages_seeded"
TRANSCRIPT_APPENDED: Final = "transcript_messages_appended"
TRANSCRIPT_TYPES: Final = frozenset({TRANSCRIPT_SEEDED, TRANSCRIPT_APPENDED})
"""Their payloads are decoded whole at the append, so that a replay can never fail (contract 0)."""

SESSION_CREATED: Final = "session_created"
SESSION_ENDED: Final = "session_ended"
SESSION_PURGED: Final = "session_purged"
LANE_EVENT_TYPES: Final = frozenset({SESSION_CREATED, SESSION_ENDED, SESSION_PURGED})
"""Records of a lane itself: no run, ``seq`` 0 (design, Committing)."""

SESSION_ENDED_REASON: Final = "session_ended"
"""Reason of a start that found its session ended (contract 3)."""
ENGINE_CANCELED_REASON: Final = "engine_canceled"
"""Reason of a canceled completion that nobody asked for (contract 1.11, 3)."""
