"""The appends of one store that are not answered yet, for those that have to follow them."""

from __future__ import annotations

import asyncio

from runlane.contract.commands import AppendRunRecord, Command


class OpenAppends:
    """Tells an append when the one that it follows is settled: stored (True) or never to be (False)."""

    def __init__(self) -> None:
        self._open: dict[tuple[str, str], asyncio.Future[bool]] = {}

    def predecessor(self, command: Command) -> asyncio.Future[bool] | None:
        """Return the open append that ``command`` follows by its ``after_key``, or None."""
        if not isinstance(command, AppendRunRecord) or command.record is None or not command.after_key:
            return None
        return self._open.get((command.record.run_id, command.after_key))

    def begin(self, command: Command) -> asyncio.Future[bool] | None:
        """Register an append; the caller settles the returned future through ``end``."""
        if not isinstance(command, AppendRunRecord) or command.record is None:
            return None
        key = (command.record.run_id, command.record.event_key)
        if key in self._open:
            return None
        settled = self._open[key] = asyncio.get_running_loop().create_future()
        settled.add_done_callback(lambda _: self._open.pop(key))
        return settled
