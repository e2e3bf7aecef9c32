"""Keys of items: one name, one key; and the orders that the indexes rely on."""

from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from a2a_serverless.adapters.dynamodb_keys import (
    SHARDS,
    admission,
    context_row,
    dead_shard,
    dead_shard_name,
    due_shard,
    host_row,
    list_order,
    partition,
    position_of,
    read_due,
    read_list_order,
    read_webhook,
    shard_name,
    task_event,
    task_head,
    task_snapshot,
    task_webhook,
)
from a2a_serverless.ports import AdmissionKey, ContextKey
from a2a_serverless.ports.webhooks import WebhookKey
from a2a_serverless.tasks.log import TaskKey

in_its_own_time = settings(deadline=None)
names = st.text(st.characters(codec="utf-8"), max_size=20) | st.text("#%/:", max_size=4)
moments = st.datetimes(datetime(1970, 1, 1), datetime(9999, 1, 1), timezones=st.just(UTC)).map(  # noqa: DTZ001
    lambda moment: moment.replace(microsecond=moment.microsecond // 1000 * 1000)
)


@in_its_own_time
@given(names, names, names)
def test_a_due_items_key_reads_back_as_what_it_was_made_of(tenant: str, owner: str, name: str) -> None:
    task, record = TaskKey(tenant, owner, name), AdmissionKey(tenant, owner, name)

    assert read_due(task_head(task).pk) == task
    assert read_due(admission(record).pk) == record


@in_its_own_time
@given(names, names, names, names)
def test_a_webhooks_key_reads_back_as_what_it_was_made_of(
    tenant: str, owner: str, name: str, config_id: str
) -> None:
    key = WebhookKey(TaskKey(tenant, owner, name), config_id)

    assert read_webhook(task_webhook(key)) == key
    assert task_webhook(key).pk == task_head(key.task).pk
    assert task_webhook(key).sk not in {"HEAD", task_event(key.task, 1).sk, task_snapshot(key.task, 1).sk}


@in_its_own_time
@given(st.tuples(names, names, names), st.tuples(names, names, names))
def test_different_owners_never_share_a_partition(
    one: tuple[str, str, str], other: tuple[str, str, str]
) -> None:
    assert (partition("TASK", *one) == partition("TASK", *other)) == (one == other)


def test_kinds_never_share_a_partition() -> None:
    pieces = ("tenant", "owner", "name")

    keys = {
        task_head(TaskKey(*pieces)).pk,
        admission(AdmissionKey(*pieces)).pk,
        context_row(ContextKey(*pieces)).pk,
        host_row("tenant#owner#name").pk,
    }
    assert len(keys) == 4


def test_the_items_of_a_task_are_spelled_as_documented() -> None:
    key = TaskKey("acme", "owner", "t-1")

    assert task_head(key) == ("TASK#acme#owner#t-1", "HEAD")
    assert task_event(key, 1) == ("TASK#acme#owner#t-1", "EVENT#000000001")
    assert task_snapshot(key, 200) == ("TASK#acme#owner#t-1", "SNAPSHOT#000000200")
    assert task_webhook(WebhookKey(key, "w-1")) == ("TASK#acme#owner#t-1", "PUSH#w-1")
    assert host_row("hooks.example") == ("HOST#hooks.example", "HEAD")
    assert position_of(task_snapshot(key, 200)) == 200


@in_its_own_time
@given(moments, names, moments, names)
def test_listings_are_ordered_by_time_then_id(at: datetime, name: str, later: datetime, other: str) -> None:
    assert read_list_order(list_order(at, name)) == (at, name)
    assert (list_order(at, name) < list_order(later, other)) == ((at, name) < (later, other))


def test_times_of_one_millisecond_are_one_time() -> None:
    moment = datetime(2026, 1, 1, tzinfo=UTC)

    assert list_order(moment + timedelta(microseconds=999), "t") == list_order(moment, "t")


def test_due_items_spread_over_all_shards() -> None:
    shards = {due_shard(task_head(TaskKey("acme", "owner", f"t-{number}"))) for number in range(1_000)}

    assert shards == {shard_name(number) for number in range(SHARDS)}


def test_the_dead_spread_over_as_many_shards_of_their_own() -> None:
    keys = [task_head(TaskKey("acme", "owner", f"t-{number}")) for number in range(1_000)]

    assert {dead_shard(key) for key in keys} == {dead_shard_name(number) for number in range(SHARDS)}
    assert not {dead_shard(key) for key in keys} & {due_shard(key) for key in keys}
