"""What is stored of a run, read whole and checked against the run (contract 10)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Final

from runlane.client.records import run_records
from runlane.client.recovery.patience import Patience
from runlane.client.recovery.ports import CompletionStore
from runlane.contract.errors import CorruptRun, InvalidCommand, RunNotFound
from runlane.contract.payloads import (
    CHILD_RUN_LINKED,
    ENGINE_CANCELED_REASON,
    RUN_COMPLETED,
    RUN_STARTED,
    RUN_SUSPENDED,
    ChildRunLinked,
    RunCompleted,
    RunStarted,
    decode_child_run_linked,
    decode_run_completed,
    decode_run_started,
    decode_run_suspended,
)
from runlane.contract.times import micros
from runlane.contract.values import CommittedRecord, Page, RunMeta, RunStatus, RunSuspension

_STATUS_OF_PAYLOAD: Final = {
    "success": RunStatus.COMPLETED,
    "failed": RunStatus.FAILED,
    "canceled": RunStatus.CANCELED,
}


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run that has one valid start, the link on its parent when it is a child, its end when it has one."""

    meta: RunMeta
    link: CommittedRecord | None
    end: CommittedRecord | None
    checkpoint: RunSuspension | None


class StoredRuns:
    """Reads runs with patience; whatever contradicts itself is ``CorruptRun`` with a code that names it."""

    def __init__(self, store: CompletionStore, patience: Patience) -> None:
        self._store = store
        self._patience = patience

    async def load(self, run_id: str) -> StoredRun:
        """Return the run, checked; ``RunNotFound``, ``CorruptRun``."""
        meta = await self.meta(run_id)
        found = await self._of_types(run_id, {RUN_STARTED, RUN_COMPLETED, RUN_SUSPENDED})
        ends = [record for record in found if record.type != RUN_STARTED]
        if ends and not meta.status.terminal:
            meta = await self.meta(run_id)  # it may have ended since
        _check_started(meta, found)
        link = await self._link(meta) if meta.parent_run_id else None
        if not meta.status.terminal:
            if ends:
                raise _corrupt("end_of_running_run", "a running run has an end")
            return StoredRun(meta, link, None, None)
        end = _only(ends, "end")
        checkpoint = None
        if meta.status is RunStatus.SUSPENDED:
            load = partial(self._store.load_run_suspension, run_id)
            checkpoint = await self._patience.with_retries(load)
        _check_end(meta, end, checkpoint)
        return StoredRun(meta, link, end, checkpoint)

    async def load_link(self, child: RunMeta) -> CommittedRecord:
        """Return the link of a child run, checked with the run's start; ``CorruptRun``."""
        _check_started(child, await self._of_types(child.run_id, {RUN_STARTED}))
        return await self._link(child)

    async def meta(self, run_id: str) -> RunMeta:
        """Return the run; ``RunNotFound``."""
        return await self._patience.with_retries(partial(self._store.load_run, run_id))

    async def _link(self, child: RunMeta) -> CommittedRecord:
        try:
            parent = await self.meta(child.parent_run_id)
        except RunNotFound:
            parent = None
        if parent is None:
            raise _corrupt("parent_missing", "the run's parent is not stored")
        links = [
            record
            for record in await self._of_types(parent.run_id, {CHILD_RUN_LINKED})
            if _decoded_link(record).child_run_id == child.run_id
        ]
        link = _only(links, "link")
        _check_link(child, parent, link)
        return link

    async def _of_types(self, run_id: str, types: set[str]) -> list[CommittedRecord]:
        return [record async for record in run_records(self._page, run_id) if record.type in types]

    async def _page(self, run_id: str, cursor: str, limit: int) -> Page:
        read = partial(self._store.list_run_records, run_id, cursor, limit)
        return await self._patience.with_retries(read)


def _only(records: list[CommittedRecord], name: str) -> CommittedRecord:
    if len(records) != 1:
        raise _corrupt(f"not_one_{name}", f"the run has {len(records)} {name} records")
    return records[0]


def _check_owner(meta: RunMeta, record: CommittedRecord, name: str) -> None:
    if (record.run_id, record.agent_id, record.session_id) != (meta.run_id, meta.agent_id, meta.session_id):
        raise _corrupt(f"{name}_owner", f"the {name} record is not the run's")


def _check_started(meta: RunMeta, found: list[CommittedRecord]) -> None:
    record = _only([record for record in found if record.type == RUN_STARTED], "start")
    _check_owner(meta, record, "start")
    payload = _decoded_start(record)
    if micros(record.timestamp) != micros(meta.started_at):
        raise _corrupt("start_time", "the start record has another time than the run")
    if payload.parent_run_id != meta.parent_run_id:
        raise _corrupt("start_parent", "the start record names another parent")
    if payload.predecessor_run_id == meta.run_id:
        raise _corrupt("start_predecessor", "the start record names the run as its own predecessor")
    if payload.labels != dict(meta.labels):
        raise _corrupt("start_labels", "the start record has other labels")


def _check_link(child: RunMeta, parent: RunMeta, record: CommittedRecord) -> None:
    _check_owner(parent, record, "link")
    if record.session_id != child.session_id:
        raise _corrupt("link_session", "the link is of another session")
    if _decoded_link(record).child_agent_id != child.agent_id:
        raise _corrupt("link_child", "the link names another agent than the run's")


def _check_end(meta: RunMeta, record: CommittedRecord, checkpoint: RunSuspension | None) -> None:
    _check_owner(meta, record, "end")
    if checkpoint is not None:
        if record.type != RUN_SUSPENDED or _suspension_id(record) != checkpoint.id:
            raise _corrupt("end_checkpoint", "the end record is not of the run's checkpoint")
        return
    payload = _decoded_end(record)
    if _STATUS_OF_PAYLOAD[payload.status] is not meta.status or payload.phase != meta.status:
        raise _corrupt("end_status", "the end record has another status than the run")
    if payload.labels != dict(meta.labels):
        raise _corrupt("end_labels", "the end record has other labels than the run")
    expected = meta.cancellation_reason or ENGINE_CANCELED_REASON
    if payload.cancellation is not None and payload.cancellation.reason != expected:
        raise _corrupt("end_reason", "the end record names another reason than the run")


def _decoded_start(record: CommittedRecord) -> RunStarted:
    try:
        return decode_run_started(record.payload)
    except InvalidCommand as refused:
        raise _corrupt("start_payload", "the start record can't be read") from refused


def _decoded_link(record: CommittedRecord) -> ChildRunLinked:
    try:
        return decode_child_run_linked(record.payload)
    except InvalidCommand as refused:
        raise _corrupt("link_payload", "a link record of the parent can't be read") from refused


def _decoded_end(record: CommittedRecord) -> RunCompleted:
    if record.type != RUN_COMPLETED:
        raise _corrupt("end_status", "a run that was not suspended ends with a suspension")
    try:
        return decode_run_completed(record.payload)
    except InvalidCommand as refused:
        raise _corrupt("end_payload", "the end record can't be read") from refused


def _suspension_id(record: CommittedRecord) -> str:
    try:
        return decode_run_suspended(record.payload).suspension_id
    except InvalidCommand as refused:
        raise _corrupt("end_payload", "the end record can't be read") from refused


def _corrupt(code: str, message: str) -> CorruptRun:
    return CorruptRun(message, code=code)
