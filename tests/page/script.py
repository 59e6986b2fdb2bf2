"""What scenes are written with: messages, and records at moments counted from a run's start."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from tests.page.world import Run


def text(role: str, *parts: dict[str, Any]) -> dict[str, Any]:
    """One transcript message."""
    return {"role": role, "parts": list(parts), "meta": None}


def says(words: str) -> dict[str, Any]:
    """A text part."""
    return {"kind": "text", "text": words}


class Script:
    """Appends to a run at moments counted in seconds from its start."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.turn = ""

    def at(self, seconds: float) -> datetime:
        """The instant `seconds` after the run's start."""
        return self.run.started_at + timedelta(milliseconds=round(seconds * 1000))

    def put(self, seconds: float, type_: str, payload: Any) -> int:
        """Append a record."""
        return self.run.add(type_, payload, at=self.at(seconds), turn=self.turn)

    def call(self, start: float, end: float | None, tool: str, result: str = "", **more: Any) -> str:
        """Append a tool call and, unless it still runs, its result."""
        call = f"call_{next(self.run.calls)}"
        scheduled = {
            "ToolCallID": call,
            "ModelToolCallID": f"toolu_{self.run.id[-4:]}{call}",
            "ToolName": tool,
            "Payload": more.get("args", {"query": f"service:checkout-api {tool}", "limit": 500}),
            "Queue": "tools-default",
            "DisplayHint": more.get("hint", ""),
        }
        self.put(start, "tool_call_scheduled", scheduled)
        if end is not None:
            self.result(end, call, tool, result, seconds=end - start, failure=more.get("failure"))
        return call

    def result(
        self, at: float, call: str, tool: str, result: str, *, seconds: float = 0, failure: Any = None
    ) -> None:
        """Append a result."""
        body: dict[str, Any] = {"call_run_id": self.run.id, "tool_call_id": call, "tool_name": tool}
        body["duration"] = round(seconds * 1e9)
        if failure:
            body["failure"] = failure
        else:
            body |= {"result_json": {"hits": 3, "summary": result}, "result_preview": result}
        self.put(at, "tool_result_received", body)

    def think(self, at: float, words: str) -> None:
        """Append a thinking block."""
        block = {"Text": words, "Signature": "sig", "Redacted": None, "ContentIndex": 0, "Final": True}
        self.put(at, "thinking_block", block)

    def say(self, at: float, words: str, *parts: dict[str, Any]) -> None:
        """Append an assistant message and the transcript that holds it."""
        self.put(at, "transcript_messages_appended", [text("assistant", *parts, says(words))])
        self.put(at, "assistant_message", {"Message": words, "Structured": None})

    def usage(self, at: float, tokens: int) -> None:
        """Append token use."""
        self.put(
            at,
            "usage",
            {"Model": "m-large", "InputTokens": tokens - 200, "OutputTokens": 200, "TotalTokens": tokens},
        )


def tool_use(call: str, run: Run, name: str) -> dict[str, Any]:
    """The transcript's side of a call."""
    return {"kind": "tool_use", "id": f"toolu_{run.id[-4:]}{call}", "name": name, "input": {"limit": 500}}
