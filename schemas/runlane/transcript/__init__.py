"""Transcripts: what a model sees and a chat shows, as messages of typed parts (contract 6 and 7).

messages = decode_messages(record.payload)
assert decode_messages(encode_messages(messages)) == messages
"""

from runlane.transcript.decode import decode_message, decode_messages, decode_metadata, validate_payload
from runlane.transcript.encode import encode_message, encode_messages
from runlane.transcript.errors import (
    BedrockTranscriptError,
    HistoryError,
    MessageError,
    PlannerTranscriptError,
    ProviderError,
    ReplayError,
    ToolResultError,
    TranscriptError,
)
from runlane.transcript.parts import (
    CacheCheckpointPart,
    Citation,
    CitationLocation,
    CitationsPart,
    DocumentPart,
    DocumentSpan,
    ImagePart,
    Message,
    Part,
    Role,
    TextPart,
    ThinkingPart,
    ToolResultPart,
    ToolUsePart,
)

__all__ = [
    "BedrockTranscriptError",
    "CacheCheckpointPart",
    "Citation",
    "CitationLocation",
    "CitationsPart",
    "DocumentPart",
    "DocumentSpan",
    "HistoryError",
    "ImagePart",
    "Message",
    "MessageError",
    "Part",
    "PlannerTranscriptError",
    "ProviderError",
    "ReplayError",
    "Role",
    "TextPart",
    "ThinkingPart",
    "ToolResultError",
    "ToolResultPart",
    "ToolUsePart",
    "TranscriptError",
    "decode_message",
    "decode_messages",
    "decode_metadata",
    "encode_message",
    "encode_messages",
    "validate_payload",
]
