"""Whole windows of an agent: the shares of all partitions, added up."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from runlane.contract.activity.latency import percentile
from runlane.contract.activity.shares import ActivityShare

_HALF: Final = 0.5
_MOST: Final = 0.95


@dataclass(frozen=True, slots=True)
class ActivityWindow:
    """What one agent did within one window. Percentiles are upper bounds, at most an eighth too high."""

    agent_id: str
    window_start: datetime
    starts: int
    completions: int
    failures: int
    cancellations: int
    suspensions: int
    running: int
    tokens: int
    tool_calls: int
    tool_failures: int
    tool_latency_ms_p50: int | None
    tool_latency_ms_p95: int | None
    tool_latency_ms_max: int | None


def merge(shares: Iterable[ActivityShare]) -> Sequence[ActivityWindow]:
    """Return the windows of one agent's shares, oldest first.

    Of several shares of one window and partition the greatest revision counts. A partition without a share of
    a window goes on running what it ran at the end of its window before.
    """
    kept: dict[datetime, dict[int, ActivityShare]] = defaultdict(dict)
    for share in shares:
        known = kept[share.window_start].get(share.partition)
        if known is None or share.revision >= known.revision:
            kept[share.window_start][share.partition] = share
    running: dict[int, int] = {}
    windows: list[ActivityWindow] = []
    for start in sorted(kept):
        for share in kept[start].values():
            running[share.partition] = share.running
        windows.append(_window(tuple(kept[start].values()), sum(running.values())))
    return windows


def _window(shares: Sequence[ActivityShare], running: int) -> ActivityWindow:
    latency: Counter[int] = Counter()
    for share in shares:
        latency.update(dict(share.tool_latency_ms))
    return ActivityWindow(
        agent_id=shares[0].agent_id,
        window_start=shares[0].window_start,
        starts=sum(share.starts for share in shares),
        completions=sum(share.completions for share in shares),
        failures=sum(share.failures for share in shares),
        cancellations=sum(share.cancellations for share in shares),
        suspensions=sum(share.suspensions for share in shares),
        running=running,
        tokens=sum(share.tokens for share in shares),
        tool_calls=sum(share.tool_calls for share in shares),
        tool_failures=sum(share.tool_failures for share in shares),
        tool_latency_ms_p50=percentile(latency, _HALF),
        tool_latency_ms_p95=percentile(latency, _MOST),
        tool_latency_ms_max=max(latency, default=None),
    )
