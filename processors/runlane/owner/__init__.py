"""The owner: decides a partition's commands in order and commits them as numbered blocks."""

from runlane.owner.adopt import Adopted, adopt_log
from runlane.owner.chain import Phase
from runlane.owner.config import LOGIC_VERSION, Bounds, OwnerConfig
from runlane.owner.journal_store import JournalStore
from runlane.owner.kafka_log import KafkaLog
from runlane.owner.owner import Owner, SystemClock, SystemIds
from runlane.owner.ports import ClockPort, IdsPort, LogPort, Ports, StorePort
from runlane.owner.shared import Stats
from runlane.store.repair import Repaired, repair
from runlane.store.stops import ANSWERS, Stop, StopKind

__all__ = [
    "ANSWERS",
    "LOGIC_VERSION",
    "Adopted",
    "Bounds",
    "ClockPort",
    "IdsPort",
    "JournalStore",
    "KafkaLog",
    "LogPort",
    "Owner",
    "OwnerConfig",
    "Phase",
    "Ports",
    "Repaired",
    "Stats",
    "Stop",
    "StopKind",
    "StorePort",
    "SystemClock",
    "SystemIds",
    "adopt_log",
    "repair",
]
