"""Eight at once on one webhook or one task's places: the store decides, and no rule is broken meanwhile."""

import sys
from collections.abc import Iterator
from datetime import timedelta

import pytest

from tests.integration.ports.samples import THREADS, all_at_once, dies, expires, head, hooked, registration
from tests.integration.ports.world import World

LEASE = timedelta(seconds=30)


@pytest.fixture(autouse=True)
def _eager_threads() -> Iterator[None]:
    """Threads that interrupt each other as often as they can."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(usual)


def test_the_last_free_place_goes_to_one(world: World) -> None:
    due_at = world.clock.now() + LEASE
    for number in range(9):
        hooked(world, f"first-{number}")

    got = all_at_once(lambda n: world.webhooks.reserve(world.webhook(f"w-{n}"), most=10, due_at=due_at))

    assert sum(got) == 1
    assert len(world.webhooks.ids(world.task())) == 10


@pytest.mark.parametrize("most", [1, 5, 10])
def test_there_are_never_more_webhooks_than_allowed_however_many_come_and_go(world: World, most: int) -> None:
    world.tasks.write_head(world.task(), head(world))
    seen: list[int] = []

    def come_and_go(number: int) -> None:
        for attempt in range(3):
            key = world.webhook(f"w-{number}-{attempt}")
            if world.webhooks.reserve(key, most=most, due_at=world.clock.now()):
                world.webhooks.put(key, registration(), cursor=1, expires=expires(world))
                seen.append(len(world.webhooks.ids(key.task)))
                world.webhooks.delete(key)

    all_at_once(come_and_go)

    assert seen
    assert max(seen) <= most
    assert world.webhooks.ids(world.task()) == frozenset()


def test_everybody_who_counts_the_same_webhook_has_its_place(world: World) -> None:
    world.tasks.write_head(world.task(), head(world))
    due_at = world.clock.now() + LEASE

    assert all(all_at_once(lambda _: world.webhooks.reserve(world.webhook(), most=1, due_at=due_at)))

    assert world.webhooks.ids(world.task()) == {"w-1"}


def test_a_webhook_is_leased_by_one(world: World) -> None:
    key = hooked(world).key
    until = world.clock.now() + LEASE

    rows = all_at_once(lambda number: world.webhooks.lease(key, f"token-{number}", until=until))

    holders = [
        number for number, row in enumerate(rows) if row is not None and row.held_by(f"token-{number}")
    ]
    assert len(holders) == 1
    assert {row.lease for row in rows if row is not None} == {f"token-{holders[0]}"}


def test_a_lease_that_ran_out_is_taken_over_by_one_and_whoever_had_it_is_fenced(world: World) -> None:
    key = hooked(world).key
    world.webhooks.lease(key, "slow", until=world.clock.now() + LEASE)
    world.clock.sleep(LEASE.total_seconds())
    until = world.clock.now() + LEASE

    def deliver(number: int) -> bool:
        if number == 0:
            return world.webhooks.advance(key, "slow", 9, until=None)
        row = world.webhooks.lease(key, f"token-{number}", until=until)
        return row is not None and row.held_by(f"token-{number}")

    released, *taken = all_at_once(deliver)

    standing = world.webhooks.read(key)
    assert standing is not None
    assert sum(taken) == 1
    assert standing.lease == f"token-{taken.index(True) + 1}"
    assert standing.cursor == (9 if released else 3)


def test_a_webhook_deleted_while_it_is_delivered_stays_gone(world: World) -> None:
    for round_number in range(3):
        key = hooked(world, f"w-{round_number}").key
        world.webhooks.lease(key, "mine", until=world.clock.now() + LEASE)

        def act(number: int) -> None:
            if number == 0:
                world.webhooks.delete(key)  # noqa: B023  the threads end within the round
            for cursor in range(4, 8):
                world.webhooks.advance(key, "mine", cursor, until=world.clock.now() + LEASE)  # noqa: B023
                world.webhooks.put_off(
                    key,  # noqa: B023
                    "mine",
                    not_before=world.clock.now(),
                    attempts=1,
                    failing_since=None,
                )

        all_at_once(act)

        assert world.webhooks.read(key) is None
        assert world.webhooks.read_all(key.task) == []


def test_a_dead_webhook_is_revived_by_one(world: World) -> None:
    key = hooked(world).key
    world.webhooks.lease(key, "mine", until=world.clock.now() + LEASE)
    dies(world, key, "mine", world.clock.now())

    assert sum(all_at_once(lambda _: world.webhooks.revive(key))) == 1


def test_a_head_that_settles_while_a_webhook_is_counted_stays_due(world: World) -> None:
    """Whichever comes first, nobody may be left with a webhook that no sweeper will ever look at."""
    for round_number in range(4):
        task = world.task(f"t-{round_number}")
        moment = world.clock.now() + LEASE
        world.tasks.write_head(task, head(world, 1, due_at=moment))

        def act(number: int) -> None:
            if number % 2:
                settled = head(world, 2 + number, webhooks_due_at=moment)  # noqa: B023
                world.tasks.write_head(task, settled)  # noqa: B023
            else:
                key = world.webhook(f"w-{number}", task.task_id)  # noqa: B023
                assert world.webhooks.reserve(key, most=10, due_at=moment)  # noqa: B023

        all_at_once(act)

        assert len(world.webhooks.ids(task)) == THREADS // 2
        assert task in [entry.what for entry in world.due.due(moment, 1000)]
