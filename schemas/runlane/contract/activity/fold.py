"""The fold of one partition's records, in the order of its chain, into shares of activity windows."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from runlane.contract.activity.latency import bucket_of
from runlane.contract.activity.shares import ActivityShare, window_start
from runlane.contract.payloads import (
    RUN_COMPLETED,
    RUN_STARTED,
    RUN_SUSPENDED,
    SESSION_PURGED,
    ToolResultReceived,
    Usage,
)
from runlane.contract.payloads.stated import stated_members
from runlane.contract.times import EPOCH
from runlane.contract.values import CommittedRecord

RunningRuns = tuple[str, str, int]
"""A lane, an agent, and how many of its runs are running there."""


@dataclass(slots=True)
class _Counts:
    revision: int = 0
    starts: int = 0
    completions: int = 0
    failures: int = 0
    cancellations: int = 0
    suspensions: int = 0
    tokens: int = 0
    tool_calls: int = 0
    tool_failures: int = 0
    latency: Counter[int] = field(default_factory=Counter[int])


class ActivityFold:
    """Folds each record once: ``take`` them in chain order, then ``news`` are the shares that changed.

    Time is the commit's, which never falls inside a partition, so no record is late and a window that was
    left is final. ``running`` is what ran when the first record was committed.
    """

    def __init__(self, partition: int, running: Iterable[RunningRuns] = ()) -> None:
        self._partition = partition
        self._lanes: dict[str, Counter[str]] = defaultdict(Counter)
        self._running: Counter[str] = Counter()
        self._window: datetime = EPOCH
        self._counts: dict[str, _Counts] = {}
        self._changed: dict[str, None] = {}
        self._closed: list[ActivityShare] = []
        self._quiet: list[str] = []
        for lane, agent_id, runs in running:
            self._run(lane, agent_id, runs)

    def take(self, record: CommittedRecord) -> None:
        """Count a record or lane event."""
        if not record.run_id:
            if record.type == SESSION_PURGED:
                self._purge(record.lane)
            return
        start = window_start(record.committed_at)
        if start > self._window:
            self._leave(start)
        agent_id = record.agent_id
        counts = self._counts.setdefault(agent_id, _Counts())
        counts.revision += 1
        count = _RULES.get(record.type)
        if count is not None:
            count(counts, record.payload)
        if record.type == RUN_STARTED:
            self._run(record.lane, agent_id, 1)
        elif record.type in (RUN_COMPLETED, RUN_SUSPENDED):
            self._run(record.lane, agent_id, -1)
        self._changed[agent_id] = None

    def news(self) -> Sequence[ActivityShare]:
        """Return the shares that changed since the last call, each as it is now."""
        closed, self._closed = self._closed, []
        changed, self._changed = self._changed, {}
        return [*closed, *(self._share(agent_id) for agent_id in changed)]

    def still_running(self, now: datetime) -> Sequence[ActivityShare]:
        """Return empty shares of the window of ``now`` for agents that run and did nothing in it.

        Only true when every record committed so far was taken. They count no record, so any other share wins.
        Who ran at the last call and runs no more is told of once, with none running.
        """
        start = window_start(now)
        if start < self._window:
            return ()
        asked = dict.fromkeys([*self._running, *self._quiet])
        quiet = [one for one in asked if start > self._window or one not in self._counts]
        # Whose runs have ended since is told once more: that nothing runs.
        self._quiet = [one for one in quiet if self._running[one]]
        return [
            ActivityShare(agent_id, self._partition, start, running=self._running[agent_id])
            for agent_id in quiet
        ]

    def _share(self, agent_id: str) -> ActivityShare:
        counts = self._counts[agent_id]
        return ActivityShare(
            agent_id=agent_id,
            partition=self._partition,
            window_start=self._window,
            revision=counts.revision,
            starts=counts.starts,
            completions=counts.completions,
            failures=counts.failures,
            cancellations=counts.cancellations,
            suspensions=counts.suspensions,
            running=self._running[agent_id],
            tokens=counts.tokens,
            tool_calls=counts.tool_calls,
            tool_failures=counts.tool_failures,
            tool_latency_ms=tuple(sorted(counts.latency.items())),
        )

    def _leave(self, start: datetime) -> None:
        self._closed = list(self.news())
        self._window = start
        self._counts = {}

    def _run(self, lane: str, agent_id: str, runs: int) -> None:
        agents = self._lanes[lane]
        for counter in (agents, self._running):
            counter[agent_id] += runs
            if counter[agent_id] <= 0:
                del counter[agent_id]
        if not agents:
            del self._lanes[lane]

    def _purge(self, lane: str) -> None:
        """Let go of the runs that a purge found running; the minute tells of it with its next record."""
        for agent_id, runs in list(self._lanes.get(lane, Counter[str]()).items()):
            self._run(lane, agent_id, -runs)


def _number(payload: Mapping[str, Any], name: str) -> int:
    value = payload.get(name)
    return value if type(value) is int and 0 <= value < 2**53 else 0


def _count_start(counts: _Counts, _payload: bytes) -> None:
    counts.starts += 1


def _count_suspension(counts: _Counts, _payload: bytes) -> None:
    counts.suspensions += 1


def _count_end(counts: _Counts, payload: bytes) -> None:
    match stated_members(payload).get("status"):
        case "failed":
            counts.failures += 1
        case "canceled":
            counts.cancellations += 1
        case _:
            counts.completions += 1


def _count_tokens(counts: _Counts, payload: bytes) -> None:
    members = stated_members(payload)
    total = _number(members, "TotalTokens")
    counts.tokens += total or _number(members, "InputTokens") + _number(members, "OutputTokens")


def _count_tool(counts: _Counts, payload: bytes) -> None:
    members = stated_members(payload)
    counts.tool_calls += 1
    counts.tool_failures += bool(members.get("failure"))
    counts.latency[bucket_of(_number(members, "duration"))] += 1


_RULES: Final[Mapping[str, Callable[[_Counts, bytes], None]]] = {
    RUN_STARTED: _count_start,
    RUN_COMPLETED: _count_end,
    RUN_SUSPENDED: _count_suspension,
    ToolResultReceived.record_type: _count_tool,
    Usage.record_type: _count_tokens,
}
