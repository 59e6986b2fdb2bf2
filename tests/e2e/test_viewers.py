"""A viewer that never reads what it asked for: commits go on, and other viewers see them."""

from __future__ import annotations

import socket
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from runlane.client import RunStore
from runlane.service.embedded.folder import DataFolder
from runlane.service.embedded.stack import EmbeddedStack

RECORDS = 1_200
FILLER = "x" * 8_000


def stalled_viewer(api: str, token: str) -> socket.socket:
    """Open a stream of the session and never read from it."""
    where = urlsplit(api)
    viewer = socket.socket()
    viewer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    viewer.connect((where.hostname, where.port))
    head = ("GET /v1/sessions/s/stream HTTP/1.1", f"Host: {where.netloc}", f"Authorization: Bearer {token}")
    viewer.sendall("".join(f"{line}\r\n" for line in (*head, "")).encode())
    return viewer


@pytest.mark.slow
@pytest.mark.guarantee("G10")
async def test_a_stalled_viewer_delays_neither_commits_nor_other_viewers(tmp_path: Path) -> None:
    with DataFolder(tmp_path) as folder, EmbeddedStack(folder) as stack:
        known = stack.connection
        async with RunStore.from_connection(folder.connection_file) as store:
            await store.create_session("s", datetime.now(UTC).replace(microsecond=0))
            with stalled_viewer(known.api, known.tokens.worker):
                async with store.run("r", "agent", session_id="s") as run:
                    for number in range(RECORDS):
                        await run.post("note", {"n": number, "filler": FILLER})
                    await run.flush()
                seen = [record.seq async for record in store.follow(run="r")]

    assert seen == list(range(1, RECORDS + 3))
