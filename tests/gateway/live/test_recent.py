"""A viewer who comes back while others watch is told from memory, or sent to the store."""

import pytest

from runlane.gateway.live.frames import RecordFrame
from runlane.gateway.live.hub import Hub
from runlane.gateway.live.recent import MAX_BYTES, MAX_FRAMES, Recent
from runlane.gateway.live.tap import Tap, Then
from tests.gateway.live.world import World, begin, end, numbers
from tests.gateway.memory_reader import a_record


def frame(lane_seq: int, payload: bytes = b"{}") -> RecordFrame:
    return RecordFrame(a_record("r", "s", lane_seq, payload))


def held(recent: Recent, cursor: int) -> list[int] | None:
    found = recent.after("", cursor)
    return None if found is None else [one.lane_seq for one in found]


@pytest.mark.parametrize(
    ("cursor", "found"), [(3, None), (4, [5, 6, 7]), (5, [6, 7]), (7, []), (8, None), (0, None)]
)
def test_it_tells_what_follows_a_cursor_that_it_can_vouch_for(cursor: int, found: list[int] | None) -> None:
    recent = Recent()
    for number in (5, 6, 5, 7):
        recent.add(frame(number))

    assert held(recent, cursor) == found


def test_a_hole_begins_it_anew() -> None:
    recent = Recent()
    for number in (1, 2, 4):
        recent.add(frame(number))

    assert (held(recent, 2), held(recent, 3)) == (None, [4])


def test_it_is_bounded_by_count_and_by_size() -> None:
    many, large = Recent(), Recent()
    for number in range(1, MAX_FRAMES + 3):
        many.add(frame(number))
        large.add(frame(number, b'"' + b"x" * (MAX_BYTES // 3) + b'"'))
    large.add(frame(MAX_FRAMES + 3, b'"' + b"x" * MAX_BYTES + b'"'))

    assert (held(many, 1), len(held(many, 2) or [])) == (None, MAX_FRAMES)
    assert (large._size, len(large._frames)) == (0, 0)


def test_of_a_run_it_tells_only_what_it_saw() -> None:
    recent = Recent()
    for lane_seq, run_id, seq in ((3, "a", 2), (4, "b", 1), (5, "a", 3)):
        one = frame(lane_seq)
        one.run_id, one.seq = run_id, seq
        recent.add(one)

    assert recent.after("a", 0) is None
    assert [one.seq for one in recent.after("a", 1) or []] == [2, 3]
    assert [one.seq for one in recent.after("b", 0) or []] == [1]
    assert recent.after("none", 0) is None


def test_a_tap_that_caught_up_goes_on_live() -> None:
    hub = Hub()
    hub.subscribe("s/s", "", 0, lambda: None)
    for number in (1, 2, 3):
        hub.record(a_record("r", "s", number))
    fresh: Tap = hub.subscribe("s/s", "r", 1, lambda: None)

    assert hub.catch_up(fresh) == 3
    hub.record(a_record("r", "s", 4))
    taken = fresh.take()
    assert numbers_of(taken.data) == [2, 3, 4]
    assert taken.then is Then.WAIT
    hub.lose()
    assert hub.catch_up(hub.subscribe("s/s", "r", 1, lambda: None)) is None


def numbers_of(data: bytes) -> list[int]:
    return [int(line[4:]) for line in data.splitlines() if line.startswith(b"id: ")]


@pytest.mark.parametrize("path", ["/v1/runs/r/stream", "/v1/sessions/mine/stream"])
async def test_a_reconnect_beside_another_viewer_reads_no_history(
    world: World, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await world.session()
    run = await begin(world)
    async with world.stream(path) as other:
        last = numbers(await other.take(2))[-1]
        for number in range(3):
            await run.append("note", {"n": number})
        world.publish()
        await other.take(3)

        async def no_page(*_: object) -> None:
            raise AssertionError("history was read")

        for name in ("list_run_records", "list_session_run_records"):
            monkeypatch.setattr(world.store, name, no_page)
        async with world.stream(f"{path}?after={last + 1}") as again:
            seen = await again.take(3)
            await run.append("note", {"n": 3})
            world.publish()
            seen += await again.take(1)
        monkeypatch.undo()
        await end(run)

    assert [event.name for event in seen] == ["head", "record", "record", "record"]
    assert numbers(seen) == [last + 2, last + 3, last + 4]
    assert seen[0].data == f'{{"head":{last + 3},"status":"{"running" if "runs" in path else "active"}"}}'
