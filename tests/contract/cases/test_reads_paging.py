"""Cases of section reads-paging."""

from collections.abc import Callable

import pytest

from runlane.contract.errors import InvalidCommand, RunNotFound, SessionNotFound
from runlane.contract.values import CommittedRecord, Page
from tests.contract.cases.world import World


def of_run(world: World, cursor: str = "", limit: int = 10, run: str = "run") -> Page:
    return world.backend.list_run_records(world.make.id(run), cursor, limit)


def of_session(world: World, cursor: str = "", limit: int = 10, session: str = "session") -> Page:
    return world.backend.list_session_run_records(world.make.id(session), cursor, limit)


Read = Callable[..., Page]
READS = pytest.mark.parametrize("read", [of_run, of_session])


def given_four_records(world: World) -> None:
    world.run()
    for key in ("one", "two", "three"):
        world.append(world.make.append(key))


def keys(records: tuple[CommittedRecord, ...]) -> list[str]:
    return [record.event_key for record in records]


@pytest.mark.case("C253")
@READS
def test_the_last_page_has_no_cursor(world: World, read: Read) -> None:
    given_four_records(world)
    first = read(world, limit=2)
    assert (keys(first.records), bool(first.next_cursor)) == (["run-start", "one"], True)
    second = read(world, first.next_cursor, limit=2)
    assert (keys(second.records), second.next_cursor) == (["two", "three"], "")


@pytest.mark.case("C254")
@READS
@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_is_positive_before_anything_else(world: World, read: Read, limit: int) -> None:
    with pytest.raises(InvalidCommand) as caught:
        read(world, "nonsense", limit=limit)
    assert caught.value.code == "limit_not_positive"


@READS
@pytest.mark.parametrize("cursor", ["0", "-1", "01", "x", "1.0", " 1", "9" * 40])
def test_a_cursor_is_a_positive_decimal_before_the_run_or_session_is_looked_up(
    world: World, read: Read, cursor: str
) -> None:
    with pytest.raises(InvalidCommand) as caught:
        read(world, cursor)
    assert caught.value.code == "invalid_cursor"


@pytest.mark.case("C256")
@READS
def test_a_cursor_beyond_the_end_reads_an_empty_page(world: World, read: Read) -> None:
    given_four_records(world)
    assert read(world, "1000") == Page((), "")


@pytest.mark.case("C257")
@READS
def test_new_records_follow_what_was_read_before(world: World, read: Read) -> None:
    given_four_records(world)
    cursor = read(world, limit=2).next_cursor
    before = read(world, cursor)
    world.append(world.make.append("four"))
    after = read(world, cursor)
    assert after.records[:-1] == before.records
    assert keys(after.records[-1:]) == ["four"]


@pytest.mark.case("C259")
def test_an_unknown_run_or_session_has_an_error_of_its_own(world: World) -> None:
    with pytest.raises(RunNotFound):
        of_run(world)
    with pytest.raises(SessionNotFound):
        of_session(world)
    with pytest.raises(RunNotFound):
        world.backend.load_run(world.make.id("run"))


@pytest.mark.case("C260")
def test_a_new_session_has_an_empty_page(world: World) -> None:
    world.session()
    assert of_session(world) == Page((), "")


@pytest.mark.case("C262")
def test_ids_are_ordered_within_a_run_and_repeat_across_runs(world: World) -> None:
    given_four_records(world)
    world.run("second")
    assert [record.id for record in of_run(world).records] == ["1", "2", "3", "4"]
    assert [record.id for record in of_run(world, run="second").records] == ["1"]


@pytest.mark.case("C263")
def test_an_exact_retry_adds_nothing_to_any_list(world: World) -> None:
    given_four_records(world)
    before = (of_run(world), of_session(world))
    world.append(world.make.append("two"))
    world.start_root(world.make.root())
    assert (of_run(world), of_session(world)) == before


def test_a_session_lists_all_its_runs_in_commit_order(world: World) -> None:
    world.run()
    world.start_child(world.make.child())
    world.append(world.make.append())
    world.run("second")
    world.append(world.make.append(run="child", agent="child-agent"))
    world.start_one_shot(world.make.one_shot("single"))
    listed = of_session(world).records
    assert [(record.run_id, record.event_key) for record in listed] == [
        (world.make.id(run), key)
        for run, key in [
            ("run", "run-start"),
            ("run", "link-child"),
            ("child", "child-start"),
            ("run", "note"),
            ("second", "second-start"),
            ("child", "note"),
        ]
    ]
    numbers = [record.lane_seq for record in listed]
    assert numbers == sorted(set(numbers))


def test_a_sessionless_run_and_its_children_are_listed_by_run(world: World) -> None:
    world.start_one_shot(world.make.one_shot())
    world.start_one_shot_child(world.make.one_shot_child())
    assert keys(of_run(world).records) == ["run-start", "link-child"]
    assert keys(of_run(world, run="child").records) == ["child-start"]
