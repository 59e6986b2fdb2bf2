"""Texts that would run where they are not escaped, and a run that holds one in every field."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.page.script import Script, says, text
from tests.page.world import Run, World

MOST_IN_A_NAME = 100
_RUNS = "window.hit(1)"
_EVENTS = (
    "onerror",
    "onload",
    "onclick",
    "onfocus",
    "onmouseover",
    "onanimationstart",
    "ontoggle",
    "onbegin",
    "onpointerenter",
    "onwheel",
)
_TAGS = (
    "img src=x",
    "svg",
    "body",
    "video src=x",
    "input autofocus",
    "details open",
    "iframe",
    "math",
    "marquee",
    "select autofocus",
)
PAYLOADS: list[str] = [
    f"<script>{_RUNS}</script>",
    f"</script><script>{_RUNS}</script>",
    f"<ScRiPt>{_RUNS}</sCrIpT>",
    f"<script src=data:text/javascript,{_RUNS}></script>",
    f"<iframe srcdoc='<script>parent.{_RUNS}</script>'></iframe>",
    f"<iframe src=javascript:parent.{_RUNS}></iframe>",
    f"<object data=javascript:{_RUNS}></object>",
    f"<embed src=javascript:{_RUNS}>",
    f"<a href=javascript:{_RUNS}>click</a>",
    f"javascript:{_RUNS}",
    f"JaVaScRiPt:{_RUNS}//",
    f"data:text/html,<script>{_RUNS}</script>",
    f"<form action=javascript:{_RUNS}><button>go</button></form>",
    f"<button formaction=javascript:{_RUNS} form=x>go</button>",
    f"<meta http-equiv=refresh content='0;javascript:{_RUNS}'>",
    f"<base href=javascript:{_RUNS}//>",
    f"<link rel=stylesheet href=javascript:{_RUNS}>",
    "<style>@import 'javascript:window.hit(1)'</style>",
    "<style>*{background:url(javascript:window.hit(1))}</style>",
    f"<div style=\"background:url('javascript:{_RUNS}')\">x</div>",
    f"<svg><script>{_RUNS}</script></svg>",
    f"<svg><a xlink:href=javascript:{_RUNS}><text>x</text></a></svg>",
    f"<svg><animate onbegin={_RUNS} attributeName=x dur=1s></svg>",
    f"<svg><use href='data:image/svg+xml,<svg id=x onload={_RUNS}>#x'></use></svg>",
    f"<math><mtext><table><mglyph><style><img src=x onerror={_RUNS}></style></mglyph></table></mtext></math>",
    f"<template><script>{_RUNS}</script></template>",
    f"<noscript><p title='</noscript><img src=x onerror={_RUNS}>'></noscript>",
    f"--><img src=x onerror={_RUNS}>",
    f"<!--<img src='--><img src=x onerror={_RUNS}>'>",
    f"]]><img src=x onerror={_RUNS}>",
    f'"><img src=x onerror={_RUNS}>',
    f"'><img src=x onerror={_RUNS}>",
    f"`><img src=x onerror={_RUNS}>",
    f'" onmouseover={_RUNS} x="',
    f"' onfocus={_RUNS} autofocus x='",
    f"</title><img src=x onerror={_RUNS}>",
    f"</textarea><img src=x onerror={_RUNS}>",
    f"</option></select><img src=x onerror={_RUNS}>",
    f"&lt;img src=x onerror={_RUNS}&gt;",
    f"&#60;img src=x onerror={_RUNS}&#62;",
    f"\\u003cimg src=x onerror={_RUNS}\\u003e",
    "${window.hit(1)}",
    "{{constructor.constructor('window.hit(1)')()}}",
    "#{window.hit(1)}",
    "<%= window.hit(1) %>",
    "__proto__",
    "constructor",
    "lit$123456$",
    "<?lit$123456$>",
    "<!--?lit$123456$-->",
    "\u202e<script>window.hit(1)</script>\u202c",
    "\u2028<img src=x onerror=window.hit(1)>\u2029",
    "<img/src=x/onerror=window.hit(1)>",
    "<img\tsrc=x\tonerror=window.hit(1)>",
    "<<img src=x onerror=window.hit(1)>",
    "<img src=x:x onerror=window.hit(1)//",
    *(f"<{tag} {event}={_RUNS}>" for tag in _TAGS[:6] for event in _EVENTS),
]
"""Each calls `window.hit` where it runs; a test counts the calls."""


class Fields:
    """Hands out one payload after the other."""

    def __init__(self) -> None:
        self.used = 0

    def __call__(self) -> str:
        self.used += 1
        return PAYLOADS[(self.used - 1) % len(PAYLOADS)]

    def name(self) -> str:
        """The next payload that may stand in an identifier: it has to be printable, and to leave room."""
        while not (text := self()).isprintable() or len(text.encode()) > MOST_IN_A_NAME:
            pass
        return text


def hostile_run(world: World, take: Fields, index: int) -> Run:
    """A run in which every text field of every record type holds a payload."""
    session = world.session(f"s{index} {take.name()}")
    run = world.run(
        f"r{index}-{take.name()}", take.name(), session=session, labels={take.name(): take.name()}
    )
    s = Script(run)
    s.turn = take.name()
    s.put(0.1, "transcript_messages_seeded", [message(take, role) for role in ("system", "user", "user")])
    s.put(0.2, "prompt_rendered", {"PromptID": take(), "Version": take(), "Scope": {}})
    s.put(0.3, "run_phase_changed", {"Phase": take()})
    for _ in range(2):
        s.put(0.4, "planner_note", {"Note": take(), "Labels": None})
    s.think(0.6, take())
    calls = _calls(s, take)
    _child(s, take, calls[2])
    _awaits(s, take)
    s.put(
        1.6,
        "policy_decision",
        {"AllowedTools": None, "Caps": {}, "Labels": None, "Metadata": {take(): take()}},
    )
    s.put(1.7, "model_output_rejected", {"OutputValidationKind": take()})
    run.reason = take()
    s.put(1.8, "runtime.cancellation_intent", {"reason": run.reason})
    s.put(1.9, take.name(), {take(): take()})
    return run


def _calls(s: Script, take: Fields) -> list[str]:
    """Three tool calls: one with a result, one that failed, one that goes on; and what was said of them."""
    calls = [take() + str(n) for n in range(3)]
    for n, call in enumerate(calls):
        scheduled = {
            "ToolCallID": call,
            "ModelToolCallID": call + "m",
            "ToolName": take(),
            "Payload": {take(): take()},
            "Queue": take(),
            "DisplayHint": take() if n else "",
        }
        s.put(0.7, "tool_call_scheduled", scheduled)
    failure = {"kind": take(), "error": {"message": take()}, "recovery": {"action": take()}}
    s.result(0.9, calls[0], take(), take(), seconds=0.2)
    s.result(0.9, calls[1], take(), "", seconds=0.2, failure=failure)
    said = [message(take, "assistant", calls), message(take, "user", calls), message(take, take())]
    s.put(1, "transcript_messages_appended", said)
    s.put(1.1, "assistant_message", {"Message": take(), "Structured": {take(): take()}})
    return calls


def _child(s: Script, take: Fields, call: str) -> None:
    """A child run that answers a call."""
    run, name, agent = s.run, take.name(), take.name()
    link = {"ToolName": take(), "ToolCallID": call, "ChildRunID": name, "ChildAgentID": agent}
    s.put(1.1, "child_run_linked", link)
    child = Script(run.world.run(name, agent, session=run.session, parent=run.id, started_at=s.at(1.1)))
    child.turn = take.name()
    child.say(0.1, take())
    child.turn = ""
    failure = {"message": take(), "kind": take(), "retryable": True}
    child.put(0.2, "run_completed", {"status": "failed", "phase": "failed", "failure": failure})


def _awaits(s: Script, take: Fields) -> None:
    """Everything that a run may wait for, and an answer."""
    for kind, field in (("confirmation", "Title"), ("clarification", "Question")):
        asked = {"ID": take(), field: take(), "Prompt": take(), "ToolName": take(), "ToolCallID": take()}
        s.put(1.2, f"await_{kind}", asked | {"Payload": {take(): take()}})
    items = [{"ToolName": take(), "ToolCallID": take(), "Payload": {}}]
    s.put(1.3, "await_external_tools", {"ID": take(), "Items": items})
    answer = {"ToolName": take(), "ToolCallID": take(), "Approved": True}
    s.put(1.4, "tool_authorization", answer | {"Summary": take(), "ApprovedBy": take()})


def message(take: Fields, role: str, calls: Sequence[str] = ()) -> dict[str, Any]:
    """A message with every kind of part; tool parts only where ids are given."""
    thought = {"text": take(), "signature": take(), "redacted": None, "index": 0, "final": True}
    cited = [{"title": take(), "source": take(), "location": {}}]
    parts: list[dict[str, Any]] = [
        says(take()),
        {"kind": "thinking"} | thought,
        {"kind": "image", "format": take(), "uri": take()},
        {"kind": "document", "name": take(), "format": take(), "text": take()},
        {"kind": "document", "name": take(), "format": take(), "chunks": [take()]},
        {"kind": "document", "name": take(), "format": take(), "uri": take()},
        {"kind": "citations", "text": take(), "citations": cited},
    ]
    for call in calls:
        if role == "assistant":
            parts.append({"kind": "tool_use", "id": call + "m", "name": take(), "input": {take(): take()}})
        else:
            answer = {"kind": "tool_result", "tool_use_id": call + "m", "is_error": False}
            parts.append(answer | {"content": take()})
    return text(role, *parts)
