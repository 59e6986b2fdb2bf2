"""Continuing a suspended run: prepare it, keep it beside one's own data, start it (contract 4)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Final

from runlane.client.prepared import ParentCall, PreparedRun, parse_prepared
from runlane.client.records import RunReader, run_records
from runlane.client.run import Run
from runlane.client.run_values import Payload, now, payload_bytes
from runlane.client.store import RunStore
from runlane.contract.errors import CorruptRun, InvalidCommand, PredecessorNotFound, RunNotFound
from runlane.contract.limits import MAX_COMMAND_PAYLOAD_BYTES
from runlane.contract.payloads import (
    CHILD_RUN_LINKED,
    RUN_SUSPENDED,
    AwaitClarification,
    AwaitConfirmation,
    AwaitExternalTools,
    AwaitQuestions,
    ChildRunLinked,
    RunSuspended,
    ToolAuthorization,
    decode_child_run_linked,
    decode_hook,
)
from runlane.contract.times import to_utc
from runlane.contract.validate.envelope import check_json, check_labels, check_present_id, check_timestamp
from runlane.contract.values import NO_LABELS, CommittedRecord, RunMeta, RunRecord, RunStart, RunStatus

_NO_ANSWERS: Final[Mapping[str, Payload]] = MappingProxyType({})
_READ: Final = frozenset(
    {
        RUN_SUSPENDED,
        AwaitClarification.record_type,
        AwaitConfirmation.record_type,
        AwaitExternalTools.record_type,
        AwaitQuestions.record_type,
        ToolAuthorization.record_type,
    }
)


async def prepare_continuation(
    store: RunReader,
    predecessor_run_id: str,
    *,
    run_id: str,
    version: str,
    answers: Mapping[str, Payload] = _NO_ANSWERS,
    labels: Mapping[str, str] = NO_LABELS,
    started_at: datetime | None = None,
) -> PreparedRun:
    """Return the start of a run that goes on where a suspended one stopped; nothing is written.

    ``version`` is the version of checkpoints that the agent can resume from: another one is refused.
    ``answers`` are JSON by the id of what the run waits for, one for each; a run that names nothing may be
    answered by its suspension id. ``started_at`` is now unless given.

    ``PredecessorNotFound``; ``InvalidCommand`` whose code names the rule: ``predecessor_not_suspended``,
    ``checkpoint_version``, ``answer_missing``, ``answer_unknown``, ``payload_too_large``, the JSON gate's, or
    one of a start; ``CorruptRun`` for a suspended run without its record.
    """
    check_present_id(run_id, "run_id")
    if run_id == predecessor_run_id:
        raise InvalidCommand("a run can't be its own predecessor", code="predecessor_is_self")
    check_labels(labels)
    time = check_timestamp(started_at or now(), "started at")
    meta = await _suspended_run(store, predecessor_run_id)
    suspended, awaited = await _suspension_of(store, predecessor_run_id, version)
    texts = {name: payload_bytes(answer) for name, answer in answers.items()}
    _check_answers(texts, awaited, suspended.suspension_id)
    start = RunStart(
        run_id=run_id,
        agent_id=meta.agent_id,
        session_id=meta.session_id,
        parent_run_id=meta.parent_run_id,
        predecessor_run_id=predecessor_run_id,
        started_at=to_utc(time),
        labels=dict(labels),
    )
    call = await _parent_call(store, meta) if meta.parent_run_id else None
    return PreparedRun(start, suspended.suspension_id, version, MappingProxyType(texts), call)


def start_prepared(store: RunStore, prepared: PreparedRun | bytes) -> ContinuedRun:
    """Return the run to be entered, which starts it: ``async with run: ...``.

    Starting it again, here or in another process, is an exact retry. ``InvalidCommand`` for bytes of another
    version, before anything is written; entering raises what a start raises.
    """
    return ContinuedRun(store, parse_prepared(prepared) if isinstance(prepared, bytes) else prepared)


class ContinuedRun(Run):
    """A ``Run`` that goes on where a suspended one stopped; ``prepared`` holds its answers."""

    def __init__(self, store: RunStore, prepared: PreparedRun) -> None:
        super().__init__(store, prepared.start)
        self.prepared = prepared

    def _link(self) -> RunRecord | None:
        """Return the link on the parent, the same whoever starts the run."""
        call, start = self.prepared.parent_call, self.prepared.start
        if call is None:
            return None
        payload = ChildRunLinked(
            tool_name=call.tool_name,
            tool_call_id=call.tool_call_id,
            child_run_id=start.run_id,
            child_agent_id=start.agent_id,
        )
        # A digest, since a key of prefix and run id could be longer than an identifier may be.
        digest = hashlib.blake2b(start.run_id.encode(), digest_size=16).hexdigest()
        return RunRecord(
            event_key=f"continuation/{digest}",
            run_id=start.parent_run_id,
            agent_id=call.parent_agent_id,
            session_id=start.session_id,
            type=CHILD_RUN_LINKED,
            payload=payload.encode(),
            timestamp=start.started_at,
        )


async def _suspended_run(store: RunReader, run_id: str) -> RunMeta:
    try:
        meta = await store.load_run(run_id)
    except RunNotFound:
        meta = None
    if meta is None:
        raise PredecessorNotFound("the run to be continued does not exist")
    if not meta.session_id:
        raise InvalidCommand("a sessionless run is not continued", code="predecessor_run_id_forbidden")
    if meta.status is not RunStatus.SUSPENDED:
        raise InvalidCommand("the run to be continued is not suspended", code="predecessor_not_suspended")
    return meta


async def _suspension_of(store: RunReader, run_id: str, version: str) -> tuple[RunSuspended, set[str]]:
    found = [r async for r in run_records(store.list_run_records, run_id) if r.type in _READ]
    suspended = _suspension(found)
    if suspended.version != version:
        raise InvalidCommand("the checkpoint is of another version", code="checkpoint_version")
    return suspended, _awaited(found)


def _suspension(records: list[CommittedRecord]) -> RunSuspended:
    found = [decode_hook(record.type, record.payload) for record in records if record.type == RUN_SUSPENDED]
    if len(found) != 1 or not isinstance(found[0], RunSuspended):
        raise CorruptRun("the suspended run has not exactly one suspension record", code="not_one_end")
    return found[0]


def _awaited(records: list[CommittedRecord]) -> set[str]:
    """Return the ids of what the run waits for; a confirmation that was given is waited for no more."""
    waiting: dict[str, str] = {}
    for record in records:
        match decode_hook(record.type, record.payload):
            case AwaitConfirmation(id=name, tool_call_id=call):
                waiting[name] = call
            case AwaitClarification(id=name) | AwaitExternalTools(id=name) | AwaitQuestions(id=name):
                waiting[name] = ""
            case ToolAuthorization(tool_call_id=call) if call:
                waiting = {name: held for name, held in waiting.items() if held != call}
            case _:
                pass
    return set(waiting)


def _check_answers(answers: Mapping[str, bytes], awaited: set[str], suspension_id: str) -> None:
    if awaited - answers.keys():
        raise InvalidCommand("something that the run waits for has no answer", code="answer_missing")
    if answers.keys() - (awaited or {suspension_id}):
        raise InvalidCommand("an answer is to nothing that the run waits for", code="answer_unknown")
    if sum(map(len, answers.values())) > MAX_COMMAND_PAYLOAD_BYTES:
        raise InvalidCommand("the answers are too large together", code="payload_too_large")
    for text in answers.values():
        check_json(text)


async def _parent_call(store: RunReader, child: RunMeta) -> ParentCall:
    """Return the tool call that the child answers, from its link on the parent."""
    async for record in run_records(store.list_run_records, child.parent_run_id):
        if record.type == CHILD_RUN_LINKED:
            link = decode_child_run_linked(record.payload)
            if link.child_run_id == child.run_id:
                return ParentCall(record.agent_id, link.tool_name, link.tool_call_id)
    raise CorruptRun("the suspended child has no link on its parent", code="not_one_link")
