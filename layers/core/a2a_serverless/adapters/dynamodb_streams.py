"""How many streams each caller has open: one item of DynamoDB with a place for each, taken until a time.

A stream that dies without giving its place back loses it when it would have closed itself anyway, so
nothing counts and nothing drifts.
"""

import contextlib
import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from a2a_serverless.adapters.dynamodb_keys import stream_places
from a2a_serverless.adapters.dynamodb_table import DynamoTable, Item, RefusedError, setting
from a2a_serverless.ports import StreamKey
from a2a_serverless.protocol.scalars import print_timestamp

KEPT = timedelta(days=1)
"""How long the item outlives its last stream."""

CHOOSE = random.SystemRandom()


@dataclass(frozen=True, slots=True)
class DynamoStreamPlaces:
    """One item per caller; `place_7` is until when place 7 is taken, then by whom: `<time>#<token>`."""

    table: DynamoTable

    def open(self, tenant: str, owner: str, *, most: int, until: datetime) -> StreamKey | None:
        """Take one of a caller's places; None when all are taken. One request unless places run short."""
        free: Sequence[int] = range(most)
        while free:
            stream = StreamKey(tenant, owner, CHOOSE.choice(free), until, f"{CHOOSE.getrandbits(64):016x}")
            standing = self._take(stream)
            if standing is None or standing.get(_place(stream)) == _taken(stream):
                return stream  # taken now, or by an attempt of mine whose answer was lost
            moment = self._moment()
            free = [number for number in range(most) if standing.get(f"place_{number}", "") <= moment]
        return None

    def close(self, stream: StreamKey) -> None:
        """Give a place back; silent when it is somebody else's by now."""
        place = _place(stream)
        with contextlib.suppress(RefusedError):
            self.table.update(
                stream_places(stream.tenant, stream.owner),
                f"REMOVE #{place}",
                when=f"#{place} = :mine",
                values={"mine": _taken(stream)},
            )

    def _take(self, stream: StreamKey) -> Item | None:
        """Take this very place; what stands there otherwise."""
        place = _place(stream)
        try:
            self.table.update(
                stream_places(stream.tenant, stream.owner),
                setting((place, "expires")),
                when=f"attribute_not_exists(#{place}) OR #{place} <= :moment",
                values={
                    place: _taken(stream),
                    "expires": int((stream.until + KEPT).timestamp()),
                    "moment": self._moment(),
                },
            )
        except RefusedError as refused:
            return refused.standing or {}
        return None

    def _moment(self) -> str:
        """Not before anything that was taken until now, and before whatever is taken for longer."""
        return f"{print_timestamp(self.table.clock.now())}#~"


def _place(stream: StreamKey) -> str:
    return f"place_{stream.place}"


def _taken(stream: StreamKey) -> str:
    """Times are of fixed width, so that text compares as they do."""
    return f"{print_timestamp(stream.until)}#{stream.token}"
