"""The topics of the design, declared once."""

from runlane.contract.topics import Topics

DAY = 24 * 3600 * 1000


def test_topics_and_what_they_keep() -> None:
    kept = {spec.name: (spec.partitions, spec.retention_ms) for spec in Topics().all()}
    assert kept == {
        "runlane.commands": (12, 7 * DAY),
        "runlane.outcomes": (12, DAY // 24),
        "runlane.records": (12, 7 * DAY),
        "runlane.rejected": (1, 30 * DAY),
        "runlane.stream": (12, DAY),
        "runlane.activity": (12, DAY),
        "runlane.deltas": (12, 10 * 60 * 1000),
        "runlane.memory": (12, 7 * DAY),
    }


def test_messages_of_two_mebibytes_fit_everywhere() -> None:
    assert {spec.config["max.message.bytes"] for spec in Topics().all()} == {"2097152"}


def test_what_workers_write_is_bounded_by_its_size_unpacked() -> None:
    unpacked = {spec.name for spec in Topics().all() if spec.config["compression.type"] == "uncompressed"}
    assert unpacked == {"runlane.commands", "runlane.deltas", "runlane.memory"}


def test_prefix_and_partitions_are_settings() -> None:
    topics = Topics(prefix="test.", partitions=4)
    assert topics.commands.name == "test.commands"
    assert topics.commands.partitions == topics.records.partitions == 4


def test_a_segment_closes_well_within_the_retention_so_that_it_can_be_deleted() -> None:
    for spec in Topics().all():
        assert 60_000 <= int(spec.config["segment.ms"]) <= spec.retention_ms // 8
        assert spec.config["cleanup.policy"] == "delete"
        assert spec.config["message.timestamp.type"] == "LogAppendTime"
