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
    PlacedError,
    PlannerTranscriptError,
    ProviderError,
    ReplayError,
    ToolResultError,
    TranscriptError,
)
from runlane.transcript.history import (
    CompressionConfig,
    HistoryCompression,
    HistoryModel,
    ModelRequest,
    TokenCount,
    TokenCounter,
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
from runlane.transcript.preparation import (
    HistoryPolicy,
    HistoryPreparation,
    PrepareMessages,
    Share,
    SharedWork,
    plan_with_history,
)
from runlane.transcript.replay import (
    RecordPage,
    RecordSource,
    Replay,
    TranscriptRecord,
    assistant_turns,
    build_messages_from_run_log,
    replay_run_log_events,
)
from runlane.transcript.tool_results import (
    ToolCallIds,
    ToolResultContent,
    tool_result_content,
    tool_result_part,
)
from runlane.transcript.turns import Messages, Turns, keep_recent_turns, split_turns
from runlane.transcript.validators import validate_bedrock, validate_planner_transcript

__all__ = [
    "BedrockTranscriptError",
    "CacheCheckpointPart",
    "Citation",
    "CitationLocation",
    "CitationsPart",
    "CompressionConfig",
    "DocumentPart",
    "DocumentSpan",
    "HistoryCompression",
    "HistoryError",
    "HistoryModel",
    "HistoryPolicy",
    "HistoryPreparation",
    "ImagePart",
    "Message",
    "MessageError",
    "Messages",
    "ModelRequest",
    "Part",
    "PlacedError",
    "PlannerTranscriptError",
    "PrepareMessages",
    "ProviderError",
    "RecordPage",
    "RecordSource",
    "Replay",
    "ReplayError",
    "Role",
    "Share",
    "SharedWork",
    "TextPart",
    "ThinkingPart",
    "TokenCount",
    "TokenCounter",
    "ToolCallIds",
    "ToolResultContent",
    "ToolResultError",
    "ToolResultPart",
    "ToolUsePart",
    "TranscriptError",
    "TranscriptRecord",
    "Turns",
    "assistant_turns",
    "build_messages_from_run_log",
    "decode_message",
    "decode_messages",
    "decode_metadata",
    "encode_message",
    "encode_messages",
    "keep_recent_turns",
    "plan_with_history",
    "replay_run_log_events",
    "split_turns",
    "tool_result_content",
    "tool_result_part",
    "validate_bedrock",
    "validate_payload",
    "validate_planner_transcript",
]
