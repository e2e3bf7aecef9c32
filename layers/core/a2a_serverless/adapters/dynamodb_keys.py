"""Where each kind of item lives in the table, and how times and names are spelled in its keys.

Tenant and owner are escaped and the last piece of a key is free, so no name can pretend to be another's:
reading a key back gives exactly what it was made of. Knows no attribute of any item.
"""

import zlib
from datetime import UTC, datetime
from urllib.parse import quote, unquote

from a2a_serverless.adapters.dynamodb_table import ItemKey
from a2a_serverless.ports import AdmissionKey, ContextKey
from a2a_serverless.ports.limits import Bucket, RateLimit
from a2a_serverless.ports.webhooks import WebhookKey
from a2a_serverless.protocol.scalars import print_timestamp
from a2a_serverless.tasks.log import TaskKey

HEAD = "HEAD"
PUSH = "PUSH#"
SHARDS = 16
"""Partitions of the index of what is due: plenty for its writes, few enough to read them all."""


def partition(kind: str, tenant: str, owner: str, name: str) -> str:
    """A key that belongs to one owner of one tenant."""
    return f"{kind}#{quote(tenant, safe='')}#{quote(owner, safe='')}#{name}"


def task_head(key: TaskKey) -> ItemKey:
    """The head of a task."""
    return ItemKey(partition("TASK", key.tenant, key.owner, key.task_id), HEAD)


def task_event(key: TaskKey, position: int) -> ItemKey:
    """The event at a position."""
    return ItemKey(partition("TASK", key.tenant, key.owner, key.task_id), f"EVENT#{position:09d}")


def task_snapshot(key: TaskKey, position: int) -> ItemKey:
    """The snapshot up to a position."""
    return ItemKey(partition("TASK", key.tenant, key.owner, key.task_id), f"SNAPSHOT#{position:09d}")


def task_webhook(key: WebhookKey) -> ItemKey:
    """One of a task's webhooks."""
    task = key.task
    return ItemKey(partition("TASK", task.tenant, task.owner, task.task_id), f"{PUSH}{key.config_id}")


def read_webhook(key: ItemKey) -> WebhookKey:
    """The webhook that a key names."""
    return WebhookKey(read_task(key.pk), key.sk.removeprefix(PUSH))


def position_of(key: ItemKey) -> int:
    """The position that an event or snapshot stands at."""
    return int(key.sk.rpartition("#")[2])


def admission(key: AdmissionKey) -> ItemKey:
    """The record of an admitted message."""
    return ItemKey(partition("MESSAGE", key.tenant, key.owner, key.record_id), "ADMISSION")


def context_row(key: ContextKey) -> ItemKey:
    """The row of a context."""
    return ItemKey(partition("CONTEXT", key.tenant, key.owner, key.context_id), HEAD)


def stream_places(tenant: str, owner: str) -> ItemKey:
    """The places of a caller's open streams."""
    return ItemKey(partition("STREAMS", tenant, owner, ""), HEAD)


def rate_bucket(bucket: Bucket, limit: RateLimit) -> ItemKey:
    """The bucket of a caller's calls; another limit has another, or what the old one said would hold on."""
    name = f"{bucket.operations}/{limit.calls}/{limit.period.total_seconds():g}/{limit.burst}"
    return ItemKey(partition("RATE", bucket.tenant, bucket.owner, name), HEAD)


def key_ring(purpose: str) -> ItemKey:
    """The pairs of keys that are kept for a purpose."""
    return ItemKey(f"KEYS#{purpose}", HEAD)


def document(kind: str, name: str) -> ItemKey:
    """A document that operators keep."""
    return ItemKey(f"DOCUMENT#{kind}#{name}", HEAD)


def signed_card(digest: str) -> ItemKey:
    """The signatures of a card that says what this digest was made of."""
    return ItemKey(f"CARD#{digest}", HEAD)


def host_row(host: str) -> ItemKey:
    """What is known of a host's silence, whoever wants to reach it."""
    return ItemKey(f"HOST#{host}", HEAD)


def due_shard(key: ItemKey) -> str:
    """The partition of the index of what is due that an item belongs to."""
    return shard_name(zlib.crc32(key.pk.encode()) % SHARDS)


def shard_name(number: int) -> str:
    """The name of a partition of that index."""
    return f"DUE#{number:02d}"


def dead_shard(key: ItemKey) -> str:
    """The partition of the same index that an item belongs to when it is dead: nothing falls due there."""
    return dead_shard_name(zlib.crc32(key.pk.encode()) % SHARDS)


def dead_shard_name(number: int) -> str:
    """The name of a partition of the dead."""
    return f"DEAD#{number:02d}"


def read_due(pk: str) -> TaskKey | AdmissionKey:
    """What a due item's key names: a task by its head, or an admission."""
    if not pk.startswith("MESSAGE#"):
        return read_task(pk)
    _, tenant, owner, name = pk.split("#", 3)
    return AdmissionKey(unquote(tenant), unquote(owner), name)


def read_task(pk: str) -> TaskKey:
    """The task whose items have this partition key."""
    _, tenant, owner, name = pk.split("#", 3)
    return TaskKey(unquote(tenant), unquote(owner), name)


def list_order(status_at: datetime, task_id: str) -> str:
    """Where a task stands in a listing: the time of its status in fixed width, then its id."""
    return f"{print_timestamp(status_at)}#{task_id}"


def read_list_order(order: str) -> tuple[datetime, str]:
    """The time and id that `list_order` was made of, to the millisecond."""
    moment, _, task_id = order.partition("#")
    return read_time(moment), task_id


def read_time(printed: str) -> datetime:
    """A time printed in fixed width."""
    return datetime.fromisoformat(printed).astimezone(UTC)
