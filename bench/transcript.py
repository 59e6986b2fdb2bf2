"""A transcript of 10,000 messages: replayed from the store, validated, encoded for each provider.

Each message is a record of its own, the worst case. Peak memory is what Python allocates during the replay
from the store, in units of the bytes of the transcript's payloads. The last line is JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, Final

from bench.fill import Filler
from bench.workload import record, start
from runlane.contract.commands import AppendRunRecord, Command
from runlane.contract.ids import run_lane
from runlane.contract.payloads import TRANSCRIPT_APPENDED
from runlane.store.async_reader import AsyncJournalReader
from runlane.transcript import (
    Message,
    Part,
    Role,
    TextPart,
    ThinkingPart,
    ToolResultPart,
    ToolUsePart,
    build_messages_from_run_log,
    encode_messages,
    validate_bedrock,
    validate_planner_transcript,
)
from runlane.transcript.providers import (
    encode_anthropic,
    encode_bedrock,
    encode_openai_chat,
    encode_openai_responses,
)

MESSAGES: Final = 10_000
TARGETS: Final = {
    "replay_ms": 1_000,
    "validate_ms": 50,
    "bedrock_ms": 300,
    "anthropic_ms": 300,
    "openai_chat_ms": 300,
    "openai_responses_ms": 300,
    "peak_factor": 6,
}
_RUN: Final = "run-transcript"
_BLOCK: Final = 1_000
_ROUNDS: Final = 5
_TEXT: Final = "The supplier confirmed the order and named a date; the invoice still lacks its number. "

Messages = Sequence[Message | None]


def main() -> None:
    """Store a transcript, then measure; each figure is a median."""
    parser = argparse.ArgumentParser(prog="python -m bench.transcript", description=__doc__)
    parser.add_argument("--messages", type=int, default=MESSAGES, help="messages of the transcript")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        filler = Filler(directory)
        payloads = [encode_messages([message]) for message in conversation(options.messages)]
        commands = _commands(payloads)
        while block := list(islice(commands, _BLOCK)):
            filler.decide(block)
        figures = _measure(AsyncJournalReader(filler.pool), sum(map(len, payloads)))
        filler.pool.close()
    for name, value in figures.items():
        print(f"{name}: {value:.1f} (target {TARGETS[name]} or less)")
    print(json.dumps({name: round(value, 1) for name, value in figures.items()}))


def conversation(count: int) -> Iterator[Message]:
    """Yield a transcript of ``count`` messages: questions, thinking with tool uses, results, answers."""
    for number in range(count):
        role = Role.USER if number % 2 == 0 else Role.ASSISTANT
        yield Message(role, tuple(_parts(number)))


def _parts(number: int) -> Iterator[Part]:
    call, turn = f"call-{number // 4:06d}", number % 4
    match turn:
        case 0:
            yield TextPart(_TEXT * 3)
        case 1:
            yield ThinkingPart(text=_TEXT * 2, signature="sig" * 20, index=0, final=True)
            yield TextPart(_TEXT)
            arguments = {"query": _TEXT, "limit": number, "deep": [1, 2]}
            yield ToolUsePart(id=call, name="svc_search", input=json.dumps(arguments).encode())
        case 2:
            yield ToolResultPart(tool_use_id=call, content={"rows": [{"id": number, "text": _TEXT * 4}]})
        case _:
            yield TextPart(_TEXT * 5)


def _commands(payloads: Sequence[bytes]) -> Iterator[tuple[str, Command]]:
    lane = run_lane(_RUN)
    yield lane, start(_RUN)
    for number, payload in enumerate(payloads):
        yield lane, AppendRunRecord(record(_RUN, f"message-{number}", TRANSCRIPT_APPENDED, payload))


def _measure(reader: AsyncJournalReader, size: int) -> dict[str, float]:
    async def replay() -> Messages:
        return await build_messages_from_run_log(reader, _RUN)

    with asyncio.Runner() as runner:
        messages, replay_ms = _timed(lambda: runner.run(replay()))
        tracemalloc.start()
        runner.run(replay())
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()

    # OpenAI has no place for thinking.
    plain = [_without_thinking(message) for message in messages]

    def validate() -> None:
        validate_planner_transcript(messages)
        validate_bedrock(messages, thinking_enabled=True)

    return {
        "replay_ms": replay_ms,
        "validate_ms": _timed(validate)[1],
        "bedrock_ms": _timed(lambda: encode_bedrock(messages))[1],
        "anthropic_ms": _timed(lambda: encode_anthropic(messages))[1],
        "openai_chat_ms": _timed(lambda: encode_openai_chat(plain))[1],
        "openai_responses_ms": _timed(lambda: encode_openai_responses(plain))[1],
        "peak_factor": peak / size,
    }


def _without_thinking(message: Message | None) -> Message | None:
    if message is None:
        return None
    return replace(message, parts=tuple(p for p in message.parts if not isinstance(p, ThinkingPart)))


def _timed(call: Callable[[], Any]) -> tuple[Any, float]:
    """Return what a call gives, and the median of its milliseconds."""
    seconds: list[float] = []
    result: Any = None
    for _ in range(_ROUNDS):
        begun = time.perf_counter()
        result = call()
        seconds.append(time.perf_counter() - begun)
    return result, 1_000 * statistics.median(seconds)


if __name__ == "__main__":
    main()
