"""The journal side of one ownership: what is drafted is sealed behind the chain's head, then written."""

from __future__ import annotations

from runlane.store.block import Draft, SealedBlock, seal
from runlane.store.flight import ChainWriter


class Writer(ChainWriter[SealedBlock]):
    """Seals and writes one block after another."""

    def launch(self, draft: Draft, since: float) -> None:
        """Seal the next block; it waits for its turn from ``since`` on."""
        self.fly(seal(draft, self.head), since)
