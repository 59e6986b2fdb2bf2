from collections.abc import AsyncIterator, Callable

import httpx2
import pytest

from runlane.contract.reader import SessionScope
from runlane.gateway import Access, Role, Token, create_app
from tests.gateway.memory_reader import MemoryReader

WORKER = "worker-token-0123456789"
HOST = "host-token-0123456789"
VIEWER = "viewer-token-0123456789"
TOKENS = (
    Token(WORKER, Role.WORKER),
    Token(HOST, Role.HOST),
    Token(VIEWER, Role.VIEWER, SessionScope(ids=("mine",), prefixes=("team-",))),
)
As = Callable[[str], httpx2.AsyncClient]


@pytest.fixture
def reader() -> MemoryReader:
    return MemoryReader()


@pytest.fixture
async def as_token(reader: MemoryReader) -> AsyncIterator[As]:
    """Clients of one gateway with tokens, by token."""
    app = create_app(reader, Access(TOKENS))
    clients: list[httpx2.AsyncClient] = []

    def client(token: str) -> httpx2.AsyncClient:
        transport = httpx2.ASGITransport(app)
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        clients.append(httpx2.AsyncClient(transport=transport, base_url="http://gateway", headers=headers))
        return clients[-1]

    yield client
    for one in clients:
        await one.aclose()


@pytest.fixture
def worker(as_token: As) -> httpx2.AsyncClient:
    return as_token(WORKER)


@pytest.fixture
def viewer(as_token: As) -> httpx2.AsyncClient:
    return as_token(VIEWER)
