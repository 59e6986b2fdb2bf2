"""The story: a researcher asks a tool, delegates, waits for a person, goes on; another run is stopped."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from runlane.contract.commands import CreateSession, EndSession
from runlane.contract.values import RunStart
from runlane.service.demo.writer import RunScript, Step

__all__ = ["CHECKPOINT", "Names", "Step", "scripted_session"]

CHECKPOINT = b"\x00demo checkpoint\xff: opaque bytes that come back identical"
_CHECKPOINT_ID = "waiting-for-approval"
_APPROVED = [{"role": "user", "parts": [{"kind": "text", "text": "Yes, send it."}], "meta": None}]


@dataclass(frozen=True, slots=True)
class Names:
    """The ids of one telling: the session's id is in front of every run's."""

    session: str

    @property
    def research(self) -> str:
        """The parent run, which is suspended."""
        return f"{self.session}/research"

    @property
    def summary(self) -> str:
        """Its child."""
        return f"{self.session}/summary"

    @property
    def resumed(self) -> str:
        """The run that continues the parent."""
        return f"{self.session}/research-2"

    @property
    def watch(self) -> str:
        """The run that is canceled."""
        return f"{self.session}/watch"

    @property
    def late(self) -> str:
        """The run that starts when the session has ended."""
        return f"{self.session}/late"

    def runs(self) -> tuple[str, ...]:
        """All runs in the order of their starts."""
        return self.research, self.summary, self.resumed, self.watch, self.late


def scripted_session(names: Names, at: datetime) -> tuple[Step, ...]:
    """Return the commands of the session that is told at ``at``, a time of whole milliseconds.

    The same names and time give equal commands, so repeating them is an exact retry.
    """
    return tuple(_story(names, at))


def _story(names: Names, at: datetime) -> Iterator[Step]:
    session = names.session
    created = CreateSession(session, at)
    yield Step(f"session {session} is created", created, late_answer="session_ended")
    research = _run(names.research, "researcher", session, at, title="the research run")
    yield from _research(research)
    yield from _summary(research, names, at + timedelta(seconds=2))
    yield from _suspension(research)
    yield from _resumed(names, at + timedelta(seconds=9))
    yield from _watch(names, at + timedelta(seconds=12))
    ended = EndSession(session, at + timedelta(seconds=15))
    yield Step(f"session {session} ends", ended)
    late = _run(names.late, "researcher", session, at + timedelta(seconds=16), title="a late run")
    start = late.start()
    yield Step("a late run starts in the ended session and is stopped at once", start.command)


def _research(run: RunScript) -> Iterator[Step]:
    yield run.start()
    asked = {"kind": "text", "text": "What moved the price of copper this week?"}
    messages = [{"role": "user", "parts": [asked], "meta": None}]
    yield run.append("transcript_messages_seeded", "is asked a question", messages)
    yield run.append("run_phase_changed", "plans", {"Phase": "planning"})
    note = {"Note": "Search first, then let the summariser read.", "Labels": None}
    yield run.append("planner_note", "notes its plan", note)
    call = {
        "ToolCallID": "call-1",
        "ToolName": "search",
        "Payload": {"query": "copper price"},
        "Queue": "tools",
    }
    yield run.append("tool_call_scheduled", "calls the tool search", call)
    result = {
        "call_run_id": run.run.run_id,
        "tool_call_id": "call-1",
        "tool_name": "search",
        "result_json": {"hits": 3, "newest": "Inventories fall for a third week"},
        "duration": 412_000_000,
    }
    yield run.append("tool_result_received", "gets the tool's result", result)
    yield run.append("usage", "counts its tokens", _usage("large", 1840, 212))


def _summary(parent: RunScript, names: Names, at: datetime) -> Iterator[Step]:
    call = {"ToolCallID": "call-2", "ToolName": "summarise", "Payload": {"articles": 3}, "Queue": "agents"}
    yield parent.append("tool_call_scheduled", "calls the agent summarise as a tool", call)
    run = _run(names.summary, "summariser", names.session, at, parent=names.research, title="the child run")
    yield run.start_under(parent, tool="summarise", call_id="call-2")
    text = "Copper rose as inventories fell for a third week."
    yield run.append("assistant_message", "answers", {"Message": text, "Structured": None})
    yield run.append("usage", "counts its tokens", _usage("small", 950, 64))
    yield run.complete()


def _suspension(run: RunScript) -> Iterator[Step]:
    question = {
        "ID": "await-1",
        "Title": "Send the report?",
        "Prompt": "The report is ready. Send it to the desk?",
        "ToolName": "send_report",
        "ToolCallID": "call-3",
        "Payload": {"to": "desk"},
    }
    yield run.append("await_confirmation", "waits for a person", question)
    yield run.suspend(_CHECKPOINT_ID, CHECKPOINT)


def _resumed(names: Names, at: datetime) -> Iterator[Step]:
    run = _run(
        names.resumed,
        "researcher",
        names.session,
        at,
        predecessor=names.research,
        title="the continuation",
    )
    yield run.start()
    yield run.append("transcript_messages_seeded", "is told yes", _APPROVED)
    call = {"ToolCallID": "call-3", "ToolName": "send_report", "Payload": {"to": "desk"}, "Queue": "tools"}
    yield run.append("tool_call_scheduled", "calls the tool send_report", call)
    result = {
        "call_run_id": names.research,
        "tool_call_id": "call-3",
        "tool_name": "send_report",
        "result_json": {"sent": True},
        "duration": 88_000_000,
    }
    yield run.append("tool_result_received", "gets the tool's result", result)
    yield run.append("assistant_message", "answers", {"Message": "Sent to the desk.", "Structured": None})
    yield run.append("usage", "counts its tokens", _usage("large", 2310, 41))
    yield run.complete()


def _watch(names: Names, at: datetime) -> Iterator[Step]:
    run = _run(names.watch, "watcher", names.session, at, title="the watching run")
    yield run.start()
    yield run.append("planner_note", "looks out for news", {"Note": "Check every minute.", "Labels": None})
    yield run.request_cancellation("user_requested")
    yield run.cancel("user_requested")


def _run(
    run_id: str,
    agent: str,
    session: str,
    at: datetime,
    *,
    title: str,
    parent: str = "",
    predecessor: str = "",
) -> RunScript:
    start = RunStart(
        run_id=run_id,
        agent_id=agent,
        session_id=session,
        parent_run_id=parent,
        predecessor_run_id=predecessor,
        started_at=at,
        labels={"demo": "yes"},
    )
    return RunScript(start, title)


def _usage(model_class: str, read: int, written: int) -> dict[str, object]:
    return {
        "Model": f"demo-{model_class}",
        "ModelClass": model_class,
        "InputTokens": read,
        "OutputTokens": written,
        "TotalTokens": read + written,
        "CacheReadTokens": 0,
        "CacheWriteTokens": 0,
    }
