"""Which prompts a run rests on, derived from its records and those of its relatives (contract 11)."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Final

from runlane.client.records import RunReader, run_records
from runlane.contract.errors import CorruptRun, InvalidCommand, RunNotFound
from runlane.contract.payloads import (
    CHILD_RUN_LINKED,
    RUN_COMPLETED,
    RUN_STARTED,
    SESSION_ENDED_REASON,
    ChildRunLinked,
    HookEvent,
    PromptRendered,
    RunCompleted,
    RunStarted,
    decode_record,
)
from runlane.contract.values import CommittedRecord, RunMeta, RunStatus, StartOutcome

_READ: Final = frozenset({RUN_STARTED, CHILD_RUN_LINKED, PromptRendered.record_type})


@dataclass(frozen=True, slots=True)
class PromptRef:
    """A prompt template at one version."""

    prompt_id: str
    version: str


async def prompt_refs(reader: RunReader, run_id: str) -> tuple[PromptRef, ...]:
    """Return the prompts of a run and its relatives, each once, breadth first (C389, C391).

    A run's own prompts come first, then those of the run it continues and of its children in record order,
    and so on; the first occurrence counts. A run that was stopped at its start has none. Runs that cannot be
    reached are never read (C392). ``InvalidCommand`` without a run id, ``RunNotFound``; ``CorruptRun`` with
    a code that names the contradiction, such as ``relation_cycle``.
    """
    if not run_id:
        raise InvalidCommand("run id is required", code="run_id_required")
    return await _Walk(reader).refs_from(run_id)


class _Walk:
    """One search; each run is read once, each relation is checked."""

    def __init__(self, reader: RunReader) -> None:
        self._reader = reader
        self._metas: dict[str, RunMeta] = {}
        self._relatives: dict[str, list[str]] = {}
        self._refs: dict[PromptRef, None] = {}
        self._waiting: deque[RunMeta] = deque()

    async def refs_from(self, run_id: str) -> tuple[PromptRef, ...]:
        await self._load(run_id)
        while self._waiting:
            meta = self._waiting.popleft()
            self._relatives[meta.run_id] = []
            await self._visit(meta)
        _check_cycles(self._relatives)
        return tuple(self._refs)

    async def _visit(self, meta: RunMeta) -> None:
        records = await self._records(meta)
        if meta.start_outcome is StartOutcome.STOP:
            _check_stopped(records)
            return
        for record in records:
            if record.type not in _READ:
                continue
            match _decoded(record):
                case RunStarted(predecessor_run_id=predecessor) if predecessor:
                    await self._follow_predecessor(meta, predecessor)
                case ChildRunLinked() as link:
                    await self._follow_child(meta, link)
                case PromptRendered(prompt_id=prompt, version=version):
                    self._refs.setdefault(PromptRef(prompt, version))
                case _:
                    pass

    async def _records(self, meta: RunMeta) -> list[CommittedRecord]:
        """Return the run's records, which begin with its only start and are all its own."""
        records = [record async for record in run_records(self._reader.list_run_records, meta.run_id)]
        owner = (meta.run_id, meta.agent_id, meta.session_id)
        if any((record.run_id, record.agent_id, record.session_id) != owner for record in records):
            raise _corrupt("record_owner", "a record of the run is somebody else's")
        starts = [index for index, record in enumerate(records) if record.type == RUN_STARTED]
        if starts != [0]:
            raise _corrupt("not_one_start", "the run's records do not begin with its only start")
        started = _decoded(records[0])
        assert isinstance(started, RunStarted), "its type says so"
        if started.parent_run_id != meta.parent_run_id:
            raise _corrupt("start_parent", "the start record names another parent than the run")
        return records

    async def _follow_predecessor(self, meta: RunMeta, predecessor: str) -> None:
        if predecessor == meta.run_id:
            raise _corrupt("predecessor_is_self", "the run continues itself")
        other = await self._relative(meta, predecessor, "predecessor_missing")
        if other.status is not RunStatus.SUSPENDED:
            raise _corrupt("predecessor_not_suspended", "the run continues one that was not suspended")
        mine = (meta.session_id, meta.agent_id, meta.parent_run_id)
        if (other.session_id, other.agent_id, other.parent_run_id) != mine:
            raise _corrupt(
                "predecessor_mismatch", "the run continues one of another session, agent or parent"
            )

    async def _follow_child(self, meta: RunMeta, link: ChildRunLinked) -> None:
        other = await self._relative(meta, link.child_run_id, "child_missing")
        linked = (meta.session_id, link.child_agent_id, meta.run_id)
        if (other.session_id, other.agent_id, other.parent_run_id) != linked:
            raise _corrupt("child_mismatch", "a link names a run of another session, agent or parent")

    async def _relative(self, meta: RunMeta, run_id: str, code: str) -> RunMeta:
        self._relatives[meta.run_id].append(run_id)
        if run_id not in self._metas:
            try:
                await self._load(run_id)
            except RunNotFound:
                raise _corrupt(code, "a related run is not stored") from None
        return self._metas[run_id]

    async def _load(self, run_id: str) -> None:
        self._metas[run_id] = await self._reader.load_run(run_id)
        self._waiting.append(self._metas[run_id])


def _check_stopped(records: list[CommittedRecord]) -> None:
    """Check that a run stopped at its start holds its start and the matching completion alone."""
    if [record.type for record in records] != [RUN_STARTED, RUN_COMPLETED]:
        raise _corrupt("stopped_records", "a run stopped at its start has other records than two")
    completed = _decoded(records[1])
    assert isinstance(completed, RunCompleted), "its type says so"
    if completed.cancellation is None or completed.cancellation.reason != SESSION_ENDED_REASON:
        raise _corrupt("stopped_completion", "a run stopped at its start ended for another reason")


def _check_cycles(relatives: dict[str, list[str]]) -> None:
    """Take away runs that nobody left points to; what remains is a cycle. Converging paths are fine."""
    pointed = dict.fromkeys(relatives, 0)
    for targets in relatives.values():
        for target in targets:
            pointed[target] += 1
    free = [run for run, count in pointed.items() if not count]
    taken = 0
    while free:
        taken += 1
        for target in relatives[free.pop()]:
            pointed[target] -= 1
            if not pointed[target]:
                free.append(target)
    if taken != len(relatives):
        raise _corrupt("relation_cycle", "the runs continue or link one another in a circle")


def _decoded(record: CommittedRecord) -> HookEvent:
    code = ""
    try:
        return decode_record(record)
    except InvalidCommand as refused:
        code = refused.code
    raise _corrupt("record_payload", f"a {record.type} record can't be read ({code})")


def _corrupt(code: str, message: str) -> CorruptRun:
    return CorruptRun(message, code=code)
