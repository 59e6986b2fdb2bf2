"""What an owner counts, as Prometheus scrapes it."""

from __future__ import annotations

from pathlib import Path

import pytest
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from runlane.client import RunStore
from runlane.contract.errors import SessionEnded
from runlane.owner.durations import BOUNDS, Durations
from runlane.service.embedded.folder import CONNECTION_FILE, DataFolder
from runlane.service.embedded.stack import EmbeddedStack
from tests.client.scripted import NOW


def test_each_duration_is_counted_in_every_bucket_that_it_fits_in() -> None:
    durations = Durations()
    for seconds in (0.0005, 0.001, 0.003, 9.0, 11.0):
        durations.add(seconds)
    counts, total = durations.read()
    found = dict(zip((*BOUNDS, None), counts, strict=True))
    assert (found[0.001], found[0.002], found[0.005], found[5.0], found[10.0], found[None]) == (
        2,
        2,
        3,
        3,
        4,
        5,
    )
    assert total == pytest.approx(20.0045)
    assert (BOUNDS[0], BOUNDS[-1]) == (0.001, 10.0)


@pytest.mark.slow
async def test_an_owner_tells_how_long_commits_and_inserts_take(tmp_path: Path) -> None:
    with DataFolder(tmp_path) as folder, EmbeddedStack(folder) as stack:
        async with RunStore.from_connection(tmp_path / CONNECTION_FILE) as store:
            await store.create_session("s", NOW)
            await store.end_session("s", NOW)
            with pytest.raises(SessionEnded):
                await store.create_session("s", NOW)
    blocks = stack.owner.owner.stats.blocks
    claims = stack.owner.owner.stats.claims
    text = generate_latest(stack.owner.registry()).decode()
    samples = {
        (sample.name, sample.labels.get("le", "")): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
    assert samples["runlane_commands_total", ""] >= 3
    assert samples["runlane_commit_seconds_count", ""] == blocks - claims
    assert samples["runlane_commit_seconds_bucket", "+Inf"] == blocks - claims
    assert samples["runlane_insert_seconds_count", ""] >= blocks
    assert samples["runlane_insert_seconds_sum", ""] > 0
    assert (
        samples["runlane_insert_seconds_bucket", "10.0"] <= samples["runlane_insert_seconds_bucket", "+Inf"]
    )
    assert samples["runlane_erases_waiting", ""] == 0
