"""How often each caller has called: one item of DynamoDB for each caller and class of operations.

The generic cell rate algorithm, which is a token bucket that needs no clockwork: the item holds `full_at`,
the moment when the bucket will be full again, and a call moves it on by the interval of one token. That is
two updates by their conditions (a bucket that is full begins now, any other goes on from where it stands),
of which a process tries first the one that it needed last. So a call takes one request as a rule, two when
that was wrong, and none when this process knows already that it is refused: `full_at` never moves back.
"""

import random
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from a2a_serverless.adapters.dynamodb_keys import rate_bucket
from a2a_serverless.adapters.dynamodb_table import DynamoTable, Item, ItemKey, RefusedError, setting
from a2a_serverless.ports.limits import Bucket, RateLimit, UncountedError

IS_FULL = "(attribute_not_exists(#full_at) OR #full_at <= :moment)"
HAS_SOME = "#full_at > :moment AND #full_at <= :latest AND #taken_by <> :taken_by"
BEGIN = setting(("full_at", "taken_by", "expires"))
GO_ON = "SET #full_at = #full_at + :interval, #taken_by = :taken_by, #expires = :expires"

KEPT = timedelta(days=1)
"""How long the item outlives its use."""

TOO_FAST = frozenset(
    {"ProvisionedThroughputExceededException", "RequestLimitExceeded", "ThrottlingException"}
)
"""By these DynamoDB says that an item is changed more often than any can be."""

A_MOMENT = timedelta(seconds=1)
"""How long whoever is too fast even for their bucket waits."""

REMEMBERED = 1000
"""Buckets that a process remembers at once."""

NEW: Item = {"full_at": 0, "taken_by": ""}
"""A bucket that nobody has taken from."""

MICROSECOND = timedelta(microseconds=1)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
CHOOSE = random.SystemRandom()


@dataclass(frozen=True, slots=True)
class _Seen:
    """When a bucket was to be full again at the earliest, and whether other processes take from it too."""

    full_at: int
    shared: bool


@dataclass(frozen=True, slots=True)
class _Call:
    """One call: what its update sets, and the moments that decide about it, in microseconds since 1970."""

    key: ItemKey
    token: str
    moment: int
    interval: int
    burst: int

    @property
    def latest(self) -> int:
        """A bucket that is full later than this is empty now."""
        return self.moment + (self.burst - 1) * self.interval

    def wait(self, full_at: int) -> timedelta | None:
        """How long until such a bucket holds a token; None when it does."""
        return (full_at - self.latest) * MICROSECOND if full_at > self.latest else None

    def values(self) -> dict[str, Any]:
        """Whatever the two updates and their conditions mention."""
        full = timedelta(microseconds=self.latest + self.interval)
        return {
            "moment": self.moment,
            "latest": self.latest,
            "interval": self.interval,
            "full_at": self.moment + self.interval,
            "taken_by": self.token,
            "expires": int((full + KEPT).total_seconds()),
        }


@dataclass(frozen=True, slots=True)
class DynamoRateLimits:
    """Buckets in the table. A call whose answer is lost and repeated by the SDK is counted once.

    Unless somebody else took from the bucket in between: then twice, never not at all.
    """

    table: DynamoTable
    _seen: dict[ItemKey, _Seen] = field(default_factory=dict)

    def take(self, bucket: Bucket, limit: RateLimit) -> timedelta | None:
        """Count one call if it is within the limit; otherwise how long until one would be."""
        call = _Call(
            key=rate_bucket(bucket, limit),
            token=f"{CHOOSE.getrandbits(64):016x}",
            moment=(self.table.clock.now() - EPOCH) // MICROSECOND,
            interval=max(1, limit.interval // MICROSECOND),
            burst=limit.burst,
        )
        seen = self._seen.get(call.key, _Seen(0, shared=False))
        wait = call.wait(seen.full_at)
        if wait is not None:
            return wait
        try:
            return self._take(call, seen)
        except ClientError as error:
            if error.response["Error"]["Code"] in TOO_FAST:
                return A_MOMENT
            raise UncountedError from error
        except BotoCoreError as error:
            raise UncountedError from error

    def _take(self, call: _Call, seen: _Seen) -> timedelta | None:
        """Take a token, beginning with the update that `seen` speaks for.

        Comes to an end: `full_at` moves only forwards, so the other update is right where one was wrong.
        """
        thought_full = full = seen.full_at <= call.moment and not seen.shared
        while True:
            change, when = (BEGIN, IS_FULL) if full else (GO_ON, HAS_SOME)
            try:
                standing = self.table.update(call.key, change, when=when, values=call.values())
            except RefusedError as refused:
                standing = refused.standing or NEW
            is_mine = standing["taken_by"] == call.token  # now, or by an attempt whose answer was lost
            wait = None if is_mine else call.wait(standing["full_at"])
            if is_mine or wait is not None:
                shared = (thought_full or seen.shared) and not (is_mine and full)
                self._remember(call.key, _Seen(standing["full_at"], shared=shared))
                return wait
            full = standing["full_at"] <= call.moment

    def _remember(self, key: ItemKey, seen: _Seen) -> None:
        if len(self._seen) >= REMEMBERED and key not in self._seen:
            self._seen.clear()
        self._seen[key] = seen
