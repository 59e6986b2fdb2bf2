"""One partition's share of a window, and its message on the topic ``runlane.activity``."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import Final, cast

from runlane import strictjson
from runlane.contract.errors import InvalidCommand
from runlane.contract.ids import check_id
from runlane.contract.payloads.text import dump
from runlane.contract.times import EPOCH
from runlane.contract.topics import TopicMessage

ACTIVITY_SCHEMA: Final = "runlane.activity.v1"
"""What the header ``schema`` says of a share."""
WINDOW_SECONDS: Final = 60
_WINDOW: Final = timedelta(seconds=WINDOW_SECONDS)
_MAX_MESSAGE_BYTES: Final = 64 * 1024
_MAX_COUNT: Final = 2**63
_PAIR: Final = 2


@dataclass(frozen=True, slots=True)
class ActivityShare:
    """What one agent did within one window, as far as one partition of the records tells.

    ``revision`` is how many records it counts, so of two shares of one (agent, window, partition) the one
    with the greater revision is the later one. ``running`` is how many runs are running at the window's end,
    or now. ``tool_latency_ms`` counts tool results by bucket (``bucket_of``).
    """

    agent_id: str
    partition: int
    window_start: datetime
    revision: int = 0
    starts: int = 0
    completions: int = 0
    failures: int = 0
    cancellations: int = 0
    suspensions: int = 0
    running: int = 0
    tokens: int = 0
    tool_calls: int = 0
    tool_failures: int = 0
    tool_latency_ms: tuple[tuple[int, int], ...] = ()

    @property
    def identity(self) -> tuple[str, datetime, int]:
        """What makes two shares the same one, of which the greater revision holds."""
        return self.agent_id, self.window_start, self.partition


def window_start(instant: datetime) -> datetime:
    """Return when the window of an instant begins: tumbling windows, cut at whole minutes of UTC."""
    return EPOCH + (instant - EPOCH) // _WINDOW * _WINDOW


def share_message(share: ActivityShare) -> TopicMessage:
    """Return the message of a share, its agent the key: all shares of an agent lie in one partition."""
    headers = (("schema", ACTIVITY_SCHEMA.encode()),)
    return TopicMessage(share.agent_id.encode(), encode_share(share), headers)


def encode_share(share: ActivityShare) -> bytes:
    """Return the JSON object of a share."""
    value: dict[str, object] = {name: getattr(share, name) for name in _NAMES}
    value["window_start"] = share.window_start.strftime("%Y-%m-%dT%H:%M:%SZ")
    return dump(value)


def decode_share(data: bytes | None) -> ActivityShare:
    """Read what ``encode_share`` wrote; members of later releases are ignored. ``InvalidCommand`` else."""
    try:
        value: object = strictjson.loads(data or b"", max_bytes=_MAX_MESSAGE_BYTES)
    except strictjson.StrictJsonError:
        value = None
    if not isinstance(value, dict):
        raise _refused()
    members = cast("dict[str, object]", value)
    agent_id = members.get("agent_id")
    if not isinstance(agent_id, str) or not agent_id:
        raise _refused()
    check_id(agent_id, "agent_id")
    counts = {name: _count(members.get(name)) for name in _COUNTS}
    return ActivityShare(
        agent_id=agent_id,
        window_start=_start(members.get("window_start")),
        tool_latency_ms=_buckets(members.get("tool_latency_ms")),
        **counts,
    )


def _count(value: object) -> int:
    if type(value) is int and 0 <= value < _MAX_COUNT:
        return value
    raise _refused()


def _start(value: object) -> datetime:
    try:
        instant = datetime.fromisoformat(value) if isinstance(value, str) else None
        if instant is not None and instant.utcoffset() is not None and window_start(instant) == instant:
            return window_start(instant)
    except (ValueError, OverflowError):
        pass
    raise _refused()


def _buckets(value: object) -> tuple[tuple[int, int], ...]:
    if not isinstance(value, list):
        raise _refused()
    items = cast("list[object]", value)
    pairs = [cast("list[object]", pair) for pair in items if isinstance(pair, list)]
    if len(pairs) != len(items) or any(len(pair) != _PAIR for pair in pairs):
        raise _refused()
    return tuple((_count(bucket), _count(count)) for bucket, count in pairs)


def _refused() -> InvalidCommand:
    return InvalidCommand("not the JSON object of a share of an activity window", code="activity_message")


_NAMES: Final = tuple(field.name for field in fields(ActivityShare))
_COUNTS: Final = tuple(name for name in _NAMES if name not in ("agent_id", "window_start", "tool_latency_ms"))
