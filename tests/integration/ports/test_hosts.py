"""Hosts that do not answer are left alone by everybody for a while, then tried by one."""

from datetime import datetime, timedelta

import pytest

from a2a_serverless.ports.webhooks import Hosts
from tests.integration.ports.samples import all_at_once
from tests.integration.ports.world import World

SECOND = timedelta(seconds=1)
MEMORY = 5.0
"""How long a process may go by what it saw."""
LASTS = 10.0
"""How long a row lasts before it counts as one."""


def host_of(world: World) -> str:
    return f"{world.owner}.example"


def silences(world: World, number: int, hosts: Hosts | None = None) -> Hosts:
    """So many attempts without an answer, far enough apart for three to be a row."""
    hosts = hosts or world.hosts()
    for _ in range(number):
        world.clock.sleep(LASTS / 2)
        hosts.was_silent(host_of(world))
    return hosts


def silent_until(world: World) -> datetime | None:
    """What a process is told that knows nothing yet."""
    return world.hosts().silent_until(host_of(world))


def test_a_host_nobody_knows_anything_of_may_be_tried(world: World) -> None:
    assert silent_until(world) is None


@pytest.mark.parametrize("number", [1, 2])
def test_a_silence_or_two_are_no_reason_to_leave_a_host_alone(world: World, number: int) -> None:
    hosts = silences(world, number)

    assert hosts.silent_until(host_of(world)) is None
    assert silent_until(world) is None


def test_after_three_silences_in_a_row_a_host_is_left_alone_for_half_a_minute(world: World) -> None:
    hosts = silences(world, 3)
    until = world.clock.now() + 30 * SECOND

    assert hosts.silent_until(host_of(world)) == until
    assert silent_until(world) == until
    assert world.hosts().silent_until(f"other.{host_of(world)}") is None
    world.clock.sleep(29.999)
    assert silent_until(world) == until
    world.clock.sleep(0.001)
    assert silent_until(world) is None


def test_silences_count_together_whoever_met_them(world: World) -> None:
    for _ in range(3):
        silences(world, 1, world.hosts())

    assert silent_until(world) == world.clock.now() + 30 * SECOND


@pytest.mark.parametrize("apart", [0.0, 1.0, 4.9])
def test_silences_count_only_when_they_have_lasted(world: World, apart: float) -> None:
    hosts = world.hosts()
    for _ in range(3):
        world.clock.sleep(apart)
        hosts.was_silent(host_of(world))

    assert silent_until(world) is None

    world.clock.sleep(LASTS)
    hosts.was_silent(host_of(world))
    assert silent_until(world) == world.clock.now() + 30 * SECOND


def test_a_host_that_fails_at_some_requests_of_many_is_never_left_alone(world: World) -> None:
    processes = [world.hosts() for _ in range(4)]

    for number in range(100):
        hosts = processes[number % 4]
        assert hosts.silent_until(host_of(world)) is None
        if number % 5 == 0:
            hosts.was_silent(host_of(world))
        else:
            hosts.answered(host_of(world))
        world.clock.sleep(0.5)


def test_an_answer_ends_the_row(world: World) -> None:
    hosts = silences(world, 2)
    hosts.answered(host_of(world))

    silences(world, 2, hosts)

    assert hosts.silent_until(host_of(world)) is None
    assert silent_until(world) is None


def test_an_answer_ends_the_silence_for_everybody(world: World) -> None:
    hosts = silences(world, 3)
    other = world.hosts()
    assert other.silent_until(host_of(world)) is not None

    hosts.answered(host_of(world))

    assert hosts.silent_until(host_of(world)) is None
    assert silent_until(world) is None
    world.clock.sleep(MEMORY)
    assert other.silent_until(host_of(world)) is None


def test_a_host_that_answered_again_may_fall_silent_again(world: World) -> None:
    hosts = silences(world, 3)
    hosts.answered(host_of(world))

    silences(world, 2, world.hosts())
    assert silent_until(world) is None

    silences(world, 1, hosts)
    assert silent_until(world) == world.clock.now() + 30 * SECOND


def test_five_minutes_without_a_silence_end_the_row(world: World) -> None:
    hosts = silences(world, 2)
    world.clock.sleep(5 * 60)
    silences(world, 2, hosts)

    assert silent_until(world) is None

    silences(world, 1, hosts)
    assert silent_until(world) is not None


def test_attempts_that_had_begun_before_do_not_prolong_the_silence(world: World) -> None:
    silences(world, 3)
    until = silent_until(world)

    silences(world, 5, world.hosts())

    assert silent_until(world) == until


def test_each_further_silence_doubles_the_time_up_to_ten_minutes(world: World) -> None:
    silences(world, 3)
    lasted = []
    for _ in range(8):
        until = silent_until(world)
        assert until is not None
        lasted.append((until - world.clock.now()).total_seconds())
        world.clock.sleep(lasted[-1])
        prober = world.hosts()
        assert prober.silent_until(host_of(world)) is None
        world.clock.sleep(10)
        prober.was_silent(host_of(world))

    assert lasted == [30, 60, 120, 240, 480, 600, 600, 600]


def test_when_the_time_is_over_one_tries_and_the_others_wait_for_a_few_seconds(world: World) -> None:
    silences(world, 3)
    others = [world.hosts() for _ in range(3)]
    for other in others:
        assert other.silent_until(host_of(world)) is not None
    world.clock.sleep(30)

    assert silent_until(world) is None

    for other in others:
        wait = other.silent_until(host_of(world))
        assert wait is not None
        assert SECOND < wait - world.clock.now() < 30 * SECOND


def test_one_of_eight_tries(world: World) -> None:
    processes = [silences(world, 3)] + [world.hosts() for _ in range(7)]
    world.clock.sleep(30)

    told = all_at_once(lambda number: processes[number].silent_until(host_of(world)))

    assert told.count(None) == 1


def test_who_tries_and_never_tells_is_followed_by_the_next(world: World) -> None:
    silences(world, 3)
    world.clock.sleep(30)
    assert silent_until(world) is None
    wait = silent_until(world)
    assert wait is not None

    world.clock.sleep((wait - world.clock.now()).total_seconds())

    assert silent_until(world) is None
    assert silent_until(world) is not None


def test_silences_at_the_same_time_count_and_open_the_breaker_once(world: World) -> None:
    processes = [world.hosts() for _ in range(8)]
    silences(world, 1)
    world.clock.sleep(LASTS)

    all_at_once(lambda number: processes[number].was_silent(host_of(world)))

    assert silent_until(world) == world.clock.now() + 30 * SECOND


def test_after_a_day_nothing_is_known_of_a_silence(world: World) -> None:
    hosts = silences(world, 3)
    world.clock.sleep(2 * 86_400)

    assert silent_until(world) is None
    assert hosts.silent_until(host_of(world)) is None
    silences(world, 2, hosts)
    assert silent_until(world) is None
