"""What routes take from a request: their reader, ids out of the path, filters and page bounds."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from fastapi import Depends, Path, Query

from runlane.contract.errors import InvalidCommand
from runlane.contract.http_models import from_path_segment
from runlane.contract.limits import MAX_PAGE_LIMIT
from runlane.contract.reader import SessionScope

DEFAULT_PAGE_LIMIT = 100
_SEGMENT = (
    "one percent-encoded segment; the empty id, '.', '..', 'stream' and ids that start with '~' get a '~'"
)


def _run_id(run_id: Annotated[str, Path(description=_SEGMENT)]) -> str:
    return from_path_segment(run_id)


def _session_id(session_id: Annotated[str, Path(description=_SEGMENT)]) -> str:
    return from_path_segment(session_id)


RunId = Annotated[str, Depends(_run_id)]
SessionId = Annotated[str, Depends(_session_id)]


@dataclass(frozen=True, slots=True)
class PageBounds:
    """Where a page starts and how much it may hold."""

    cursor: str
    limit: int


def _page_bounds(
    cursor: Annotated[
        str, Query(description="`next_cursor` of the page before; empty for the first page")
    ] = "",
    limit: Annotated[
        int, Query(description=f"1 to {MAX_PAGE_LIMIT}; more is cut to that")
    ] = DEFAULT_PAGE_LIMIT,
) -> PageBounds:
    return PageBounds(cursor, min(limit, MAX_PAGE_LIMIT))


Bounds = Annotated[PageBounds, Depends(_page_bounds)]


def _session_scope(
    in_session: Annotated[list[str] | None, Query(description="only these sessions")] = None,
    in_prefix: Annotated[list[str] | None, Query(description="and sessions whose id starts so")] = None,
) -> SessionScope | None:
    if not in_session and not in_prefix:
        return None
    return SessionScope(tuple(in_session or ()), tuple(in_prefix or ()))


Within = Annotated[SessionScope | None, Depends(_session_scope)]


def parse_labels(pairs: list[str]) -> Mapping[str, str]:
    """Return ``key=value`` filters; ``InvalidCommand`` for another form or a key given twice."""
    labels: dict[str, str] = {}
    for pair in pairs:
        key, separator, value = pair.partition("=")
        if not key or not separator or key in labels:
            raise InvalidCommand("label takes key=value, each key once", code="invalid_label_filter")
        labels[key] = value
    return labels


def aware(moment: datetime | None, name: str) -> datetime | None:
    """Return ``moment``; ``InvalidCommand`` when it names no time zone."""
    if moment is not None and moment.tzinfo is None:
        raise InvalidCommand(f"{name} needs a time zone", code="time_without_zone")
    return moment
