"""Webhooks as they are kept: so many of a task, each with a cursor that only its lease's holder moves."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from a2a_serverless.ports import Due, TaskQuery
from a2a_serverless.ports.webhooks import NoHeadError, Webhook, WebhookKey
from a2a_serverless.protocol.objects import TaskState
from a2a_serverless.tasks.log import TaskKey
from tests.integration.ports.samples import LAST_WORDS, LIFETIME, dies, expires, head, hooked, registration
from tests.integration.ports.world import TENANT, World

LONG_AGO = datetime(1971, 2, 1, tzinfo=UTC)
"""Before anything that other tests leave behind."""

LEASE = timedelta(seconds=30)
MINUTE = timedelta(minutes=1)
DAY = timedelta(days=1)


def seconds(world: World, number: float) -> datetime:
    """So many seconds from now."""
    return world.clock.now() + timedelta(seconds=number)


def stands(world: World, key: WebhookKey) -> Webhook:
    """The webhook, which must be there."""
    webhook = world.webhooks.read(key)
    assert webhook is not None
    return webhook


def leased(world: World, config_id: str = "w-1") -> Webhook:
    """A webhook that `mine` delivers."""
    key = hooked(world, config_id).key
    webhook = world.webhooks.lease(key, "mine", until=world.clock.now() + LEASE)
    assert webhook is not None
    assert webhook.held_by("mine")
    return webhook


def killed(world: World, key: WebhookKey, *, died_at: datetime) -> None:
    """Let the webhook die under the lease of `mine`."""
    assert world.webhooks.lease(key, "mine", until=world.clock.now() + LEASE)
    assert world.webhooks.put_off(key, "mine", not_before=died_at, attempts=7, failing_since=died_at)
    assert dies(world, key, "mine", died_at)


def has_head(world: World) -> bool:
    """Whether the task is listed."""
    query = TaskQuery(TENANT, world.owner, frozenset(TaskState))
    return bool(world.tasks.find(query).found)


# --- how many there may be ------------------------------------------------


def test_a_task_without_a_head_counts_no_webhook(world: World) -> None:
    with pytest.raises(NoHeadError):
        world.webhooks.reserve(world.webhook(), most=10, due_at=world.clock.now())

    assert world.webhooks.ids(world.task()) == frozenset()
    assert not has_head(world)


def test_a_head_that_has_expired_is_none(world: World) -> None:
    hooked(world)
    world.clock.sleep(LIFETIME)

    assert world.webhooks.ids(world.task()) == frozenset()
    for most in (10, 1):
        with pytest.raises(NoHeadError):
            world.webhooks.reserve(world.webhook("w-2"), most=most, due_at=world.clock.now())


def test_a_task_has_so_many_webhooks_and_no_more(world: World) -> None:
    world.tasks.write_head(world.task(), head(world))
    now = world.clock.now()

    assert [world.webhooks.reserve(world.webhook(f"w-{n}"), most=3, due_at=now) for n in range(5)] == [
        True,
        True,
        True,
        False,
        False,
    ]
    assert world.webhooks.ids(world.task()) == {"w-0", "w-1", "w-2"}


def test_a_webhook_that_is_counted_already_has_its_place_also_when_all_are_taken(world: World) -> None:
    world.tasks.write_head(world.task(), head(world))

    moments = [world.clock.now(), seconds(world, 60)]
    for moment in moments:
        assert world.webhooks.reserve(world.webhook("w-1"), most=1, due_at=moment)
    assert not world.webhooks.reserve(world.webhook("w-2"), most=1, due_at=seconds(world, 90))
    assert world.webhooks.ids(world.task()) == {"w-1"}
    assert Due(world.task(), moments[-1]) in world.due.due(seconds(world, 90), 1000)


def test_a_deleted_webhook_makes_room_for_another(world: World) -> None:
    hooked(world, "w-1")
    hooked(world, "w-2")
    assert not world.webhooks.reserve(world.webhook("w-3"), most=2, due_at=world.clock.now())

    world.webhooks.delete(world.webhook("w-1"))

    assert world.webhooks.reserve(world.webhook("w-3"), most=2, due_at=world.clock.now())
    assert world.webhooks.ids(world.task()) == {"w-2", "w-3"}


def test_tasks_do_not_count_together(world: World) -> None:
    for task in ("t-1", "t-2"):
        world.tasks.write_head(world.task(task), head(world))
        assert world.webhooks.reserve(world.webhook(task=task), most=1, due_at=world.clock.now())


def test_a_counted_webhook_makes_its_task_due(world: World) -> None:
    moment = seconds(world, 60)
    world.tasks.write_head(world.task(), head(world))

    world.webhooks.reserve(world.webhook(), most=10, due_at=moment)

    assert Due(world.task(), moment) in world.due.due(moment, 1000)


@pytest.mark.parametrize(("earlier", "expected"), [(30, 60), (60, 60), (90, 90)])
def test_the_task_is_looked_at_then_or_when_it_is_to_be_looked_at_later(
    world: World, earlier: int, expected: int
) -> None:
    marked, moment, last = seconds(world, earlier), seconds(world, 60), seconds(world, 100)
    world.tasks.write_head(world.task(), head(world, due_at=marked))

    assert world.webhooks.reserve(world.webhook(), most=10, due_at=moment)

    assert Due(world.task(), seconds(world, expected)) in world.due.due(last, 1000)
    assert world.webhooks.ids(world.task()) == {"w-1"}


@pytest.mark.parametrize("marked", [30, 90])
def test_where_there_is_no_room_the_task_is_looked_at_as_before(world: World, marked: int) -> None:
    moment, last = seconds(world, marked), seconds(world, 100)
    world.tasks.write_head(world.task(), head(world))
    world.webhooks.reserve(world.webhook("w-1"), most=10, due_at=seconds(world, 0))
    world.tasks.mark_due(world.task(), moment)

    assert not world.webhooks.reserve(world.webhook("w-2"), most=1, due_at=seconds(world, 60))

    assert Due(world.task(), moment) in world.due.due(last, 1000)


# --- what is kept ------------------------------------------------


def test_a_webhook_is_read_back_as_it_was_put(world: World) -> None:
    asked = registration(url="https://hooks.example/é\N{SNOWMAN}?a=b").model_copy(update={"scheme": None})
    expected = Webhook(world.webhook(), asked, cursor=4, expires=expires(world))

    assert world.webhooks.put(world.webhook(), asked, cursor=4, expires=expires(world)) == expected
    assert world.webhooks.read(world.webhook()) == expected


def test_there_is_no_webhook_that_nobody_put(world: World) -> None:
    hooked(world)

    assert world.webhooks.read(world.webhook("other")) is None
    assert world.webhooks.read(world.webhook(task="other")) is None
    assert world.webhooks.read_all(world.task("other")) == []


def test_the_id_of_a_webhook_may_hold_any_character(world: World) -> None:
    names = ["HEAD", "w#1", "w%231", "w 1", "é\0\N{SNOWMAN}", "\N{CRAB}" * 100]
    for number, name in enumerate(names):
        hooked(world, name, cursor=number)

    for number, name in enumerate(names):
        assert stands(world, world.webhook(name)).cursor == number
    assert world.webhooks.ids(world.task()) == set(names)
    assert [webhook.key.config_id for webhook in world.webhooks.read_all(world.task())] == sorted(names)


def test_a_webhook_is_nobody_elses(world: World) -> None:
    key = hooked(world).key
    task = key.task

    for other in (
        TaskKey("other", task.owner, task.task_id),
        TaskKey(task.tenant, "other", task.task_id),
        TaskKey("", task.tenant, f"{task.owner}#{task.task_id}"),
    ):
        assert world.webhooks.read(WebhookKey(other, key.config_id)) is None
        assert world.webhooks.ids(other) == frozenset()


def test_a_webhook_put_again_asks_for_something_else_and_goes_on_where_it_was(world: World) -> None:
    first = leased(world)
    assert world.webhooks.advance(first.key, "mine", 9, until=seconds(world, 30))
    assert world.webhooks.put_off(
        first.key, "mine", not_before=seconds(world, 60), attempts=2, failing_since=world.clock.now()
    )
    changed = registration(url="https://elsewhere.example/")

    again = world.webhooks.put(first.key, changed, cursor=1, expires=first.expires)

    assert again == Webhook(first.key, changed, cursor=9, expires=first.expires)
    assert world.webhooks.read(first.key) == again
    assert not world.webhooks.advance(first.key, "mine", 10, until=None)


def test_a_dead_webhook_put_again_lives(world: World) -> None:
    webhook = hooked(world)
    killed(world, webhook.key, died_at=LONG_AGO)

    assert world.webhooks.put(webhook.key, webhook.registered, cursor=0, expires=webhook.expires) == webhook
    assert webhook.key not in [each.key for each in world.webhooks.dead(1000)]


def test_an_expired_webhook_is_absent(world: World) -> None:
    key = leased(world).key
    world.clock.sleep(LIFETIME)

    assert world.webhooks.read(key) is None
    assert world.webhooks.read_all(key.task) == []
    assert world.webhooks.lease(key, "other", until=seconds(world, 30)) is None
    assert not world.webhooks.advance(key, "mine", 9, until=None)
    assert not world.webhooks.put_off(
        key, "mine", not_before=seconds(world, 9), attempts=1, failing_since=None
    )
    assert not dies(world, key, "mine", world.clock.now())
    assert not world.webhooks.revive(key)


def test_nothing_of_an_expired_webhook_is_left_in_its_successor(world: World) -> None:
    first = leased(world)
    world.webhooks.advance(first.key, "mine", 9, until=seconds(world, 30))
    world.clock.sleep(LIFETIME)

    successor = world.webhooks.put(first.key, registration(), cursor=2, expires=expires(world))

    assert successor == Webhook(first.key, registration(), cursor=2, expires=expires(world))
    assert world.webhooks.read(first.key) == successor


def test_all_webhooks_of_a_task_come_by_their_ids(world: World) -> None:
    put = [hooked(world, config_id) for config_id in ("c", "a", "b")]

    assert world.webhooks.read_all(world.task()) == sorted(put, key=lambda each: each.key.config_id)


def test_an_id_whose_webhook_is_missing_is_counted_and_not_read(world: World) -> None:
    webhook = hooked(world, "b")
    for config_id in ("a", "c"):
        world.webhooks.reserve(world.webhook(config_id), most=10, due_at=world.clock.now())

    assert world.webhooks.ids(world.task()) == {"a", "b", "c"}
    assert world.webhooks.read_all(world.task()) == [webhook]


def test_a_deleted_webhook_is_gone_with_its_id(world: World) -> None:
    key = leased(world).key

    for _ in range(2):
        world.webhooks.delete(key)

        assert world.webhooks.read(key) is None
        assert world.webhooks.ids(key.task) == frozenset()


def test_deleting_what_is_not_there_makes_nothing(world: World) -> None:
    world.webhooks.delete(world.webhook())

    assert world.webhooks.ids(world.task()) == frozenset()
    with pytest.raises(NoHeadError):
        world.webhooks.reserve(world.webhook(), most=10, due_at=world.clock.now())


# --- who delivers ------------------------------------------------


def test_a_lease_is_one_deliverers_until_its_time_is_over(world: World) -> None:
    webhook = hooked(world)
    until = world.clock.now() + LEASE

    mine = world.webhooks.lease(webhook.key, "mine", until=until)
    assert mine == replace(webhook, lease="mine", not_before=until)
    assert world.webhooks.read(webhook.key) == mine

    world.clock.sleep(LEASE.total_seconds() - 0.001)
    assert world.webhooks.lease(webhook.key, "other", until=seconds(world, 30)) == mine

    world.clock.sleep(0.001)
    theirs = world.webhooks.lease(webhook.key, "other", until=seconds(world, 30))
    assert theirs == replace(webhook, lease="other", not_before=seconds(world, 30))
    assert theirs.held_by("other")
    assert not theirs.held_by("mine")


def test_there_is_no_lease_of_what_is_not_there_and_asking_makes_nothing(world: World) -> None:
    assert world.webhooks.lease(world.webhook(), "mine", until=seconds(world, 30)) is None
    assert world.webhooks.read(world.webhook()) is None


def test_a_lease_that_was_given_back_is_free_at_once(world: World) -> None:
    key = leased(world).key

    assert world.webhooks.advance(key, "mine", 5, until=None)

    assert stands(world, key).not_before is None
    theirs = world.webhooks.lease(key, "theirs", until=seconds(world, 30))
    assert theirs is not None
    assert theirs.held_by("theirs")


def test_who_delivers_moves_the_cursor_and_holds_on(world: World) -> None:
    webhook = leased(world)
    world.clock.sleep(10)
    until = world.clock.now() + LEASE

    for _ in range(2):
        assert world.webhooks.advance(webhook.key, "mine", 5, until=until)
        assert world.webhooks.read(webhook.key) == replace(webhook, cursor=5, not_before=until)


def test_a_cursor_never_goes_back(world: World) -> None:
    """A repetition may arrive after what came later."""
    webhook = leased(world)
    until = world.clock.now() + LEASE
    assert world.webhooks.advance(webhook.key, "mine", 6, until=None)

    assert world.webhooks.advance(webhook.key, "mine", 5, until=until)

    assert world.webhooks.read(webhook.key) == replace(webhook, cursor=6, not_before=None)


def test_who_lost_the_lease_changes_nothing(world: World) -> None:
    key = leased(world).key
    world.clock.sleep(LEASE.total_seconds())
    theirs = world.webhooks.lease(key, "theirs", until=seconds(world, 30))

    assert not world.webhooks.advance(key, "mine", 9, until=seconds(world, 90))
    assert not world.webhooks.advance(key, "mine", 1, until=None)
    assert not world.webhooks.put_off(
        key, "mine", not_before=seconds(world, 9), attempts=1, failing_since=None
    )
    assert not dies(world, key, "mine", world.clock.now())

    assert world.webhooks.read(key) == theirs


def test_what_was_deleted_is_not_brought_back(world: World) -> None:
    key = leased(world).key
    world.webhooks.delete(key)

    assert not world.webhooks.advance(key, "mine", 9, until=seconds(world, 30))
    assert not world.webhooks.put_off(
        key, "mine", not_before=seconds(world, 9), attempts=1, failing_since=None
    )
    assert not dies(world, key, "mine", world.clock.now())
    assert not world.webhooks.revive(key)
    assert world.webhooks.lease(key, "mine", until=seconds(world, 30)) is None

    assert world.webhooks.read(key) is None
    assert world.webhooks.ids(key.task) == frozenset()


def test_a_pause_holds_everybody_back_until_it_is_over(world: World) -> None:
    webhook = leased(world)
    since, not_before = world.clock.now(), seconds(world, 8)

    for _ in range(2):
        assert world.webhooks.put_off(
            webhook.key, "mine", not_before=not_before, attempts=3, failing_since=since
        )
    paused = replace(webhook, not_before=not_before, backs_off=True, attempts=3, failing_since=since)
    assert world.webhooks.read(webhook.key) == paused
    for token in ("mine", "theirs"):
        standing = world.webhooks.lease(webhook.key, token, until=seconds(world, 30))
        assert standing == paused
        assert not standing.held_by(token)

    world.clock.sleep(8)
    again = world.webhooks.lease(webhook.key, "theirs", until=seconds(world, 30))
    assert again == replace(
        webhook, lease="theirs", not_before=seconds(world, 30), attempts=3, failing_since=since
    )


def test_a_delivery_ends_the_row_of_failures(world: World) -> None:
    webhook = leased(world)
    world.webhooks.put_off(
        webhook.key, "mine", not_before=world.clock.now(), attempts=3, failing_since=world.clock.now()
    )
    assert world.webhooks.lease(webhook.key, "theirs", until=seconds(world, 30))

    assert world.webhooks.advance(webhook.key, "theirs", 4, until=None)

    assert world.webhooks.read(webhook.key) == replace(webhook, cursor=4, lease="theirs", not_before=None)


def test_a_pause_without_failures_ends_their_row(world: World) -> None:
    webhook = leased(world)
    now = world.clock.now()
    world.webhooks.put_off(webhook.key, "mine", not_before=now, attempts=3, failing_since=now)
    assert world.webhooks.lease(webhook.key, "mine", until=seconds(world, 30))

    assert world.webhooks.put_off(webhook.key, "mine", not_before=now, attempts=0, failing_since=None)

    assert world.webhooks.read(webhook.key) == replace(webhook, not_before=now, backs_off=True)


# --- death and revival ------------------------------------------------


def test_a_dead_webhook_is_delivered_by_nobody(world: World) -> None:
    webhook = leased(world)
    died_at = world.clock.now()

    for _ in range(2):
        assert dies(world, webhook.key, "mine", died_at)
    dead = replace(webhook, not_before=None, died_at=died_at, **LAST_WORDS)
    assert world.webhooks.read(webhook.key) == dead
    world.clock.sleep(3600)
    for token in ("mine", "theirs"):
        standing = world.webhooks.lease(webhook.key, token, until=seconds(world, 30))
        assert standing == dead
        assert not standing.held_by(token)


def test_a_revived_webhook_goes_on_where_it_was_without_failures(world: World) -> None:
    webhook = hooked(world, cursor=7)
    killed(world, webhook.key, died_at=world.clock.now())

    assert world.webhooks.revive(webhook.key)

    assert world.webhooks.read(webhook.key) == webhook
    assert not world.webhooks.advance(webhook.key, "mine", 9, until=None)
    assert not world.webhooks.revive(webhook.key)


def test_only_what_is_dead_is_revived(world: World) -> None:
    webhook = leased(world)

    assert not world.webhooks.revive(webhook.key)
    assert not world.webhooks.revive(world.webhook("other"))

    assert world.webhooks.read(webhook.key) == webhook
    assert world.webhooks.read(world.webhook("other")) is None


@pytest.fixture
def buried(world: World) -> Iterator[list[Webhook]]:
    """Twelve webhooks of six tasks that died long ago, the longest dead first."""
    keys = [hooked(world, f"w-{n % 2}", f"t-{n // 2}").key for n in range(12)]
    for number, key in enumerate(keys):
        killed(world, key, died_at=LONG_AGO + timedelta(milliseconds=number))
    yield [stands(world, key) for key in keys]
    for key in keys:
        world.webhooks.delete(key)


def test_the_dead_are_found_longest_dead_first(world: World, buried: list[Webhook]) -> None:
    assert list(world.webhooks.dead(1000))[:12] == buried
    assert list(world.webhooks.dead(5)) == buried[:5]
    assert list(world.webhooks.dead(0)) == []


def test_who_lives_again_or_is_gone_is_not_found_among_the_dead(world: World, buried: list[Webhook]) -> None:
    world.webhooks.revive(buried[0].key)
    world.webhooks.delete(buried[1].key)

    assert list(world.webhooks.dead(3)) == buried[2:5]


def test_the_dead_are_not_due(world: World, buried: list[Webhook]) -> None:
    """The same index lists both; looking for what is due finds heads and admissions only."""
    tasks = {webhook.key.task for webhook in buried}

    due = [entry for entry in world.due.due(LONG_AGO + DAY, 1000) if entry.what in tasks]

    assert due == []


def test_the_expired_are_not_found_among_the_dead(world: World, buried: list[Webhook]) -> None:
    world.clock.sleep(LIFETIME)

    assert not {webhook.key for webhook in world.webhooks.dead(1000)} & {each.key for each in buried}


# --- heads of tasks with webhooks ------------------------------------------------


@pytest.mark.parametrize("snapshot", [0, 2])
def test_a_head_with_webhooks_stays_due_when_nothing_else_is_outstanding(world: World, snapshot: int) -> None:
    hooked(world)
    moment = seconds(world, 60)
    done = head(world, 2, TaskState.COMPLETED, snapshot=snapshot, webhooks_due_at=moment)

    world.tasks.write_head(world.task(), done)

    assert Due(world.task(), moment) in world.due.due(moment, 1000)
    query = TaskQuery(TENANT, world.owner, frozenset({TaskState.COMPLETED}))
    assert [task_id for _, task_id in world.tasks.find(query).found] == ["t-1"]


def test_a_head_without_webhooks_is_not_due_for_them(world: World) -> None:
    moment = seconds(world, 60)
    world.tasks.write_head(world.task(), head(world, due_at=moment))

    world.tasks.write_head(world.task(), head(world, 2, TaskState.COMPLETED, webhooks_due_at=moment))

    assert world.task() not in [entry.what for entry in world.due.due(moment, 1000)]


def test_a_head_whose_last_webhook_was_deleted_is_not_due_for_them(world: World) -> None:
    hooked(world, "w-1")
    hooked(world, "w-2")
    for config_id in ("w-1", "w-2"):
        world.webhooks.delete(world.webhook(config_id))
    moment = seconds(world, 60)

    world.tasks.write_head(world.task(), head(world, 2, TaskState.COMPLETED, webhooks_due_at=moment))

    assert world.task() not in [entry.what for entry in world.due.due(moment, 1000)]


def test_what_is_outstanding_otherwise_comes_before_the_webhooks(world: World) -> None:
    hooked(world)
    first, later = seconds(world, 60), seconds(world, 600)

    world.tasks.write_head(world.task(), head(world, 2, due_at=first, webhooks_due_at=later))

    assert Due(world.task(), first) in world.due.due(later, 1000)


def test_a_head_is_due_no_more_when_its_webhooks_have_been_told(world: World) -> None:
    hooked(world)
    moment = seconds(world, 60)
    world.tasks.write_head(world.task(), head(world, 2, TaskState.COMPLETED, webhooks_due_at=moment))
    world.clock.sleep(60)

    world.tasks.write_head(world.task(), head(world, 2, TaskState.COMPLETED), repair=True)

    assert world.task() not in [entry.what for entry in world.due.due(moment, 1000)]
    assert world.webhooks.ids(world.task()) == {"w-1"}


def test_an_earlier_head_leaves_one_with_webhooks_alone(world: World) -> None:
    hooked(world)
    moment = seconds(world, 60)
    world.tasks.write_head(world.task(), head(world, 5, TaskState.COMPLETED, webhooks_due_at=moment))

    world.tasks.write_head(world.task(), head(world, 4, webhooks_due_at=moment + MINUTE))

    assert Due(world.task(), moment) in world.due.due(moment + MINUTE, 1000)
