"""Recovery: what a crash between engine, store and stream left open is closed (contract 10).

await ensure_run_completion("r1", store=store, engine=engine, stream=Stream(sink))
"""

from runlane.client.recovery.activity import (
    CancellationOutcome,
    CancellationResult,
    Executor,
    StorageActivity,
)
from runlane.client.recovery.completion import ensure_child_run_link, ensure_run_completion
from runlane.client.recovery.patience import Patience
from runlane.client.recovery.ports import (
    Bus,
    CompletionStore,
    Engine,
    EngineCompletion,
    EngineOutput,
    EngineStatus,
    SuspensionOutput,
)

__all__ = [
    "Bus",
    "CancellationOutcome",
    "CancellationResult",
    "CompletionStore",
    "Engine",
    "EngineCompletion",
    "EngineOutput",
    "EngineStatus",
    "Executor",
    "Patience",
    "StorageActivity",
    "SuspensionOutput",
    "ensure_child_run_link",
    "ensure_run_completion",
]
