"""Webhooks in DynamoDB: one item each beside its task's log, their ids as a set in the task's head.

The set is what bounds their number, in one conditional update. Whoever delivers is known by the token of its
lease, which every later change is conditional on and none of them takes away: a change that the SDK repeats,
because its answer was lost, finds its own token and succeeds again. Knows no queue and no receiver.
"""

import contextlib
import heapq
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any

from a2a_serverless.adapters import dynamodb_keys as keys
from a2a_serverless.adapters.dynamodb_keys import read_time
from a2a_serverless.adapters.dynamodb_table import (
    IS_PRESENT,
    DynamoTable,
    Item,
    ItemKey,
    Query,
    RefusedError,
    setting,
)
from a2a_serverless.ports.webhooks import NoHeadError, Registration, Webhook, WebhookKey
from a2a_serverless.protocol.scalars import print_timestamp
from a2a_serverless.tasks.log import TaskKey

HAS_ROOM = (
    f"({IS_PRESENT} AND (attribute_not_exists(#push_ids) OR contains(#push_ids, :config_id)"
    " OR size(#push_ids) < :most))"
)
"""The head is there, and counts the webhook already or can count one more."""

IS_NOT_DUE_LATER = "(attribute_not_exists(#due_at) OR #due_at <= :due_at)"
"""Setting the due moment does not take a later one away, which a canceller may rely on."""

IS_NOT_EXPIRED = f"(attribute_not_exists(#pk) OR {IS_PRESENT})"
"""What an update keeps is no expired webhook's."""

IS_FREE = (
    f"({IS_PRESENT} AND attribute_not_exists(#died_at)"
    " AND (attribute_not_exists(#not_before) OR #not_before <= :moment))"
)
"""The webhook lives, and neither a lease nor a pause holds it back."""

IS_MINE = f"({IS_PRESENT} AND #lease = :lease)"
"""The webhook is there, and nobody has leased it since: updates would otherwise create what was deleted."""

IS_NOT_FURTHER_ON = "#cursor <= :cursor"
"""A repetition that arrives late does not take the cursor back."""

IS_DEAD = f"({IS_PRESENT} AND attribute_exists(#died_at))"

DELIVERY = ("lease", "not_before", "backs_off", "attempts", "failing_since")
DEATH = ("died_at", "reason", "due_shard", "due_at")
CHOOSE = random.SystemRandom()


