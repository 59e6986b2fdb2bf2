"""The answers and records of one block: one answer a position, as its columns say, and each new record told.

That the digest of a record's key is right is checked here too, since only here its payload is at hand.
"""

from __future__ import annotations

import base64
import binascii
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Final

from runlane.contract.codec import Codec
from runlane.contract.digest import record_digest
from runlane.contract.errors import RunlaneError
from runlane.contract.limits import MAX_ID_BYTES
from runlane.contract.outcomes import (
    AppendResult,
    ChildRunStartResult,
    OneShotChildRunStartResult,
    OneShotRunStartResult,
    Outcome,
    RootRunStartResult,
    RunRepairResult,
)
from runlane.contract.times import EPOCH
from runlane.contract.values import RunRecord
from runlane.service.verify.purges import Purges, erased
from runlane.service.verify.report import Place, Report
from runlane.service.verify.rows import Header, Row, json_object

_COUNTS_END: Final = 2**63


class AnswerCheck:
    """Checks the answers and records of blocks; ``codec`` is the one that owners of this journal use."""

    def __init__(self, codec: Codec) -> None:
        self._codec = codec

    def check(self, rows: Sequence[Row], header: Header, purges: Purges, report: Report) -> None:
        """Report what is wrong with one block's answers and records."""
        announced: Counter[tuple[str, str]] = Counter()
        position = header.first - 1
        for row in rows:
            place = Place(row.partition, row.block, row.lane)
            if row.kind == "record":
                _check_digest(row, place, report)
                if row.analysis() != _analysis(row):
                    text = f"seq {row.seq} has columns for analysts that are not its payload's"
                    report.add(place.fault("analysis_wrong", text))
                announced[row.lane, str(row.seq)] -= row.seq > 0
            if row.kind != "answer":
                continue
            if row.position == position:
                report.add(place.fault("outcome_doubled", f"position {row.position} has another outcome"))
            elif not position < row.position <= header.last:
                report.add(
                    place.fault("outcome_misplaced", f"position {row.position} is not the block's next")
                )
            position = row.position
            for result in self._results(row, place, report):
                announced[row.lane, result.id] += 1
        for (lane, seq), count in announced.items():
            if count and not erased(lane, header.number, purges):
                place = Place(header.partition, header.number, lane)
                report.add(place.fault("record_unannounced", f"seq {seq} is not told by just one outcome"))

    def outcome(self, row: Row) -> Outcome | None:
        """Return the outcome of an answer row, None when its bytes are none."""
        try:
            return self._codec.decode_outcome(base64.b64decode(row.body, validate=True))
        except (RunlaneError, binascii.Error):
            return None

    def _results(self, row: Row, place: Place, report: Report) -> Sequence[AppendResult]:
        outcome = self.outcome(row)
        if outcome is None:
            report.add(place.fault("outcome_unreadable", f"the outcome of position {row.position}"))
            return ()
        said = (outcome.partition, outcome.position, outcome.block, outcome.correlation_id)
        code = outcome.error.code if outcome.error else ""
        if (*said, code) != (row.partition, row.position, row.block, row.correlation_id, row.code):
            text = f"the outcome of position {row.position} says another thing than its row"
            report.add(place.fault("outcome_differs", text))
        return [result for result in _appends(outcome) if result.inserted]


def _appends(outcome: Outcome) -> Sequence[AppendResult]:
    match outcome.result:
        case AppendResult() as result:
            return (result,)
        case RootRunStartResult(started=started, canceled=canceled):
            return (started, canceled)
        case ChildRunStartResult(parent_record=parent, started=started, canceled=canceled):
            return (parent, started, canceled)
        case OneShotRunStartResult(record=record) | RunRepairResult(record=record):
            return (record,)
        case OneShotChildRunStartResult(parent_record=parent, started=started):
            return (parent, started)
        case _:
            return ()


def _analysis(row: Row) -> tuple[str | int, ...]:
    """Return tool, model and token counts as the payload of a usage or tool record states them."""
    usage = row.type == "usage"
    if not usage and not row.type.startswith("tool_"):
        return "", "", 0, 0, 0
    try:
        body = json_object(row.body)
    except ValueError:
        body = {}
    if not usage:
        return _text(body.get("ToolName", body.get("tool_name"))), "", 0, 0, 0
    counts = (_count(body.get(name)) for name in ("InputTokens", "OutputTokens", "TotalTokens"))
    return "", _text(body.get("Model")), *counts


def _count(value: Any) -> int:
    return value if type(value) is int and 0 <= value < _COUNTS_END else 0


def _text(value: Any) -> str:
    return value if isinstance(value, str) and len(value) <= MAX_ID_BYTES else ""


def _check_digest(row: Row, place: Place, report: Report) -> None:
    if not row.run_id:
        return
    record = RunRecord(
        event_key=row.event_key,
        run_id=row.run_id,
        agent_id=row.agent_id,
        session_id=row.session_id,
        turn_id=row.turn_id,
        type=row.type,
        payload=row.body.encode(),
        timestamp=EPOCH + timedelta(microseconds=row.at),
    )
    if record_digest(record).hex() != row.digest:
        report.add(place.fault("record_digest_wrong", f"seq {row.seq} is not what its digest stands for"))
