"""What falls due: pending admissions and heads with a due time, found in one sharded index by key alone."""

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from a2a_serverless.adapters.dynamodb_keys import SHARDS, read_due, read_time, shard_name
from a2a_serverless.adapters.dynamodb_table import DynamoTable, Query
from a2a_serverless.ports import Due
from a2a_serverless.protocol.scalars import print_timestamp


@dataclass(frozen=True, slots=True)
class DynamoDue:
    """What must not be forgotten, by when; one query per shard when nothing is due."""

    table: DynamoTable

    def due(self, moment: datetime, limit: int) -> Sequence[Due]:
        """Up to `limit` entries due at or before the moment, oldest first."""
        shards = [self._shard(shard_name(number), moment, limit) for number in range(SHARDS)]
        oldest = islice(heapq.merge(*shards), limit)
        return [Due(read_due(pk), read_time(due_at)) for due_at, pk in oldest]

    def _shard(self, shard: str, moment: datetime, limit: int) -> Iterator[tuple[str, str]]:
        query = Query(
            index="due",
            keys="#due_shard = :shard AND #due_at <= :moment",
            values={"shard": shard, "moment": print_timestamp(moment)},
        )
        for page in self.table.query(query, limit):
            yield from ((item["due_at"], item["pk"]) for item in page.items)
