"""The places of a caller's open streams: so many at once, each until its time, each given back once."""

from dataclasses import replace
from datetime import timedelta

import pytest

from a2a_serverless.ports import StreamKey
from tests.integration.ports.world import TENANT, World

MINUTE = timedelta(minutes=1)


def taken(
    world: World, *, most: int = 1, owner: str = "", tenant: str = TENANT, lasting: timedelta = MINUTE
) -> StreamKey | None:
    """A place, if there is one."""
    until = world.clock.now() + lasting
    return world.streams.open(tenant, owner or world.owner, most=most, until=until)


def must(stream: StreamKey | None) -> StreamKey:
    assert stream is not None
    return stream


@pytest.mark.parametrize("most", [1, 2, 5])
def test_a_caller_gets_so_many_places_and_no_more(world: World, most: int) -> None:
    streams = [must(taken(world, most=most)) for _ in range(most)]

    assert sorted(stream.place for stream in streams) == list(range(most))
    assert taken(world, most=most) is None


def test_a_place_given_back_is_free_at_once(world: World) -> None:
    streams = [must(taken(world, most=3)) for _ in range(3)]

    world.streams.close(streams[1])

    assert must(taken(world, most=3)).place == streams[1].place
    assert taken(world, most=3) is None


def test_a_place_that_nobody_gives_back_is_free_when_its_time_is_over(world: World) -> None:
    must(taken(world))
    world.clock.sleep(MINUTE.total_seconds() - 0.001)
    assert taken(world) is None

    world.clock.sleep(0.001)

    assert taken(world) is not None
    assert taken(world) is None


def test_every_place_has_a_time_of_its_own(world: World) -> None:
    short = must(taken(world, most=2))
    must(taken(world, most=2, lasting=10 * MINUTE))
    world.clock.sleep(MINUTE.total_seconds())

    assert must(taken(world, most=2, lasting=10 * MINUTE)).place == short.place
    assert taken(world, most=2) is None


def test_who_gives_back_too_late_takes_nothing_from_who_has_the_place_now(world: World) -> None:
    late = must(taken(world))
    world.clock.sleep(MINUTE.total_seconds())
    mine = must(taken(world))
    assert mine.place == late.place

    world.streams.close(late)
    world.streams.close(replace(mine, token=late.token))

    assert taken(world) is None
    world.streams.close(mine)
    assert taken(world) is not None


def test_a_place_may_be_given_back_twice_or_without_having_been_taken(world: World) -> None:
    stream = must(taken(world))

    world.streams.close(stream)
    world.streams.close(stream)
    world.streams.close(replace(stream, owner="nobody"))

    assert taken(world) is not None


def test_callers_do_not_count_together(world: World) -> None:
    must(taken(world))

    assert taken(world, tenant="another") is not None
    assert taken(world, owner=f"{world.owner}-2") is not None
    assert taken(world, tenant="", owner=f"{TENANT}#{world.owner}") is not None
    assert taken(world) is None


def test_a_stream_whose_time_is_over_already_holds_no_place(world: World) -> None:
    assert taken(world, lasting=-MINUTE) is not None

    assert taken(world) is not None


def test_where_fewer_places_are_allowed_than_before_the_ones_beyond_do_not_help(world: World) -> None:
    streams = [must(taken(world, most=4)) for _ in range(4)]
    for stream in streams:
        if stream.place >= 2:
            world.streams.close(stream)

    assert taken(world, most=2) is None
