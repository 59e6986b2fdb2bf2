"""An agent loop that may be killed at any moment: it goes on from its records and repeats nothing.

    runlane up --data stack                                  (in another terminal)
    python examples/agent_loop.py stack/connection.json trip --desk desk.jsonl

Everything it does is decided from what is stored. Kill it, start it again with the same run id, and it takes
the next step that is not stored yet. The model is a fake that counts its calls; the tools write to a desk
file, as a booking system would keep its orders.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
from pathlib import Path
from typing import Any

from runlane.client import Run, RunStore
from runlane.contract.errors import EventConflict, RunNotFound
from runlane.contract.values import RunStatus
from runlane.transcript import (
    Message,
    TextPart,
    ToolCallIds,
    ToolResultPart,
    ToolUsePart,
    build_messages_from_run_log,
    encode_messages,
    tool_result_content,
    tool_result_part,
    validate_planner_transcript,
)

AGENT = "travel-agent"
QUESTION = Message("user", (TextPart("A room in Lyon for three nights, please."),))


class Desk:
    """The world outside: a file of what was done. An order has the id of the tool call that placed it."""

    def __init__(self, file: Path, seconds: float) -> None:
        self._file = file
        self._seconds = seconds

    def note(self, **done: Any) -> None:
        """Add a line."""
        with self._file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(done) + "\n")

    async def call(self, tool: str, call_id: str) -> bytes:
        """Do what a tool does and return its result. An order that was placed already is not placed again."""
        self.note(did="call", tool=tool, id=call_id)
        if tool == "search":
            return b'{"hotel":"Bellecour","price":1.50}'
        lines = self._file.read_text(encoding="utf-8").splitlines()
        if not any(json.loads(line) == {"did": "order", "id": call_id} for line in lines):
            self.note(did="order", id=call_id)
        # A slow partner: here it is killed in the test, with the order placed and its result stored nowhere.
        await asyncio.sleep(self._seconds)
        return b'{"order":4711}'


def model(messages: list[Message], desk: Desk) -> Message:
    """What a model would say next: search, then book, then tell."""
    results = [part for message in messages for part in message.parts if isinstance(part, ToolResultPart)]
    desk.note(did="model", results=len(results))
    match len(results):
        case 0:
            return Message("assistant", (ToolUsePart("m-1", "search", b'{"city":"Lyon","nights":3}'),))
        case 1:
            return Message("assistant", (ToolUsePart("m-2", "book", b'{"hotel":"Bellecour"}'),))
        case _:
            return Message("assistant", (TextPart("Booked: Bellecour, order 4711."),))


async def work(store: RunStore, run_id: str, desk: Desk) -> list[Message]:
    """Bring a run to its end, from wherever its records say that it is."""
    try:
        meta = await store.load_run(run_id)
    except RunNotFound:
        started_at = None
    else:
        if meta.status is not RunStatus.RUNNING:
            return await transcript(store, run_id)
        # The same start again is an exact retry.
        started_at = meta.started_at
    async with store.run(run_id, AGENT, started_at=started_at) as run:
        await say(run, "transcript_messages_seeded", 0, QUESTION)
        while (step := await transcript(store, run_id)) and not finished(step):
            last = step[-1]
            uses = [part for part in last.parts if isinstance(part, ToolUsePart)]
            if last.role == "assistant" and uses:
                results = [await answer(run, use, desk) for use in uses]
                await say(run, "transcript_messages_appended", len(step), Message("user", tuple(results)))
            else:
                await say(run, "transcript_messages_appended", len(step), model(step, desk))
    return await transcript(store, run_id)


async def answer(run: Run, use: ToolUsePart, desk: Desk) -> ToolResultPart:
    """Call a tool and record the call, by our id of it; the transcript answers by the model's."""
    ids = ToolCallIds(tool_call_id=f"{run.run_id}/{use.id}", model_tool_call_id=use.id)
    scheduled = {
        "ToolCallID": ids.tool_call_id,
        "ModelToolCallID": ids.model_tool_call_id,
        "ToolName": use.name,
    }
    await record(run, "tool_call_scheduled", scheduled, f"{use.id}/scheduled")
    result = await desk.call(use.name, ids.tool_call_id)
    received = {
        "call_run_id": run.run_id,
        "tool_call_id": ids.tool_call_id,
        "tool_name": use.name,
        "result_json": json.loads(result),
        "duration": 0,
    }
    await record(run, "tool_result_received", received, f"{use.id}/result")
    return tool_result_part(ids, tool_result_content(result))


async def say(run: Run, kind: str, number: int, message: Message) -> None:
    """Append a message as number ``number`` of the transcript."""
    await record(run, kind, encode_messages([message]), f"message-{number}")


async def record(run: Run, kind: str, payload: Any, key: str) -> None:
    """Append a record under the key of its step. What an earlier life has stored under it stays."""
    with contextlib.suppress(EventConflict):
        await run.append(kind, payload, event_key=key)


async def transcript(store: RunStore, run_id: str) -> list[Message]:
    """Return the run's messages."""
    messages = await build_messages_from_run_log(store, run_id)
    return [message for message in messages if message is not None]


def finished(messages: list[Message]) -> bool:
    """Whether the last message is the agent's last word."""
    last = messages[-1]
    return last.role == "assistant" and not any(isinstance(part, ToolUsePart) for part in last.parts)


async def main() -> None:
    """Run the loop and print the conversation."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("connection", help="connection.json of a running stack")
    parser.add_argument("run_id", help="the run to start, or to go on with")
    parser.add_argument("--desk", type=Path, default=Path("desk.jsonl"), help="the booking system's file")
    parser.add_argument("--seconds", type=float, default=0.0, help="how long a booking takes")
    given = parser.parse_args()
    async with RunStore.from_connection(given.connection) as store:
        messages = await work(store, given.run_id, Desk(given.desk, given.seconds))
    validate_planner_transcript(messages)
    for message in messages:
        print(f"{message.role}: {message.parts}")


if __name__ == "__main__":
    asyncio.run(main())
