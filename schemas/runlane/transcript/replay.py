"""From the records of a run back to its messages (contract 6.3)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple, Protocol

from runlane.transcript.decode import decode_messages
from runlane.transcript.errors import MessageError, ReplayError
from runlane.transcript.parts import CitationsPart, Message, Role, TextPart

SEEDED: Final = "transcript_messages_seeded"
"""Type of the records that carry the messages a run started with."""

APPENDED: Final = "transcript_messages_appended"
"""Type of the records that carry the messages a run added."""

PAGE_SIZE: Final = 512
"""Records asked for at once by `build_messages_from_run_log`."""

_TRANSCRIPT_TYPES: Final = {SEEDED, APPENDED}


class TranscriptRecord(Protocol):
    """What replay needs of a record."""

    @property
    def type(self) -> str:
        """The record type; letter case counts."""
        ...

    @property
    def payload(self) -> bytes:
        """The stored bytes."""
        ...


class RecordPage(Protocol):
    """What replay needs of a page of records."""

    @property
    def records(self) -> Sequence[TranscriptRecord]:
        """The records, oldest first."""
        ...

    @property
    def next_cursor(self) -> str:
        """The cursor of the next page; empty after the last."""
        ...


class RecordSource(Protocol):
    """Where the records of a run are read: any reader of the store."""

    async def list_run_records(self, run_id: str, cursor: str, limit: int) -> RecordPage:
        """One page of the run's records in commit order."""
        ...


class Replay(NamedTuple):
    """The messages of a run's records in order, and whether any record carried a transcript."""

    messages: tuple[Message | None, ...]
    found: bool


def replay_run_log_events(events: Iterable[TranscriptRecord | None]) -> Replay:
    """Join the messages of all seeded and appended records in the order given; other types are passed over.

    Raises `ReplayError` for the first record that can't be decoded; its code is the broken rule.
    """
    messages: list[Message | None] = []
    found = False
    for index, event in enumerate(events):
        if event is None or event.type not in _TRANSCRIPT_TYPES:
            continue
        messages.extend(_decode(event, index))
        found = True
    return Replay(tuple(messages), found)


async def build_messages_from_run_log(source: RecordSource | None, run_id: str) -> tuple[Message | None, ...]:
    """Read all records of the run and replay them.

    Raises `ReplayError` without a source or a run id, for a record that can't be decoded and for a run that
    has no transcript record (C310, C313); the source's own errors pass through.
    """
    if source is None:
        raise ReplayError("transcript.source_required", "a source of records is required")
    if not run_id:
        raise ReplayError("transcript.run_id_required", "a run id is required")
    events: list[TranscriptRecord] = []
    cursor = ""
    while True:
        page = await source.list_run_records(run_id, cursor, PAGE_SIZE)
        events.extend(record for record in page.records if record.type in _TRANSCRIPT_TYPES)
        cursor = page.next_cursor
        if not cursor:
            break
    messages, found = replay_run_log_events(events)
    if not found:
        raise ReplayError("transcript.not_found", "the run has no transcript record")
    return messages


def assistant_turns(messages: Iterable[Message | None]) -> Iterator[tuple[int, str]]:
    """The assistant messages of one appended record that have text: their index in it and that text.

    The text is that of the text and citations parts; thinking is left out (contract 6.3). A stream event of
    the index `i` has the key `<record key>/assistant/<i>` (contract 8).
    """
    for index, message in enumerate(messages):
        if message is not None and message.role == Role.ASSISTANT:
            text = "".join(part.text for part in message.parts if isinstance(part, TextPart | CitationsPart))
            if text:
                yield index, text


def _decode(event: TranscriptRecord, index: int) -> tuple[Message | None, ...]:
    try:
        return decode_messages(event.payload)
    except MessageError as error:
        raise ReplayError(error.code, f"transcript record {index} can't be decoded: {error}") from error
