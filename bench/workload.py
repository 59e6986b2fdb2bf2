"""The commands that are measured: runs of an agent with records of 300 to 500 bytes of payload."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from runlane.contract.codec import Headers, command_headers, encode_command
from runlane.contract.commands import AppendRunRecord, Command, StartOneShotRun
from runlane.contract.ids import run_lane
from runlane.contract.partitioner import partition_for
from runlane.contract.payloads import RunStarted
from runlane.contract.signing import Key, Keyring
from runlane.contract.values import RunRecord, RunStart

HOST_KEYS: Final = Keyring([Key("host", b"h" * 32)])
RECEIPT_KEYS: Final = Keyring([Key("owner", b"o" * 32)])
AT: Final = datetime(2026, 3, 1, 9, 0, 0, tzinfo=UTC)
AGENT: Final = "bench.agent"
_TEXT: Final = (
    "The quarterly numbers are in: revenue rose by 4.2 %, the open question is what drove returns. "
)


@dataclass(frozen=True, slots=True)
class Produced:
    """One command as it is produced."""

    partition: int
    key: bytes
    value: bytes
    headers: Headers


def commands(lanes: int, count: int, *, prefix: str = "run") -> Iterator[tuple[str, Command]]:
    """Yield ``count`` commands over ``lanes`` sessionless runs: each run's start, then its records."""
    for number in range(count):
        turn, lane = divmod(number, lanes)
        run_id = f"{prefix}-{lane:06d}"
        yield run_lane(run_id), append(run_id, turn) if turn else start(run_id)


def start(run_id: str) -> StartOneShotRun:
    """Return the start of a run."""
    run = RunStart(run_id=run_id, agent_id=AGENT, started_at=AT)
    return StartOneShotRun(run, record(run_id, "start", "run_started", RunStarted().encode()))


def append(run_id: str, turn: int) -> AppendRunRecord:
    """Return a run's record of one turn; four kinds follow each other."""
    kind, payload = _payload(turn)
    return AppendRunRecord(record(run_id, f"turn-{turn}/{kind}", kind, payload))


def encoded(
    lanes: int, count: int, *, partitions: int, replies: int = 1, prefix: str = "run"
) -> Iterator[Produced]:
    """Yield ``commands`` as they are produced; the correlation id is the command's number."""
    for number, (lane, command) in enumerate(commands(lanes, count, prefix=prefix)):
        yield produced(lane, command, number, partitions=partitions, replies=replies)


def produced(lane: str, command: Command, number: int, *, partitions: int, replies: int) -> Produced:
    """Return a command as it is produced, with its number as correlation id."""
    key = lane.encode()
    headers = command_headers(f"{number:08d}", number % replies)
    return Produced(partition_for(key, partitions), key, encode_command(command), headers)


def record(run_id: str, key: str, kind: str, payload: bytes) -> RunRecord:
    """Return a record of a run."""
    return RunRecord(
        event_key=key,
        run_id=run_id,
        agent_id=AGENT,
        turn_id="turn",
        type=kind,
        payload=payload,
        timestamp=AT,
    )


def _payload(turn: int) -> tuple[str, bytes]:
    call = f"call-{turn:06d}"
    match turn % 4:
        case 0:
            parts = [{"kind": "text", "text": _TEXT * 3}]
            messages = [{"role": "assistant", "parts": parts, "meta": None}]
            return "transcript_messages_appended", json.dumps(messages).encode()
        case 1:
            arguments = {"query": _TEXT * 2, "limit": turn, "exact": True}
            body = {"ToolCallID": call, "ToolName": "svc.search", "Payload": arguments, "Queue": "q"}
            return "tool_call_scheduled", json.dumps(body).encode()
        case 2:
            return "planner_note", json.dumps({"Note": _TEXT * 4, "Labels": None}).encode()
        case _:
            counts = {"InputTokens": 1_200 + turn, "OutputTokens": 340, "TotalTokens": 1_540 + turn}
            names = {"Model": "model-1", "ModelClass": "default", "Note": _TEXT * 2}
            return "usage", json.dumps({**names, **counts}).encode()