@dataclass(frozen=True, slots=True)
class DynamoWebhooks:
    """The webhooks of all tasks. What the port says in one sentence is one request, unless noted."""

    table: DynamoTable

    def reserve(self, key: WebhookKey, *, most: int, due_at: datetime) -> bool:
        """Count the webhook among its task's; False when there are `most` others. Raises NoHeadError.

        One request more where the head is marked to be looked at later than `due_at`.
        """
        head = keys.task_head(key.task)
        values = {
            "push_ids": frozenset({key.config_id}),
            "config_id": key.config_id,
            "most": most,
            "due_shard": keys.due_shard(head),
            "due_at": print_timestamp(due_at),
        }
        counting = "ADD #push_ids :push_ids"
        marking = f"{setting(('due_shard', 'due_at'))} {counting}"
        try:
            self.table.update(head, marking, when=f"{HAS_ROOM} AND {IS_NOT_DUE_LATER}", values=values)
        except RefusedError as refused:
            if not self._has_room(refused, key, most):
                return False
        else:
            return True
        try:
            self.table.update(head, counting, when=HAS_ROOM, values=values)
        except RefusedError as refused:
            return self._has_room(refused, key, most)
        return True

    def put(self, key: WebhookKey, registered: Registration, *, cursor: int, expires: int) -> Webhook:
        """Store the registration; returns what stands then. Two requests more in place of an expired one."""
        place = keys.task_webhook(key)
        change = setting(
            ("body", "expires"), unless_there=("cursor",), removing=(*DELIVERY, *DEATH, "revived")
        )
        values = {"body": registered.to_json(), "expires": expires, "cursor": cursor}
        try:
            return _webhook(key, self.table.update(place, change, when=IS_NOT_EXPIRED, values=values))
        except RefusedError:
            with contextlib.suppress(RefusedError):
                self.table.delete(place, when="#expires <= :now")
        return _webhook(key, self.table.update(place, change, when=IS_NOT_EXPIRED, values=values))

    def read(self, key: WebhookKey) -> Webhook | None:
        """The webhook, strongly consistent."""
        item = self.table.get(keys.task_webhook(key))
        return _webhook(key, item) if item else None

    def ids(self, task: TaskKey) -> frozenset[str]:
        """The ids counted among the task's, strongly consistent; an item may be missing for some."""
        head = self.table.get(keys.task_head(task)) or {}
        found: frozenset[str] = head.get("push_ids", frozenset())
        return found

    def read_all(self, task: TaskKey) -> Sequence[Webhook]:
        """The task's webhooks by ascending id, strongly consistent; two requests."""
        wanted = [WebhookKey(task, config_id) for config_id in sorted(self.ids(task))]
        found = self.table.get_all([keys.task_webhook(key) for key in wanted])
        return [
            _webhook(key, item) for key in wanted if (item := found.get(keys.task_webhook(key))) is not None
        ]

    def delete(self, key: WebhookKey) -> None:
        """Forget the webhook, then its id; silent when there is none. Two requests."""
        self.table.delete(keys.task_webhook(key))
        with contextlib.suppress(RefusedError):
            self.table.update(
                keys.task_head(key.task),
                "DELETE #push_ids :push_ids",
                when=IS_PRESENT,
                values={"push_ids": frozenset({key.config_id})},
            )

    def lease(self, key: WebhookKey, token: str, *, until: datetime) -> Webhook | None:
        """Take the webhook until then, if nothing holds it back; returns what stands afterwards.

        Refused by its own earlier attempt, whose answer was lost, it returns the row that attempt made.
        """
        values = {
            "lease": token,
            "not_before": print_timestamp(until),
            "moment": print_timestamp(self.table.clock.now()),
        }
        change = setting(("lease", "not_before"), removing=("backs_off",))
        try:
            item = self.table.update(keys.task_webhook(key), change, when=IS_FREE, values=values)
        except RefusedError as refused:
            standing = self._standing(refused)
            return _webhook(key, standing) if standing else None
        return _webhook(key, item)

    def advance(self, key: WebhookKey, token: str, cursor: int, *, until: datetime | None) -> bool:
        """Move the cursor, never back, and forget failures; the lease goes on `until` then, or ends."""
        values: dict[str, Any] = {"cursor": cursor, "lease": token}
        removed = ["backs_off", "attempts", "failing_since"]
        if until is None:
            removed.append("not_before")
            change = setting(("cursor",), removing=removed)
        else:
            values["not_before"] = print_timestamp(until)
            change = setting(("cursor", "not_before"), removing=removed)
        return self._change(key, change, values, when=f"{IS_MINE} AND {IS_NOT_FURTHER_ON}")

    def put_off(
        self,
        key: WebhookKey,
        token: str,
        *,
        not_before: datetime,
        attempts: int,
        failing_since: datetime | None,
    ) -> bool:
        """End the lease with a pause; False when the webhook is gone or another's."""
        values: dict[str, Any] = {
            "not_before": print_timestamp(not_before),
            "backs_off": True,
            "attempts": attempts,
        }
        if failing_since is None:
            change = setting(values, removing=("failing_since",))
        else:
            values["failing_since"] = print_timestamp(failing_since)
            change = setting(values)
        return self._change(key, change, {**values, "lease": token})

    def kill(
        self,
        key: WebhookKey,
        token: str,
        *,
        died_at: datetime,
        attempts: int,
        failing_since: datetime,
        reason: str,
    ) -> bool:
        """End the lease for good; False when the webhook is gone or another's."""
        moment = print_timestamp(died_at)
        values: dict[str, Any] = {
            "died_at": moment,
            "due_at": moment,
            "due_shard": keys.dead_shard(keys.task_webhook(key)),
            "attempts": attempts,
            "failing_since": print_timestamp(failing_since),
            "reason": reason,
        }
        change = setting(values, removing=("not_before", "backs_off"))
        return self._change(key, change, {**values, "lease": token})

    def revive(self, key: WebhookKey) -> bool:
        """Let a dead webhook live again, without failures or lease; False if it is not dead.

        Who revived it is kept, so that a repetition after a lost answer is no refusal.
        """
        mine = f"{CHOOSE.getrandbits(64):016x}"
        change = setting(("revived",), removing=(*DELIVERY, *DEATH))
        try:
            self.table.update(keys.task_webhook(key), change, when=IS_DEAD, values={"revived": mine})
        except RefusedError as refused:
            return (refused.standing or {}).get("revived") == mine
        return True

    def dead(self, limit: int) -> Sequence[Webhook]:
        """Up to `limit` dead webhooks, the longest dead first: 16 queries, and reads of the rows found."""
        shards = [self._dead_of(keys.dead_shard_name(number), limit) for number in range(keys.SHARDS)]
        places = (ItemKey(pk, sk) for _, pk, sk in heapq.merge(*shards))
        found: list[Webhook] = []
        while len(found) < limit and (looked_at := list(islice(places, limit))):
            items = self.table.get_all(looked_at)
            rows = (_webhook(keys.read_webhook(each), items[each]) for each in looked_at if each in items)
            found += (row for row in rows if row.died_at is not None)
        return found[:limit]

    def _dead_of(self, shard: str, limit: int) -> Iterator[tuple[str, str, str]]:
        query = Query(index="due", keys="#due_shard = :shard", values={"shard": shard})
        for page in self.table.query(query, limit):
            yield from ((item["due_at"], item["pk"], item["sk"]) for item in page.items)

    def _has_room(self, refused: RefusedError, key: WebhookKey, most: int) -> bool:
        """Whether the head that refused could count the webhook; raises NoHeadError."""
        head = self._standing(refused)
        if head is None:
            raise NoHeadError from refused
        counted = head.get("push_ids", frozenset())
        return key.config_id in counted or len(counted) < most

    def _change(
        self, key: WebhookKey, change: str, values: Mapping[str, Any], *, when: str = IS_MINE
    ) -> bool:
        """Change the row of whose lease this is the token; whether it is still the token's."""
        try:
            self.table.update(keys.task_webhook(key), change, when=when, values=values)
        except RefusedError as refused:
            standing = self._standing(refused)
            return standing is not None and standing.get("lease") == values["lease"]
        return True

    def _standing(self, refused: RefusedError) -> Item | None:
        item = refused.standing
        return item if item is not None and not self.table.has_expired(item) else None


def _webhook(key: WebhookKey, item: Item) -> Webhook:
    return Webhook(
        key=key,
        registered=Registration.model_validate(json.loads(item["body"])),
        cursor=item["cursor"],
        expires=item["expires"],
        lease=item.get("lease"),
        not_before=_time(item, "not_before"),
        backs_off=item.get("backs_off", False),
        attempts=item.get("attempts", 0),
        failing_since=_time(item, "failing_since"),
        died_at=_time(item, "died_at"),
        reason=item.get("reason"),
    )


def _time(item: Item, name: str) -> datetime | None:
    return read_time(item[name]) if name in item else None
