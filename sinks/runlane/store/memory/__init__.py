"""The memory sink: topic `runlane.memory` into table `memory_events`, by chains of blocks."""

from runlane.store.memory.chain import MEMORY_LOGIC_VERSION, SinkBounds
from runlane.store.memory.kafka_log import KafkaMemoryLog
from runlane.store.memory.ports import MemoryPorts
from runlane.store.memory.reader import MemoryTableReader
from runlane.store.memory.rows import MEMORY, MemoryRows
from runlane.store.memory.sink import MemorySink
from runlane.store.memory.table import MemoryTable

__all__ = [
    "MEMORY",
    "MEMORY_LOGIC_VERSION",
    "KafkaMemoryLog",
    "MemoryPorts",
    "MemoryRows",
    "MemorySink",
    "MemoryTable",
    "MemoryTableReader",
    "SinkBounds",
]
