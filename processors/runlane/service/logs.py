"""Structured logs: one JSON object a line on stderr, and never a payload.

What may be logged is decided by kind, not by trust in each call: numbers, truth values and short texts pass;
bytes and values of any other kind leave only the name of their type. An exception's own text passes only for
the errors tree, whose messages are safe by contract; of others the type and the frames are logged.
"""

from __future__ import annotations

import json
import logging
import sys
import traceback
from collections.abc import MutableMapping
from types import TracebackType
from typing import Any, Final, TextIO

import structlog

from runlane.contract.errors import RunlaneError

MAX_TEXT: Final = 1000
MAX_TRACE: Final = 20_000
_HIDDEN: Final = frozenset(
    {"payload", "data", "body", "value", "key", "secret", "token", "password", "authorization", "dsn"}
)
_TALKATIVE: Final = (
    "aiokafka",
    "asyncio",
    "clickhouse_connect",
    "faust",
    "httpcore2",
    "httpx2",
    "mode",
    "uvicorn",
)

Event = MutableMapping[str, Any]


def configure_logs(level: str, stream: TextIO | None = None) -> None:
    """Send structlog's and the standard library's logs as JSON lines to ``stream`` (stderr unless given)."""
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*shared, plain_arguments],
            use_get_message=False,
            pass_foreign_args=True,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                describe_exception,
                only_plain_values,
                structlog.processors.JSONRenderer(serializer=_to_json),
            ],
        )
    )
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level.upper())
    for name in _TALKATIVE:
        logging.getLogger(name).setLevel(max(logging.WARNING, root.level))
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )


def describe_exception(_logger: Any, _method: str, event: Event) -> Event:
    """Replace ``exc_info`` by the error's type, code, safe message and frames."""
    info = event.pop("exc_info", None)
    fault = sys.exc_info()[1] if info is True else _exception_of(info)
    if fault is not None:
        event["error"] = type(fault).__name__
        event["frames"] = _frames(fault.__traceback__)
        if isinstance(fault, RunlaneError):
            event["code"] = fault.code
            event["message"] = fault.message
    return event


def only_plain_values(_logger: Any, _method: str, event: Event) -> Event:
    """Keep numbers, truth values and short texts; of anything else, and of hidden names, keep the kind."""
    return {str(name): _plain(str(name), value) for name, value in event.items()}


def _plain(name: str, value: Any) -> Any:
    if name in _HIDDEN:
        return f"<{type(value).__name__}>"
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, str):
        limit = MAX_TRACE if name == "frames" else MAX_TEXT
        return value if len(value) <= limit else f"{value[:limit]}…"
    return f"<{type(value).__name__}>"


def plain_arguments(_logger: Any, _method: str, event: Event) -> Event:
    """Format a standard library record with its plain arguments, and with the type's name of any other."""
    record: logging.LogRecord = event["_record"]
    arguments: Any = event.pop("positional_args", None)
    event["event"] = _formatted(record.msg, arguments)
    return event


def _formatted(template: Any, arguments: Any) -> str:
    if not isinstance(template, str):
        return f"<{type(template).__name__}>"
    if not arguments or not isinstance(arguments, tuple):
        return template
    try:
        return template % _all_plain(arguments)
    except (TypeError, ValueError):
        return template


def _all_plain(arguments: Any) -> tuple[Any, ...]:
    return tuple(_plain("", argument) for argument in arguments)


def _exception_of(info: Any) -> BaseException | None:
    fault: Any = info[1] if isinstance(info, tuple) else info  # pyright: ignore[reportUnknownVariableType]
    return fault if isinstance(fault, BaseException) else None


def _frames(trace: TracebackType | None) -> str:
    return "".join(traceback.format_tb(trace))


def _to_json(event: Any, **_options: Any) -> str:
    return json.dumps(event, ensure_ascii=False, separators=(",", ":"))
