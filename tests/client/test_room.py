"""Bytes in flight: bounded in all and for each partition, first come first served."""

from __future__ import annotations

import asyncio

import pytest

from runlane.client.room import Room


async def enter(room: Room, partition: int, size: int) -> asyncio.Task[None]:
    """Start to enter, and let it get as far as it can."""
    task = asyncio.create_task(room.enter(partition, size))
    for _ in range(3):
        await asyncio.sleep(0)
    return task


async def turns() -> None:
    for _ in range(3):
        await asyncio.sleep(0)


async def test_a_full_partition_does_not_keep_another_waiting() -> None:
    room = Room(total=1000, per_partition=100)
    assert (await enter(room, 1, 100)).done()
    waits = await enter(room, 1, 1)
    assert (await enter(room, 2, 100)).done()
    assert not waits.done()
    room.leave(1, 100)
    await waits


async def test_those_of_a_partition_enter_in_their_order() -> None:
    room = Room(total=1000, per_partition=100)
    await room.enter(1, 60)
    large, small = await enter(room, 1, 60), await enter(room, 1, 10)
    assert not large.done()
    assert not small.done()
    room.leave(1, 60)
    await turns()
    assert large.done()
    assert small.done()


async def test_a_full_total_keeps_everybody_waiting_and_starves_nobody() -> None:
    room = Room(total=100, per_partition=100)
    await room.enter(1, 50)
    await room.enter(2, 50)
    large = await enter(room, 3, 90)
    small = await enter(room, 4, 10)
    room.leave(1, 50)
    await turns()
    assert not large.done()
    assert not small.done(), "it would keep the large one out for ever"
    room.leave(2, 50)
    await turns()
    assert large.done()
    assert small.done()


async def test_what_is_larger_than_a_bound_enters_alone() -> None:
    room = Room(total=100, per_partition=50)
    await room.enter(1, 500)
    behind = await enter(room, 2, 1)
    assert not behind.done()
    room.leave(1, 500)
    await behind


async def test_whoever_gives_up_takes_no_place() -> None:
    room = Room(total=100, per_partition=100)
    await room.enter(1, 100)
    gone, waits = await enter(room, 1, 100), await enter(room, 1, 50)
    gone.cancel()
    with pytest.raises(asyncio.CancelledError):
        await gone
    room.leave(1, 100)
    await waits
    room.leave(1, 50)


async def test_whoever_gives_up_just_when_let_in_gives_the_place_back() -> None:
    room = Room(total=100, per_partition=100)
    await room.enter(1, 100)
    gone = await enter(room, 1, 100)
    room.leave(1, 100)
    gone.cancel()
    with pytest.raises(asyncio.CancelledError):
        await gone
    assert (await enter(room, 1, 100)).done()


async def test_many_enter_and_leave_without_a_trace() -> None:
    room = Room(total=300, per_partition=100)
    inside: dict[int, int] = {}

    async def visit(number: int) -> None:
        partition, size = number % 5, 1 + number % 60
        await room.enter(partition, size)
        inside[partition] = inside.get(partition, 0) + size
        assert inside[partition] <= 100
        assert sum(inside.values()) <= 300
        await asyncio.sleep(0)
        inside[partition] -= size
        room.leave(partition, size)

    await asyncio.gather(*(visit(number) for number in range(2000)))
    assert not any(inside.values())
    assert not room._partitions
