"""Page cursors, and where a page ends (contract 2.11; limits)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final

from runlane.contract.errors import InvalidCommand
from runlane.contract.limits import MAX_PAGE_BYTES, MAX_PAGE_LIMIT
from runlane.contract.values import CommittedRecord, Page

_CURSOR: Final = re.compile(r"[1-9][0-9]{0,17}", re.ASCII)


def check_limit(limit: int) -> int:
    """Return how many entries a page may hold; ``InvalidCommand`` for a limit that is not positive (C254)."""
    if limit <= 0:
        raise InvalidCommand("limit must be positive", code="limit_not_positive")
    return min(limit, MAX_PAGE_LIMIT)


def parse_cursor(cursor: str) -> int:
    """Return the number after which a page of records begins, 0 for the empty cursor.

    The cursors are ``seq`` and ``lane_seq`` in decimal. Raises ``InvalidCommand`` for 0, a sign, other text.
    """
    if not cursor:
        return 0
    if _CURSOR.fullmatch(cursor) is None:
        raise InvalidCommand("cursor is not one that a page returned", code="invalid_cursor")
    return int(cursor)


def cut_page(
    records: Iterable[CommittedRecord], limit: int, number: Callable[[CommittedRecord], int]
) -> Page:
    """Return the page that ``records`` begin with; ``number`` gives a record's cursor.

    At most ``limit`` records and ``MAX_PAGE_BYTES`` of payload, but one record always. ``records`` must go on
    for one record beyond the page if there are more: ``next_cursor`` is empty exactly when they end with it.
    """
    page: list[CommittedRecord] = []
    size = 0
    for record in records:
        size += len(record.payload)
        if page and (len(page) == limit or size > MAX_PAGE_BYTES):
            return Page(tuple(page), str(number(page[-1])))
        page.append(record)
    return Page(tuple(page), "")
