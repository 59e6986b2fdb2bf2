"""Errors as RFC 9457 problem details with the contract's codes; never a payload, never an input echoed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from runlane.contract.errors import (
    ContractError,
    ErrorInfo,
    InvalidCommand,
    NotPermitted,
    Overloaded,
    RunlaneError,
    RunNotFound,
    RunSuspensionNotFound,
    SessionNotFound,
    SessionPurged,
    TemporaryError,
    Unavailable,
)
from runlane.contract.http_models import PROBLEM_MEDIA_TYPE, Problem

UNAUTHORIZED: Final = "unauthorized"
_STATUS_BY_CLASS: Final[tuple[tuple[type[RunlaneError], int], ...]] = (
    (InvalidCommand, 400),
    (NotPermitted, 403),
    (RunNotFound, 404),
    (RunSuspensionNotFound, 404),
    (SessionNotFound, 404),
    (SessionPurged, 410),
    (Overloaded, 429),
    (ContractError, 409),
    (TemporaryError, 503),
)
_REASONS: Final = {404: "unknown_path", 405: "method_not_allowed"}

_CONTENT: Final = {PROBLEM_MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
_TEXTS: Final = {
    400: "A parameter breaks a rule; `code` names it",
    401: "No token, or an unknown one",
    403: "The token does not allow this",
    404: "Missing, or hidden from this token",
    410: "The session was purged",
    429: "A bound is reached; try again later",
    503: "The journal does not answer; try again later",
}
PROBLEM_RESPONSES: Final[dict[int | str, dict[str, Any]]] = {
    status: {"description": text, "content": _CONTENT} for status, text in _TEXTS.items()
}
HOST_RESPONSES: Final[dict[int | str, dict[str, Any]]] = PROBLEM_RESPONSES | {
    409: {"description": "The session's state does not allow this", "content": _CONTENT}
}


def status_of(error: RunlaneError) -> int:
    """Return the HTTP status that an error of the tree is answered with."""
    if error.code == UNAUTHORIZED:
        return 401
    return next((status for kind, status in _STATUS_BY_CLASS if isinstance(error, kind)), 500)


def problem(info: ErrorInfo, status: int, headers: Mapping[str, str] | None = None) -> Response:
    """Return ``info`` as an answer."""
    body = Problem.of(info, status).model_dump_json()
    return Response(body, status, headers=dict(headers or {}), media_type=PROBLEM_MEDIA_TYPE)


def error_problem(error: RunlaneError) -> Response:
    """Return an error of the tree as an answer."""
    status = status_of(error)
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else {}  # noqa: PLR2004
    return problem(error.info(), status, headers)


def internal_problem() -> Response:
    """Return the answer of a fault that nobody foresaw; its text stays in the log."""
    info = ErrorInfo(
        Unavailable.__name__, "internal", "an internal fault; see the gateway's log", retryable=True
    )
    return problem(info, 500)


def install(app: FastAPI) -> None:
    """Answer every error of ``app`` with problem details."""

    async def on_error(_request: Request, error: Exception) -> Response:
        assert isinstance(error, RunlaneError)
        return error_problem(error)

    async def on_parameters(_request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        names = sorted({str(fault["loc"][-1]) for fault in error.errors()})
        message = f"not a valid value of: {', '.join(names)}"
        return error_problem(InvalidCommand(message, code="invalid_parameter"))

    async def on_http(_request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        code = _REASONS.get(error.status_code, "bad_request")
        info = ErrorInfo(InvalidCommand.__name__, code, code.replace("_", " "), retryable=False)
        return problem(info, error.status_code, error.headers)

    app.add_exception_handler(RunlaneError, on_error)
    app.add_exception_handler(RequestValidationError, on_parameters)
    app.add_exception_handler(HTTPException, on_http)
