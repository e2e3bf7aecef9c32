"""What reading and writing costs: requests and read units are money, so they are counted here."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest

from a2a_serverless.ports import ContextKey, ContextRow, StreamKey, TaskPage, TaskQuery
from a2a_serverless.ports.limits import Bucket, OperationClass, RateLimit
from a2a_serverless.protocol.objects import TaskState
from a2a_serverless.tasks.fold import LoggedTask, fold
from a2a_serverless.tasks.log import LoggedEvent, Voided
from tests.integration.ports.samples import (
    admission,
    chunk,
    dies,
    expires,
    head,
    holder,
    hooked,
    received,
    registration,
    settled,
    started,
    write,
)
from tests.integration.ports.world import TENANT, StoredWorld


@contextmanager
def counted(stored: StoredWorld) -> Iterator[Counter[str]]:
    """How often each operation is called, and under `keys` how many items BatchGetItem is asked for."""
    calls: Counter[str] = Counter()

    def count(params: dict[str, Any], model: Any, **_: Any) -> None:
        calls[model.name] += 1
        for asked in params.get("RequestItems", {}).values():
            calls["keys"] += len(asked["Keys"])

    events = stored.backend.dynamodb.meta.events
    events.register("provide-client-params.dynamodb.*", count)
    try:
        yield calls
    finally:
        events.unregister("provide-client-params.dynamodb.*", count)


def settled_task(stored: StoredWorld, chunks: int) -> LoggedTask:
    """A settled task with its snapshot and its head."""
    entries = [received(stored), started(stored), *(chunk(str(number)) for number in range(chunks))]
    task = fold(LoggedTask(task_id="t-1"), write(stored, stored.task(), *entries))
    stored.tasks.write_snapshot(stored.task(), task)
    last = write(stored, stored.task(), settled(stored), first=task.position + 1)
    done = head(stored, task.position + 1, TaskState.COMPLETED, snapshot=task.position)
    stored.tasks.write_head(stored.task(), done)
    return fold(task, last)


@pytest.mark.parametrize("chunks", [1, 60])
def test_a_settled_task_is_read_in_two_requests_whatever_happened_in_it(
    stored: StoredWorld, chunks: int
) -> None:
    task = settled_task(stored, chunks)

    with counted(stored) as calls:
        assert stored.tasks.load(stored.task()) == task

    assert calls == {"GetItem": 1, "BatchGetItem": 1, "keys": 2}


def test_a_short_log_is_read_in_one_request_by_who_knows_its_length(stored: StoredWorld) -> None:
    write(stored, stored.task(), received(stored), started(stored))

    with counted(stored) as calls:
        assert stored.tasks.load(stored.task(), about=2).position == 2

    assert calls == {"BatchGetItem": 1, "keys": 4}


def test_a_poll_without_news_is_one_small_request(stored: StoredWorld) -> None:
    write(stored, stored.task(), received(stored))

    with counted(stored) as calls:
        assert not stored.tasks.events_after(stored.task(), 1, 25)

    assert calls == {"GetItem": 1}


def test_a_poll_with_one_event_is_two_requests(stored: StoredWorld) -> None:
    write(stored, stored.task(), received(stored), started(stored))

    with counted(stored) as calls:
        assert len(stored.tasks.events_after(stored.task(), 1, 25)) == 1

    assert calls == {"GetItem": 1, "BatchGetItem": 1, "keys": 4}


def test_what_is_read_to_decide_on_is_read_strongly(stored: StoredWorld) -> None:
    consistent: list[bool] = []

    def look(params: dict[str, Any], **_: Any) -> None:
        consistent.append(params["ConsistentRead"])

    events = stored.backend.dynamodb.meta.events
    events.register("provide-client-params.dynamodb.GetItem", look)
    try:
        stored.tasks.events_after(stored.task(), 1, 1, current=True)
        stored.webhooks.read(stored.webhook())
        stored.webhooks.ids(stored.task())
    finally:
        events.unregister("provide-client-params.dynamodb.GetItem", look)

    assert consistent == [True, True, True]


WRITES: dict[str, Callable[[StoredWorld], object]] = {
    "append": lambda stored: stored.tasks.append(
        stored.task(), LoggedEvent(1, "w", expires(stored), Voided())
    ),
    "head": lambda stored: stored.tasks.write_head(stored.task(), head(stored, snapshot=1)),
    "snapshot": lambda stored: stored.tasks.write_snapshot(
        stored.task(), LoggedTask(task_id="t-1", position=1, expires=expires(stored))
    ),
    "open": lambda stored: stored.admissions.open(admission(stored)),
    "close": lambda stored: stored.admissions.close(admission(stored)),
    "take": lambda stored: stored.contexts.take(
        ContextKey(TENANT, stored.owner, "c-1"),
        seen=ContextRow(),
        taken=ContextRow(holder(stored)),
        expires=expires(stored),
    ),
    "settle": lambda stored: stored.contexts.settle(
        ContextKey(TENANT, stored.owner, "c-1"), holder(stored), state="s", waits=False
    ),
    "a stream's place": lambda stored: stored.streams.open(
        TENANT, stored.owner, most=100, until=stored.clock.now() + timedelta(minutes=5)
    ),
    "a webhook": lambda stored: stored.webhooks.put(
        stored.webhook(), registration(), cursor=1, expires=expires(stored)
    ),
    "a lease": lambda stored: stored.webhooks.lease(stored.webhook(), "t", until=stored.clock.now()),
    "an advance": lambda stored: stored.webhooks.advance(stored.webhook(), "t", 2, until=None),
    "a pause": lambda stored: stored.webhooks.put_off(
        stored.webhook(), "t", not_before=stored.clock.now(), attempts=1, failing_since=None
    ),
    "a death": lambda stored: dies(stored, stored.webhook(), "t", stored.clock.now()),
    "a revival": lambda stored: stored.webhooks.revive(stored.webhook()),
    "a silence": lambda stored: stored.hosts().was_silent(f"{stored.owner}.example"),
    "a place given back": lambda stored: stored.streams.close(
        StreamKey(TENANT, stored.owner, 7, stored.clock.now() + timedelta(minutes=5), "token")
    ),
}


@pytest.mark.parametrize("write_it", WRITES.values(), ids=WRITES)
def test_every_write_is_one_request(stored: StoredWorld, write_it: Callable[[StoredWorld], object]) -> None:
    with counted(stored) as calls:
        write_it(stored)

    assert calls.total() == 1


def test_counting_a_webhook_is_one_request_unless_its_task_is_to_be_looked_at_later(
    stored: StoredWorld,
) -> None:
    stored.tasks.write_head(stored.task(), head(stored))
    now = stored.clock.now()
    for due_at, requests in ((now, 1), (now + timedelta(1), 1), (now, 2)):
        with counted(stored) as calls:
            assert stored.webhooks.reserve(stored.webhook(), most=1, due_at=due_at)
        assert calls == {"UpdateItem": requests}
    with counted(stored) as calls:
        assert not stored.webhooks.reserve(stored.webhook("w-2"), most=1, due_at=now)
    assert calls == {"UpdateItem": 1}


def test_a_delivery_is_a_lease_an_advance_and_no_read_of_the_webhook(stored: StoredWorld) -> None:
    key = hooked(stored).key

    with counted(stored) as calls:
        assert stored.webhooks.lease(key, "t", until=stored.clock.now() + timedelta(seconds=30))
        assert stored.webhooks.advance(key, "t", 4, until=None)

    assert calls == {"UpdateItem": 2}


@pytest.mark.parametrize("number", [0, 1, 10])
def test_the_webhooks_of_a_task_are_read_in_two_requests(stored: StoredWorld, number: int) -> None:
    stored.tasks.write_head(stored.task(), head(stored))
    for each in range(number):
        hooked(stored, f"w-{each}")

    with counted(stored) as calls:
        assert len(stored.webhooks.read_all(stored.task())) == number

    assert (
        calls
        == [{"GetItem": 1}, {"GetItem": 2}, {"GetItem": 1, "BatchGetItem": 1, "keys": 10}][
            (0, 1, 10).index(number)
        ]
    )


@pytest.mark.parametrize("snapshot", [0, 1])
def test_a_head_costs_one_request_without_webhooks_and_two_with_them(
    stored: StoredWorld, snapshot: int
) -> None:
    hooked(stored, task="hooked")
    moment = stored.clock.now()
    settled = head(stored, 2, TaskState.COMPLETED, snapshot=snapshot, webhooks_due_at=moment)

    for task, requests in (("t-1", 1), ("hooked", 2)):
        with counted(stored) as calls:
            stored.tasks.write_head(stored.task(task), settled)
        assert calls == {"UpdateItem": requests}


def test_a_host_that_answers_costs_a_look_every_five_seconds_and_no_write(stored: StoredWorld) -> None:
    hosts, host = stored.hosts(), f"{stored.owner}.example"

    with counted(stored) as calls:
        for _ in range(10):
            assert hosts.silent_until(host) is None
            hosts.answered(host)
            stored.clock.sleep(0.9)

    assert calls == {"GetItem": 2}


def test_a_host_that_answers_again_costs_one_write_and_then_none(stored: StoredWorld) -> None:
    hosts, host = stored.hosts(), f"{stored.owner}.example"
    hosts.was_silent(host)

    with counted(stored) as calls:
        for _ in range(5):
            hosts.answered(host)
            assert hosts.silent_until(host) is None
    assert calls == {"PutItem": 1}


def test_a_host_that_is_left_alone_costs_a_look_every_five_seconds(stored: StoredWorld) -> None:
    hosts, host = stored.hosts(), f"{stored.owner}.example"
    for _ in range(3):
        stored.clock.sleep(5)
        hosts.was_silent(host)

    with counted(stored) as calls:
        for _ in range(10):
            assert hosts.silent_until(host)
            hosts.was_silent(host)
            stored.clock.sleep(0.9)

    assert calls == {"GetItem": 1}


def test_a_place_that_was_taken_costs_one_request_more(stored: StoredWorld) -> None:
    until = stored.clock.now() + timedelta(minutes=5)
    for _ in range(99):
        assert stored.streams.open(TENANT, stored.owner, most=100, until=until)

    with counted(stored) as calls:
        assert stored.streams.open(TENANT, stored.owner, most=100, until=until)
    assert calls.total() <= 2

    with counted(stored) as calls:
        assert stored.streams.open(TENANT, stored.owner, most=100, until=until) is None
    assert calls == {"UpdateItem": 1}


def test_a_task_as_it_stood_is_read_from_its_snapshot_on(stored: StoredWorld) -> None:
    task = settled_task(stored, 60)

    with counted(stored) as calls:
        assert stored.tasks.load_up_to(stored.task(), task.position) == task

    assert calls == {"GetItem": 3}


def test_a_first_page_asks_each_state_once_when_all_fits(stored: StoredWorld) -> None:
    stored.tasks.write_head(stored.task(), head(stored))

    with counted(stored) as calls:
        assert stored.tasks.find(TaskQuery(TENANT, stored.owner, frozenset(TaskState))).total == 1

    assert calls == {"Query": len(TaskState)}


def test_a_page_that_can_hold_nothing_is_not_asked_for(stored: StoredWorld) -> None:
    """A cursor from before the earliest time wanted: DynamoDB refuses bounds that cross."""
    now = stored.clock.now()
    query = TaskQuery(
        TENANT, stored.owner, frozenset({TaskState.WORKING}), not_before=now, after=(now - timedelta(1), "t")
    )

    with counted(stored) as calls:
        assert stored.tasks.find(query) == TaskPage((), 0)

    assert calls == {"Query": 1}


def test_a_page_of_settled_tasks_is_read_in_two_requests(stored: StoredWorld) -> None:
    task = settled_task(stored, 3)
    names = [stored.task(f"other-{number}") for number in range(4)]

    with counted(stored) as calls:
        assert stored.tasks.load_many([stored.task(), *names])[0] == task

    assert calls == {"BatchGetItem": 2, "keys": 5 + 2 + 4}


def test_looking_for_the_dead_asks_each_shard_once(stored: StoredWorld) -> None:
    with counted(stored) as calls:
        found = stored.webhooks.dead(100)

    assert calls["Query"] == 16
    assert calls["BatchGetItem"] + calls["GetItem"] == bool(found)


def test_looking_for_what_is_due_asks_each_shard_once(stored: StoredWorld) -> None:
    with counted(stored) as calls:
        stored.due.due(stored.clock.now(), 100)

    assert calls == {"Query": 16}


def test_a_counted_call_takes_one_request_and_a_refused_one_none(stored: StoredWorld) -> None:
    bucket = Bucket(TENANT, stored.owner, OperationClass.READ)
    limit, limits = RateLimit(10, timedelta(seconds=60), 3), stored.rate_limits()

    with counted(stored) as calls:
        assert [limits.take(bucket, limit) for _ in range(3)] == [None] * 3
        for _ in range(100):
            assert limits.take(bucket, limit) == timedelta(seconds=6)
        assert calls == {"UpdateItem": 3}
        for pause in (6, 3600):
            stored.clock.sleep(pause)
            assert limits.take(bucket, limit) is None

    assert calls == {"UpdateItem": 5}


def test_a_process_that_knows_nothing_of_a_bucket_takes_two_requests_where_others_take_from_it(
    stored: StoredWorld,
) -> None:
    bucket = Bucket(TENANT, stored.owner, OperationClass.READ)
    limit, limits = RateLimit(10, timedelta(seconds=60), 5), stored.rate_limits()
    stored.rate_limits().take(bucket, limit)

    with counted(stored) as calls:
        assert limits.take(bucket, limit) is None
        assert calls == {"UpdateItem": 2}
        assert limits.take(bucket, limit) is None

    assert calls == {"UpdateItem": 3}
