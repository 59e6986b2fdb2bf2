"""One viewer's queue: each number once, in order, bounded, and history where something is missing."""

import pytest

from runlane.contract.delta import Delta
from runlane.gateway.live import frames
from runlane.gateway.live.frames import RecordFrame
from runlane.gateway.live.hub import Hub
from runlane.gateway.live.tap import MAX_BYTES, MAX_FRAMES, Tap, Then
from tests.gateway.memory_reader import a_record


class Wakes:
    count = 0

    def __call__(self) -> None:
        self.count += 1


def live_tap(run_id: str = "r", cursor: int = 0) -> Tap:
    """A tap whose history was read."""
    tap = Tap("s/s", run_id, cursor, Wakes())
    tap.reading()
    assert tap.read_up()
    return tap


def frame(seq: int, payload: bytes = b"{}", run_id: str = "r") -> RecordFrame:
    return RecordFrame(a_record(run_id, "s", seq, payload))


def test_numbers_come_once_and_in_order() -> None:
    tap = live_tap()
    for seq in (1, 1, 2, 1, 3):
        tap.put(frame(seq))

    taken = tap.take()

    assert taken.data == b"".join(frame(seq).of_run() for seq in (1, 2, 3))
    assert (taken.then, tap.cursor) == (Then.WAIT, 3)


def test_behind_a_hole_history_is_read_and_what_waits_follows_on() -> None:
    tap = live_tap(cursor=4)
    for seq in (5, 7, 8):
        tap.put(frame(seq))

    assert (tap.take().data, tap.take().then) == (frame(5).of_run(), Then.READ)
    tap.reading()
    tap.cursor = 7
    assert tap.read_up()
    assert tap.take().data == frame(8).of_run()


def test_a_lane_event_takes_a_number_and_is_not_shown() -> None:
    tap = live_tap(run_id="")
    event = a_record("", "s", 1)._replace(type="session_created", seq=0)
    tap.put(RecordFrame(event))
    tap.put(frame(2))

    assert tap.take().data == frame(2).of_session()


def test_other_runs_of_the_lane_are_left_out() -> None:
    tap = live_tap()
    tap.put(frame(1, run_id="other"))

    assert tap.take().data == b""


def test_a_run_is_over_after_its_last_record() -> None:
    tap = live_tap()
    last = a_record("r", "s", 1)._replace(type="run_completed")
    tap.put(RecordFrame(last))

    assert tap.take().run_over


@pytest.mark.parametrize("payload", [b"{}", b'"' + b"x" * (MAX_BYTES // 100) + b'"'])
def test_a_full_queue_means_that_the_viewer_lags(payload: bytes) -> None:
    tap = live_tap()
    for seq in range(1, MAX_FRAMES + 2):
        tap.put(frame(seq, payload))

    taken = tap.take()

    assert (taken.then, taken.data, tap._size) == (Then.LAGGED, b"", 0)
    tap.put(frame(MAX_FRAMES + 2))
    assert not tap._queue


def test_one_record_larger_than_the_bound_still_goes_out() -> None:
    tap = live_tap()
    tap.put(frame(1, b'"' + b"x" * (MAX_BYTES + 1) + b'"'))

    assert len(tap.take().data) > MAX_BYTES


def test_what_is_too_much_while_history_is_read_is_read_from_history() -> None:
    tap = Tap("s/s", "r", 0, Wakes())
    tap.reading()
    for seq in range(1, MAX_FRAMES + 10):
        tap.put(frame(seq))

    assert not tap.read_up()
    tap.cursor = MAX_FRAMES + 9
    assert tap.read_up()
    assert tap.take().then is Then.WAIT


def test_deltas_never_push_a_record_out() -> None:
    tap = live_tap()
    for number in range(2 * MAX_FRAMES):
        tap.put_delta(frames.delta(Delta("r", "", "s", str(number))))
    for seq in range(1, MAX_FRAMES // 2 + 1):
        tap.put(frame(seq))

    data = b""
    while (taken := tap.take()).then is Then.MORE or taken.data:
        data += taken.data

    assert data.count(b"event: record") == MAX_FRAMES // 2
    assert data.count(b"event: delta") == MAX_FRAMES // 2
    assert tap.take().then is Then.WAIT


def test_a_purge_drops_what_waits() -> None:
    tap = live_tap()
    tap.put(frame(1))
    tap.purge()
    tap.leave()

    assert (tap.take().data, tap.take().then) == (b"", Then.PURGED)


def test_every_news_wakes_the_viewer() -> None:
    wakes = Wakes()
    tap = Tap("s/s", "r", 0, wakes)
    tap.put(frame(1))
    tap.lose()
    tap.leave()

    assert wakes.count == 3


def test_a_large_queue_is_taken_in_pieces() -> None:
    tap = live_tap()
    payload = b'"' + b"x" * 200_000 + b'"'
    for seq in range(1, 5):
        tap.put(frame(seq, payload))

    taken = tap.take()

    assert taken.then is Then.MORE
    assert len(taken.data) < 500_000


def test_a_record_is_written_once_for_all_viewers_of_its_lane() -> None:
    hub = Hub()
    taps = [hub.subscribe("s/s", "r", 0, Wakes()) for _ in range(3)]
    hub.record(a_record("r", "s", 1))

    assert len({id(tap._queue[0]) for tap in taps}) == 1


def test_the_hub_forgets_a_lane_with_its_last_viewer() -> None:
    hub = Hub()
    tap, other = (hub.subscribe("s/s", "r", 0, Wakes()) for _ in range(2))
    assert hub.wants("s/s")
    assert not hub.wants("s/t")
    hub.unsubscribe(tap)
    hub.unsubscribe(tap)
    assert hub.wants("s/s")
    hub.unsubscribe(other)
    assert not hub.wants("s/s")
