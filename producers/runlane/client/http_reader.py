"""The reads of the contract over the read API (design, Reading)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from ipaddress import ip_address
from typing import Final, TypeVar
from urllib.parse import urlsplit

import httpx2
from pydantic import BaseModel, ValidationError

from runlane.client.endpoints import Api
from runlane.client.options import ClientOptions
from runlane.contract.errors import InvalidCommand, RunlaneError, TemporaryError, Unavailable, from_info
from runlane.contract.http_models import (
    MemoryBody,
    Problem,
    RecordPageBody,
    RunBody,
    RunPageBody,
    RunsBody,
    SessionBody,
    SessionPageBody,
    SessionStatusBody,
    SuspensionBody,
    path_segment,
)
from runlane.contract.memory import MemoryPage
from runlane.contract.paging import check_limit, parse_cursor
from runlane.contract.reader import RunPage, RunQuery, SessionPage, SessionScope
from runlane.contract.values import Page, RunMeta, RunStatus, RunSuspension, Session, SessionStatus

BodyT = TypeVar("BodyT", bound=BaseModel)
Params = list[tuple[str, str]]
_REQUEST_SECONDS: Final = 15.0
_OK: Final = 200


class HttpReader:
    """A ``Reader`` and ``MemoryReader``: ``HttpReader(lambda: Api("http://127.0.0.1:8080", token))``.

    ``api`` is asked before each request, so the address may change. A read that fails for the moment is
    repeated within ``options.timeout``, then raises ``Unavailable`` or the API's own ``TemporaryError``.
    """

    def __init__(
        self,
        api: Callable[[], Api],
        *,
        options: ClientOptions | None = None,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        self._api = api
        self._options = options or ClientOptions()
        self._transport = transport
        self._http: httpx2.AsyncClient | None = None

    async def aclose(self) -> None:
        """Close the connections."""
        if self._http is not None:
            await self._http.aclose()
            self._http = None

    async def load_run(self, run_id: str) -> RunMeta:
        """Return the run; ``RunNotFound``."""
        return (await self._get(RunBody, resource_path("runs", run_id))).value()

    async def load_run_suspension(self, run_id: str) -> RunSuspension:
        """Return the exact checkpoint; ``RunNotFound``, ``RunSuspensionNotFound``, ``NotPermitted``."""
        return (await self._get(SuspensionBody, resource_path("runs", run_id, "suspension"))).value()

    async def load_session(self, session_id: str) -> Session:
        """Return the session; ``SessionPurged``, ``SessionNotFound``."""
        return (await self._get(SessionBody, resource_path("sessions", session_id))).value()

    async def load_session_status(self, session_id: str) -> SessionStatus:
        """Return active or ended; ``SessionPurged``, ``SessionNotFound``."""
        return (await self._get(SessionStatusBody, resource_path("sessions", session_id, "status"))).status

    async def list_runs_by_session(
        self, session_id: str, statuses: Sequence[RunStatus] = ()
    ) -> tuple[RunMeta, ...]:
        """Return the session's runs in any order, only those of ``statuses`` when given."""
        params = [("status", status.value) for status in statuses]
        body = await self._get(RunsBody, resource_path("sessions", session_id, "runs"), params)
        return tuple(run.value() for run in body.runs)

    async def list_run_records(self, run_id: str, cursor: str = "", limit: int = 100) -> Page:
        """Return a page of a run; ``InvalidCommand``, ``RunNotFound``."""
        params = _record_bounds(cursor, limit)
        return (await self._get(RecordPageBody, resource_path("runs", run_id, "records"), params)).value()

    async def list_session_run_records(self, session_id: str, cursor: str = "", limit: int = 100) -> Page:
        """Return a page of a session's runs; ``InvalidCommand``, ``SessionPurged``, ``SessionNotFound``."""
        params = _record_bounds(cursor, limit)
        return (
            await self._get(RecordPageBody, resource_path("sessions", session_id, "records"), params)
        ).value()

    async def list_sessions(
        self,
        status: SessionStatus | None = None,
        cursor: str = "",
        limit: int = 100,
        scope: SessionScope | None = None,
    ) -> SessionPage:
        """Return a page of sessions by id, only those of ``status`` and inside ``scope`` when given."""
        params = _bounds(cursor, limit) + _within(scope)
        if status:
            params.append(("status", status.value))
        return (await self._get(SessionPageBody, "/v1/sessions", params)).value()

    async def search_runs(self, query: RunQuery) -> RunPage:
        """Return a page of runs that match, newest first; it may lag by a moment."""
        return (await self._get(RunPageBody, "/v1/runs", _search(query))).value()

    async def memory_page(self, agent_id: str, run_id: str, cursor: str, limit: int) -> MemoryPage:
        """Return a page of what a run remembers; ``InvalidCommand``, ``NotPermitted``."""
        params = _bounds(cursor, limit)
        path = resource_path(f"memory/{_segment(agent_id)}", run_id)
        return (await self._get(MemoryBody, path, params)).value()

    async def _get(self, kind: type[BodyT], path: str, params: Params | None = None) -> BodyT:
        deadline = asyncio.get_running_loop().time() + self._options.timeout
        failures = 0
        while True:
            try:
                async with asyncio.timeout_at(deadline):
                    return await self._once(kind, path, params)
            except TimeoutError:
                raise Unavailable("the read API did not answer in time", code="api_unavailable") from None
            except TemporaryError as error:
                failures += 1
                pause = self._options.retry_pause(failures)
                if asyncio.get_running_loop().time() + pause >= deadline:
                    raise error from None
                await asyncio.sleep(pause)

    async def _once(self, kind: type[BodyT], path: str, params: Params | None) -> BodyT:
        api = self._api()
        headers = {"authorization": f"Bearer {api.token}"} if api.token else {}
        if self._http is None:
            self._http = httpx2.AsyncClient(
                transport=self._transport,
                timeout=_REQUEST_SECONDS,
                # A proxy of the environment cannot reach what listens on this machine only.
                trust_env=not is_loopback(api.url),
            )
        try:
            response = await self._http.get(
                api.url.rstrip("/") + path, params=tuple(params or ()), headers=headers
            )
        except UnicodeEncodeError:
            raise InvalidCommand("a filter holds an unpaired surrogate", code="id_not_unicode") from None
        except (httpx2.TransportError, httpx2.InvalidURL) as error:
            raise Unavailable(f"the read API: {type(error).__name__}", code="api_unavailable") from None
        if response.status_code != _OK:
            raise problem_of(response)
        try:
            return kind.model_validate_json(response.content)
        except ValidationError:
            raise Unavailable("the read API sent an unknown body", code="api_body") from None


