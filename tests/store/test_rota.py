"""Each in turn, one step at a time; who fails waits longer and longer and holds nobody up."""

from __future__ import annotations

from runlane.store.rota import Rota


def test_each_has_its_turn_a_second_apart() -> None:
    rota: Rota[str] = Rota()
    rota.add(["a", "b"])
    rota.add(["b"])
    assert (len(rota), rota.first(0.0), rota.due()) == (2, "a", 0.0)
    rota.again("a", 10.0)
    assert (rota.first(10.5), rota.due()) == (None, 11.0)
    assert rota.first(11.0) == "b"
    rota.again("b", 11.0)
    assert rota.first(12.0) == "a"


def test_what_is_finished_makes_room_at_once() -> None:
    rota: Rota[str] = Rota()
    rota.add(["a", "b"])
    rota.finish("a")
    assert (rota.first(0.0), rota.finished) == ("b", 1)
    rota.finish("b")
    assert (rota.first(0.0), rota.due(), len(rota)) == (None, float("inf"), 0)


def test_one_that_fails_waits_longer_each_time_and_the_others_go_on() -> None:
    rota: Rota[str] = Rota()
    rota.add(["broken", "fine"])
    rota.fail("broken", 0.0)
    assert rota.first(1.0) == "fine"
    rota.again("fine", 1.0)
    assert rota.first(2.0) == "broken"
    pauses = []
    for _ in range(8):
        rota.fail("broken", 100.0)
        rota.again("fine", 100.0)
        pauses.append(rota._turns["broken"].due - 100.0)
    assert pauses == [4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 60.0, 60.0]
    assert (rota.first(159.0), rota.failed) == ("fine", 9)


def test_a_success_ends_the_long_pauses() -> None:
    rota: Rota[str] = Rota()
    rota.add(["a"])
    rota.fail("a", 0.0)
    rota.again("a", 2.0)
    rota.fail("a", 10.0)
    assert rota.due() == 12.0
