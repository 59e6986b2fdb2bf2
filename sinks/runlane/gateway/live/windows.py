"""The activity windows of the last hour, kept up to date by the feed's shares. Pure."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from runlane.contract.activity import ActivityShare, ActivityWindow, merge

MAX_AGENTS: Final = 1_000
KEPT: Final = timedelta(hours=1)
Key = tuple[str, datetime]


class Windows:
    """Shares by agent, and the whole windows that they add up to; the agents that moved last are kept.

    ``take`` shares, then ``renew`` says which windows are new or have changed.
    """

    def __init__(self) -> None:
        self._shares: OrderedDict[str, dict[tuple[datetime, int], ActivityShare]] = OrderedDict()
        self._whole: dict[str, dict[datetime, ActivityWindow]] = {}
        self._moved: set[str] = set()

    def take(self, shares: Iterable[ActivityShare]) -> None:
        """Take shares, perhaps for the second time; of one share the greatest revision is kept."""
        for share in shares:
            known = self._shares.setdefault(share.agent_id, {})
            place = (share.window_start, share.partition)
            held = known.get(place)
            if held is not None and (share.revision < held.revision or share == held):
                continue
            known[place] = share
            self._moved.add(share.agent_id)
            self._shares.move_to_end(share.agent_id)
        while len(self._shares) > MAX_AGENTS:
            self._forget(next(iter(self._shares)))

    def renew(self, now: datetime) -> Sequence[Key]:
        """Add up what moved; return the windows that are not what they were, oldest first."""
        oldest = now - KEPT
        moved, self._moved = self._moved, set()
        changed: list[Key] = []
        for agent_id in moved:
            shares = self._shares.get(agent_id, {})
            for place in [place for place in shares if place[0] < oldest]:
                del shares[place]
            if not shares:
                self._forget(agent_id)
                continue
            whole = {window.window_start: window for window in merge(shares.values())}
            before: Mapping[datetime, ActivityWindow] = self._whole.get(agent_id, {})
            changed += [(agent_id, start) for start, one in whole.items() if before.get(start) != one]
            self._whole[agent_id] = whole
        return sorted(changed, key=lambda key: (key[1], key[0]))

    def window(self, key: Key) -> ActivityWindow | None:
        """Return one window, None when it is forgotten."""
        return self._whole.get(key[0], {}).get(key[1])

    def since(self, oldest: datetime, agent_id: str = "") -> Sequence[ActivityWindow]:
        """Return the windows that begin at ``oldest`` or later, by agent and then time."""
        agents = [agent_id] if agent_id else sorted(self._whole)
        return [
            window
            for agent in agents
            for start, window in self._whole.get(agent, {}).items()
            if start >= oldest
        ]

    def _forget(self, agent_id: str) -> None:
        self._shares.pop(agent_id, None)
        self._whole.pop(agent_id, None)
        self._moved.discard(agent_id)
