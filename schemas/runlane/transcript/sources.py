"""The rules on the sources of images and documents, the same in both directions (contract 6.2, section 0)."""

from __future__ import annotations

from runlane.transcript.errors import MessageError, missing
from runlane.transcript.parts import DocumentPart, ImagePart


def check_image(part: ImagePart) -> None:
    """Refuse with `MessageError` an image without format, or not exactly one source (C304)."""
    if not part.format:
        raise missing("format")
    if bool(part.bytes) == bool(part.uri):
        raise MessageError("transcript.one_source", "needs exactly one of bytes and uri")


def check_document(part: DocumentPart) -> None:
    """Refuse with `MessageError` a missing name, an empty chunk, or not exactly one source (C305)."""
    if not part.name:
        raise missing("name")
    if part.chunks and "" in part.chunks:
        raise MessageError("transcript.empty_chunk", "must not be empty", f"chunks[{part.chunks.index('')}]")
    if [bool(part.bytes), bool(part.text), bool(part.chunks), bool(part.uri)].count(True) != 1:
        raise MessageError("transcript.one_source", "needs exactly one of bytes, text, chunks and uri")
