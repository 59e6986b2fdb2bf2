"""Memory: what a product keeps of its agents' runs, beside the records (contract 9).

memory_events(records)                          # tool calls, results, messages, thinking, notes
snapshot.latest(MemoryType.ASSISTANT_MESSAGE)
read_data(event, ToolCallData).input()
"""

from runlane.contract.memory.codec import (
    decode_event,
    decode_snapshot,
    encode_data,
    encode_event,
    encode_snapshot,
)
from runlane.contract.memory.commands import (
    AppendMemory,
    DeleteMemory,
    MemoryCommand,
    decode_memory_command,
    encode_memory_command,
    validate_memory,
)
from runlane.contract.memory.data import (
    AssistantMessageData,
    MemoryData,
    PlannerNoteData,
    ThinkingData,
    ToolCallData,
    ToolResultData,
    UserMessageData,
    read_data,
)
from runlane.contract.memory.projection import memory_event, memory_events
from runlane.contract.memory.values import (
    MemoryEvent,
    MemoryLog,
    MemoryPage,
    MemoryReader,
    MemorySnapshot,
    MemoryType,
    MemoryValue,
)

__all__ = [
    "AppendMemory",
    "AssistantMessageData",
    "DeleteMemory",
    "MemoryCommand",
    "MemoryData",
    "MemoryEvent",
    "MemoryLog",
    "MemoryPage",
    "MemoryReader",
    "MemorySnapshot",
    "MemoryType",
    "MemoryValue",
    "PlannerNoteData",
    "ThinkingData",
    "ToolCallData",
    "ToolResultData",
    "UserMessageData",
    "decode_event",
    "decode_memory_command",
    "decode_snapshot",
    "encode_data",
    "encode_event",
    "encode_memory_command",
    "encode_snapshot",
    "memory_event",
    "memory_events",
    "read_data",
    "validate_memory",
]