def problem_of(response: httpx2.Response) -> RunlaneError:
    """Return the error that an answer describes, whose body was read."""
    try:
        return from_info(Problem.model_validate_json(response.content).info())
    except ValidationError:
        # A proxy in between, or no read API at all.
        return Unavailable(f"the read API answered {response.status_code}", code="api_status")


def is_loopback(url: str) -> bool:
    """Whether an address is this machine's alone."""
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def resource_path(resource: str, identifier: str, rest: str = "") -> str:
    """Return the path of a resource or of something below it; ``InvalidCommand`` for an id that is none."""
    path = f"/v1/{resource}/{_segment(identifier)}"
    return f"{path}/{rest}" if rest else path


def _segment(identifier: str) -> str:
    try:
        return path_segment(identifier)
    except UnicodeEncodeError:
        raise InvalidCommand("the id holds an unpaired surrogate", code="id_not_unicode") from None


def _record_bounds(cursor: str, limit: int) -> Params:
    check_limit(limit)
    parse_cursor(cursor)
    return _bounds(cursor, limit)


def _bounds(cursor: str, limit: int) -> Params:
    return [("limit", str(check_limit(limit))), *([("cursor", cursor)] if cursor else [])]


def _within(scope: SessionScope | None) -> Params:
    if scope is None:
        return []
    return [("in_session", i) for i in scope.ids] + [("in_prefix", p) for p in scope.prefixes]


def _search(query: RunQuery) -> Params:
    named: Mapping[str, str] = {"agent": query.agent_id, "session": query.session_id}
    times: Mapping[str, datetime | None] = {"from": query.started_from, "until": query.started_until}
    return [
        *_bounds(query.cursor, query.limit),
        *_within(query.scope),
        *(("status", status.value) for status in query.statuses),
        *((name, value) for name, value in named.items() if value),
        *(("label", f"{key}={value}") for key, value in query.labels.items()),
        *((name, time.isoformat()) for name, time in times.items() if time is not None),
    ]
