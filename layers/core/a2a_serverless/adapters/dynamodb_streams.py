"""How many streams each caller has open: one item of DynamoDB with a place for each, taken until a time.

A stream that dies without giving its place back loses it when it would have closed itself anyway, so
nothing counts and nothing drifts.
"""

import contextlib
import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from a2a_serverless.adapters.dynamodb_keys import stream_places
from a2a_serverless.adapters.dynamodb_table import DynamoTable, Item, RefusedError, setting
from a2a_serverless.ports import StreamKey

KEPT = timedelta(days=1)
"""How long the item outlives its last stream."""

CHOOSE = random.SystemRandom()


@dataclass(frozen=True, slots=True)
class DynamoStreamPlaces:
    """One item per caller; `place_7` is until when place 7 is taken, in milliseconds since 1970."""

    table: DynamoTable

    def open(self, tenant: str, owner: str, *, most: int, until: datetime) -> StreamKey | None:
        """Take one of a caller's places; None when all are taken. One request unless places run short."""
        free: Sequence[int] = range(most)
        while free:
            stream = StreamKey(tenant, owner, CHOOSE.choice(free), until)
            standing = self._take(stream)
            if standing is None or standing.get(_place(stream), 0) == _milliseconds(until):
                return stream  # taken now, or by an attempt of mine whose answer was lost
            now = _milliseconds(self.table.clock.now())
            free = [number for number in range(most) if standing.get(f"place_{number}", 0) <= now]
        return None

    def close(self, stream: StreamKey) -> None:
        """Give a place back; silent when it is somebody else's by now."""
        place = _place(stream)
        with contextlib.suppress(RefusedError):
            self.table.update(
                stream_places(stream.tenant, stream.owner),
                f"REMOVE #{place}",
                when=f"#{place} = :mine",
                values={"mine": _milliseconds(stream.until)},
            )

    def _take(self, stream: StreamKey) -> Item | None:
        """Take this very place; what stands there otherwise."""
        place = _place(stream)
        until = _milliseconds(stream.until)
        try:
            self.table.update(
                stream_places(stream.tenant, stream.owner),
                setting((place, "expires")),
                when=f"attribute_not_exists(#{place}) OR #{place} <= :moment",
                values={
                    place: until,
                    "expires": int((stream.until + KEPT).timestamp()),
                    "moment": _milliseconds(self.table.clock.now()),
                },
            )
        except RefusedError as refused:
            return refused.standing or {}
        return None


def _place(stream: StreamKey) -> str:
    return f"place_{stream.place}"


def _milliseconds(moment: datetime) -> int:
    return round((moment - datetime(1970, 1, 1, tzinfo=UTC)) / timedelta(milliseconds=1))
