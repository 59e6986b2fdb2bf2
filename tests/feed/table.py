"""The contract's table of stream events (section 8), read by hand: from a stored record to its events.

Nothing of our own mapping is used. JSON is compared as values: its bytes are for the golden lines to judge.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

Identity = tuple[str, str, str]
Payload = dict[str, Any]
TOOL_END = (
    "call_run_id",
    "tool_call_id",
    "parent_tool_call_id",
    "tool_name",
    "bounds",
    "duration",
    "telemetry",
    "failure",
)
LAST_PHASES = {"completed", "failed", "canceled", "suspended"}
USAGE = (
    "Model",
    "ModelClass",
    "InputTokens",
    "OutputTokens",
    "TotalTokens",
    "CacheReadTokens",
    "CacheWriteTokens",
)


def events(run_id: str, event_key: str, record_type: str, body: bytes) -> dict[Identity, Payload]:
    """The events of one record of an active session: payload by identity; server data under `server_data`."""
    found = TABLE.get(record_type)
    if found is None:
        return {}
    return {(run_id, name, event_key + suffix): payload for name, suffix, payload in found(json.loads(body))}


def without_empty(payload: Payload, *optional: str) -> Payload:
    """A payload without those of its optional members that are empty."""
    return {name: value for name, value in payload.items() if name not in optional or value}


def snake(body: Payload, **names: str) -> Payload:
    return {new: body[old] for new, old in names.items() if old in body}


def one(name: str, make: Callable[[Payload], Payload]) -> Callable[[Any], Iterator[tuple[str, str, Payload]]]:
    def rule(body: Any) -> Iterator[tuple[str, str, Payload]]:
        yield name, "", make(body)

    return rule


def tool_start(body: Payload) -> Payload:
    payload = snake(
        body,
        tool_call_id="ToolCallID",
        tool_name="ToolName",
        payload="Payload",
        display_hint="DisplayHint",
        queue="Queue",
        parent_tool_call_id="ParentToolCallID",
        expected_children_total="ExpectedChildrenTotal",
    )
    return without_empty(
        payload, "payload", "display_hint", "queue", "parent_tool_call_id", "expected_children_total"
    )


def tool_end(body: Payload) -> Payload:
    payload = {name: body[name] for name in TOOL_END if name in body}
    if "result_json" in body:
        payload["result"] = body["result_json"]
    if body.get("result_preview"):
        payload["result_preview"] = re.sub("[ \t\r\n]+", " ", body["result_preview"])[:140]
    if "server_data" in body:
        payload["server_data"] = body["server_data"]
    return without_empty(payload, "parent_tool_call_id", "bounds", "telemetry", "failure", "server_data")


def thought(body: Payload) -> Payload:
    payload = snake(
        body,
        text="Text",
        signature="Signature",
        redacted="Redacted",
        content_index="ContentIndex",
        final="Final",
    )
    if not body["Final"]:
        payload["note"] = body["Text"]
    return {name: value for name, value in payload.items() if value}


def turns(body: Sequence[Payload]) -> Iterator[tuple[str, str, Payload]]:
    for index, message in enumerate(body):
        texts = [part["text"] for part in message["parts"] or () if part["kind"] == "text"]
        if message["role"] == "assistant" and any(texts):
            yield "assistant_turn", f"/assistant/{index}", {"message": message}


def phase(body: Payload) -> Iterator[tuple[str, str, Payload]]:
    if body["Phase"] not in LAST_PHASES:
        yield "workflow", "", {"phase": body["Phase"]}


def ended(payload: Payload) -> Iterator[tuple[str, str, Payload]]:
    yield "workflow", "", payload
    yield "run_stream_end", "/run_stream_end", {}


def completed(body: Payload) -> Iterator[tuple[str, str, Payload]]:
    names = ("phase", "status", "failure", "cancellation")
    return ended({name: body[name] for name in names if name in body})


def suspended(_: Payload) -> Iterator[tuple[str, str, Payload]]:
    return ended({"phase": "suspended", "status": "suspended"})


def questions(body: Payload) -> Payload:
    payload = snake(body, id="ID", tool_name="ToolName", tool_call_id="ToolCallID", title="Title")
    payload["questions"] = [
        without_empty(
            {
                "id": asked["ID"],
                "prompt": asked["Prompt"],
                "options": [{"id": option["ID"], "label": option["Label"]} for option in asked["Options"]],
                "allow_multiple": asked["AllowMultiple"],
            },
            "allow_multiple",
        )
        for asked in body["Questions"]
    ]
    return without_empty(payload, "title")


def clarification(body: Payload) -> Payload:
    payload = snake(
        body,
        id="ID",
        question="Question",
        missing_fields="MissingFields",
        restrict_to_tool="RestrictToTool",
        example_json="ExampleJSON",
    )
    return without_empty(payload, "missing_fields", "restrict_to_tool", "example_json")


def confirmation(body: Payload) -> Payload:
    payload = snake(
        body,
        id="ID",
        title="Title",
        prompt="Prompt",
        tool_name="ToolName",
        tool_call_id="ToolCallID",
        payload="Payload",
    )
    return without_empty(payload, "title", "payload")


def outside_tools(body: Payload) -> Payload:
    items = [
        without_empty(
            snake(item, tool_name="ToolName", tool_call_id="ToolCallID", payload="Payload"),
            "tool_call_id",
            "payload",
        )
        for item in body["Items"]
    ]
    return {"id": body["ID"], "items": items}


TABLE: dict[str, Callable[[Any], Iterator[tuple[str, str, Payload]]]] = {
    "assistant_message": one("assistant_reply", lambda body: {"text": body["Message"]}),
    "await_clarification": one("await_clarification", clarification),
    "await_confirmation": one("await_confirmation", confirmation),
    "await_external_tools": one("await_external_tools", outside_tools),
    "await_questions": one("await_questions", questions),
    "child_run_linked": one(
        "child_run_linked",
        lambda body: snake(
            body,
            tool_name="ToolName",
            tool_call_id="ToolCallID",
            child_run_id="ChildRunID",
            child_agent_id="ChildAgentID",
        ),
    ),
    "planner_note": one("planner_thought", lambda body: without_empty({"note": body["Note"]}, "note")),
    "prompt_rendered": one(
        "prompt_rendered", lambda body: snake(body, prompt_id="PromptID", version="Version", scope="Scope")
    ),
    "run_completed": completed,
    "run_phase_changed": phase,
    "run_suspended": suspended,
    "thinking_block": one("planner_thought", thought),
    "tool_authorization": one(
        "tool_authorization",
        lambda body: snake(
            body,
            tool_name="ToolName",
            tool_call_id="ToolCallID",
            approved="Approved",
            summary="Summary",
            approved_by="ApprovedBy",
        ),
    ),
    "tool_call_scheduled": one("tool_start", tool_start),
    "tool_call_updated": one(
        "tool_update",
        lambda body: snake(body, tool_call_id="ToolCallID", expected_children_total="ExpectedChildrenTotal"),
    ),
    "tool_result_received": one("tool_end", tool_end),
    "transcript_messages_appended": turns,
    "usage": one("usage", lambda body: {name: body[name] for name in USAGE}),
}
