"""How often a caller may call: never more than the limit says, whoever counts, and never less for long."""

import random
from datetime import datetime, timedelta

import pytest

from a2a_serverless.adapters.dynamodb_keys import rate_bucket
from a2a_serverless.ports.limits import Bucket, OperationClass, RateLimit, RateLimits
from tests.integration.ports.samples import THREADS, all_at_once
from tests.integration.ports.world import TENANT, StoredWorld, World

SECOND = timedelta(seconds=1)
LIMIT = RateLimit(calls=10, period=timedelta(seconds=60), burst=3)
"""One token every six seconds, three at most."""


def bucket(
    world: World, tenant: str = TENANT, owner: str = "", operations: OperationClass = OperationClass.SEND
) -> Bucket:
    return Bucket(tenant, owner or world.owner, operations)


def let_through(world: World, calls: int, limit: RateLimit = LIMIT, limits: RateLimits | None = None) -> int:
    """How many of so many calls at once are let through."""
    limits = limits or world.rate_limits()
    return [limits.take(bucket(world), limit) for _ in range(calls)].count(None)


@pytest.mark.parametrize("burst", [1, 2, 5])
def test_as_many_calls_at_once_as_the_burst_and_no_more(world: World, burst: int) -> None:
    limit = RateLimit(10, timedelta(seconds=60), burst)

    assert let_through(world, burst + 3, limit) == burst


def test_whoever_is_refused_learns_when_a_call_would_be_let_through(world: World) -> None:
    limits = world.rate_limits()
    let_through(world, LIMIT.burst, limits=limits)

    assert limits.take(bucket(world), LIMIT) == 6 * SECOND
    world.clock.sleep(5.999)
    assert limits.take(bucket(world), LIMIT) == timedelta(milliseconds=1)
    world.clock.sleep(0.001)
    assert limits.take(bucket(world), LIMIT) is None
    assert limits.take(bucket(world), LIMIT) == 6 * SECOND


def test_refused_calls_cost_nothing(world: World) -> None:
    let_through(world, LIMIT.burst + 50)

    world.clock.sleep(6)

    assert let_through(world, 5) == 1


def test_one_call_comes_back_at_a_time(world: World) -> None:
    let_through(world, LIMIT.burst)
    world.clock.sleep(13)
    assert let_through(world, 5) == 2

    world.clock.sleep(5)

    assert let_through(world, 5) == 1


@pytest.mark.parametrize("pause", [18, 19, 3600, 90 * 24 * 3600])
def test_after_a_pause_the_burst_is_whole_and_no_larger(world: World, pause: float) -> None:
    let_through(world, LIMIT.burst)

    world.clock.sleep(pause)

    assert let_through(world, 10) == LIMIT.burst


def test_calls_that_keep_to_the_pace_are_never_refused(world: World) -> None:
    limits, limit = world.rate_limits(), RateLimit(3, timedelta(seconds=1), 1)

    for _ in range(12):
        assert limits.take(bucket(world), limit) is None
        world.clock.sleep(0.333334)


def test_callers_tenants_and_classes_are_counted_apart(world: World) -> None:
    let_through(world, LIMIT.burst)
    limits = world.rate_limits()
    others = [
        bucket(world, tenant="another"),
        bucket(world, tenant=""),
        bucket(world, owner=f"{world.owner}2"),
        bucket(world, tenant="", owner=f"{TENANT}#{world.owner}"),
        bucket(world, operations=OperationClass.READ),
    ]

    assert [limits.take(other, LIMIT) for other in others] == [None] * len(others)
    assert limits.take(bucket(world), LIMIT) is not None


def test_another_limit_does_not_go_by_what_was_owed_under_the_last_one(world: World) -> None:
    strict = RateLimit(1, timedelta(days=1), 2)
    assert let_through(world, 5, strict) == 2

    assert let_through(world, 5) == LIMIT.burst
    assert let_through(world, 5, strict) == 0


def test_processes_that_know_nothing_of_each_other_count_together(world: World) -> None:
    processes = [world.rate_limits() for _ in range(4)]

    taken = [process.take(bucket(world), LIMIT) for process in processes]
    world.clock.sleep(12)
    again = [process.take(bucket(world), LIMIT) for process in reversed(processes)]

    assert taken.count(None) == LIMIT.burst
    assert again.count(None) == 2


@pytest.mark.parametrize("burst", [1, THREADS - 1, 3 * THREADS])
def test_however_many_call_at_once_the_burst_is_let_through_exactly(world: World, burst: int) -> None:
    limit, one = RateLimit(1, timedelta(hours=1), burst), world.rate_limits()

    def call(number: int) -> int:
        mine = one if number % 2 else world.rate_limits()
        return let_through(world, 4, limit, mine)

    assert sum(all_at_once(call)) == min(burst, 4 * THREADS)


def test_threads_that_find_the_bucket_full_again_are_let_through_no_oftener(world: World) -> None:
    let_through(world, LIMIT.burst)
    processes = [world.rate_limits() for _ in range(THREADS)]
    for process in processes:
        assert let_through(world, 1, limits=process) == 0
    world.clock.sleep(60)

    assert sum(all_at_once(lambda number: let_through(world, 3, limits=processes[number]))) == LIMIT.burst


@pytest.mark.parametrize("seed", range(3))
def test_in_no_stretch_of_time_is_more_let_through_than_the_limit_says(world: World, seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311  the same every time
    limit = RateLimit(7, timedelta(seconds=3), 4)
    processes = [world.rate_limits() for _ in range(3)]
    let: list[datetime] = []
    for _ in range(80):
        world.clock.sleep(chance.choice([0, 0, 0, 0.01, 0.2, 0.43, 1.3, 5]))
        if chance.choice(processes).take(bucket(world), limit) is None:
            let.append(world.clock.now())

    for first, begun in enumerate(let):
        for last in range(first, len(let)):
            most = limit.burst + (let[last] - begun) / limit.interval + 1e-3
            assert last - first + 1 <= most
    assert len(let) > 30


def test_a_call_whose_answer_was_lost_is_counted_once(stored: StoredWorld) -> None:
    for process in (stored.rate_limits(), stored.rate_limits()):
        limit = RateLimit(1, timedelta(hours=1), 3)
        for _ in range(3):
            with stored.losing_the_answer_of("UpdateItem"):
                assert process.take(bucket(stored), limit) is None
        assert process.take(bucket(stored), limit) is not None
        stored.clock.sleep(4 * 3600)


def test_a_refusal_whose_answer_was_lost_is_one(stored: StoredWorld) -> None:
    let_through(stored, LIMIT.burst)

    with stored.losing_the_answer_of("UpdateItem"):
        assert stored.rate_limits().take(bucket(stored), LIMIT) == 6 * SECOND


def test_no_bucket_is_kept_for_ever(stored: StoredWorld) -> None:
    let_through(stored, LIMIT.burst)

    key = rate_bucket(bucket(stored), LIMIT)
    found = stored.backend.dynamodb.get_item(
        TableName=stored.backend.table, Key={"pk": {"S": key.pk}, "sk": {"S": key.sk}}
    )
    item = found["Item"]
    kept = int(item["expires"]["N"]) - stored.clock.now().timestamp()
    assert kept == pytest.approx(24 * 3600 + 18, abs=1)
