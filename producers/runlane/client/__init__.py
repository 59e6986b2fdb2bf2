"""The run store of workers and hosts: commands over Kafka, reads over the read API.

    async with RunStore.from_connection("data/connection.json") as store:
        async with store.run("r1", "agent", session_id="s1") as run:
            await run.append("planner_note", {"Note": "look it up"})

``SyncRunStore`` is the same without ``await``, ``MemoryStore`` the same without any server. Names are
loaded when they are first used, since pytest imports this package in every project that has it installed.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runlane.client.connection import Connection, HostKey, Tokens
    from runlane.client.continuation import ContinuedRun, prepare_continuation, start_prepared
    from runlane.client.endpoints import Api, ConnectionFile, Endpoints, FixedEndpoints, KafkaTarget
    from runlane.client.follow import Followed, Follower, PagedFollower
    from runlane.client.http_follower import HttpFollower
    from runlane.client.http_reader import HttpReader
    from runlane.client.kafka_memory import KafkaMemory
    from runlane.client.kafka_transport import KafkaTransport
    from runlane.client.memory import MemoryStore
    from runlane.client.memory_events import MemoryEvents
    from runlane.client.options import ClientOptions
    from runlane.client.planning import TaskWork, plan_run
    from runlane.client.prepared import ParentCall, PreparedRun, parse_prepared
    from runlane.client.prompts import PromptRef, prompt_refs
    from runlane.client.run import Run, ToolCall
    from runlane.client.store import RunStore
    from runlane.client.stream_sink import KafkaStreamSink
    from runlane.client.sync import SyncRunStore
    from runlane.client.sync_memory import SyncMemory
    from runlane.client.sync_run import SyncRun
    from runlane.client.transport import Letter, Listener, Transport

_MODULES = {
    "Api": "endpoints",
    "ClientOptions": "options",
    "Connection": "connection",
    "ConnectionFile": "endpoints",
    "ContinuedRun": "continuation",
    "Endpoints": "endpoints",
    "FixedEndpoints": "endpoints",
    "HostKey": "connection",
    "Followed": "follow",
    "Follower": "follow",
    "HttpFollower": "http_follower",
    "HttpReader": "http_reader",
    "KafkaMemory": "kafka_memory",
    "KafkaStreamSink": "stream_sink",
    "KafkaTarget": "endpoints",
    "KafkaTransport": "kafka_transport",
    "Letter": "transport",
    "Listener": "transport",
    "MemoryEvents": "memory_events",
    "MemoryStore": "memory",
    "PagedFollower": "follow",
    "ParentCall": "prepared",
    "PreparedRun": "prepared",
    "PromptRef": "prompts",
    "Run": "run",
    "RunStore": "store",
    "SyncMemory": "sync_memory",
    "SyncRun": "sync_run",
    "SyncRunStore": "sync",
    "TaskWork": "planning",
    "Tokens": "connection",
    "ToolCall": "run",
    "Transport": "transport",
    "parse_prepared": "prepared",
    "plan_run": "planning",
    "prepare_continuation": "continuation",
    "prompt_refs": "prompts",
    "start_prepared": "continuation",
}

__all__ = [
    "Api",
    "ClientOptions",
    "Connection",
    "ConnectionFile",
    "ContinuedRun",
    "Endpoints",
    "FixedEndpoints",
    "Followed",
    "Follower",
    "HostKey",
    "HttpFollower",
    "HttpReader",
    "KafkaMemory",
    "KafkaStreamSink",
    "KafkaTarget",
    "KafkaTransport",
    "Letter",
    "Listener",
    "MemoryEvents",
    "MemoryStore",
    "PagedFollower",
    "ParentCall",
    "PreparedRun",
    "PromptRef",
    "Run",
    "RunStore",
    "SyncMemory",
    "SyncRun",
    "SyncRunStore",
    "TaskWork",
    "Tokens",
    "ToolCall",
    "Transport",
    "parse_prepared",
    "plan_run",
    "prepare_continuation",
    "prompt_refs",
    "start_prepared",
]


def __getattr__(name: str) -> object:
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"{__name__}.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
