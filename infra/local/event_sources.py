"""Event source mappings as values: which function is sent what, from where, and how often it is tried.

AWS: https://docs.aws.amazon.com/lambda/latest/api/API_CreateEventSourceMapping.html. Pure; polls nothing. A
property that this file does not know is refused: what is silently left out would behave otherwise on AWS.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from infra.local.event_filters import Pattern, read_pattern
from infra.local.intrinsics import UnresolvableError

REPORTS: Final = ["ReportBatchItemFailures"]

QUEUE_PROPERTIES: Final = frozenset({"Queue", "BatchSize", "FunctionResponseTypes", "ScalingConfig"})
STREAM_PROPERTIES: Final = frozenset(
    {
        "BatchSize",
        "BisectBatchOnFunctionError",
        "DestinationConfig",
        "FilterCriteria",
        "FunctionResponseTypes",
        "MaximumBatchingWindowInSeconds",
        "MaximumRecordAgeInSeconds",
        "MaximumRetryAttempts",
        "ParallelizationFactor",
        "StartingPosition",
        "Stream",
    }
)


@dataclass(frozen=True)
class QueueSource:
    """A queue whose messages are sent to a function."""

    function: str
    """Its name."""
    queue: str
    """Its name."""
    batch_size: int
    most_at_once: int
    """Batches that may be with the function at once."""
    reports: bool
    """Whether the function says which messages of a batch it failed at."""

    @classmethod
    def declared(cls, function: str, properties: Mapping[str, Any]) -> "QueueSource":
        """Read a SAM event of type SQS, its references resolved; UnresolvableError for what is not known."""
        refuse_unknown(properties, QUEUE_PROPERTIES)
        return cls(
            function=function,
            queue=named_last(properties["Queue"], ":"),
            batch_size=int(properties.get("BatchSize", 10)),
            most_at_once=int(properties.get("ScalingConfig", {}).get("MaximumConcurrency", 1000)),
            reports=properties.get("FunctionResponseTypes") == REPORTS,
        )


@dataclass(frozen=True)
class StreamSource:
    """A table whose changes are sent to a function, in order for each item's partition."""

    function: str
    """Its name."""
    table: str
    """Its name."""
    batch_size: int
    lanes: int
    """Batches of one shard that may be with the function at once, none of them of the same partition."""
    reports: bool
    """Whether the function says at which record of a batch it failed first."""
    bisects: bool
    """Whether a batch at which the function failed is sent again in halves."""
    retries: int
    """How often a batch is sent again; -1 for as often as it takes."""
    age_seconds: float
    """How old a record may become before it is given up; -1 for as old as it may."""
    patterns: tuple[Pattern, ...]
    """Only what matches one of these is sent; nothing means everything."""
    on_failure: str | None
    """Name of the queue that is told of what was given up."""

    @classmethod
    def declared(cls, function: str, properties: Mapping[str, Any]) -> "StreamSource":
        """Read a SAM event of type DynamoDB, its references resolved; raise UnresolvableError as above."""
        refuse_unknown(properties, STREAM_PROPERTIES)
        if properties["StartingPosition"] != "TRIM_HORIZON" or properties.get(
            "MaximumBatchingWindowInSeconds"
        ):
            raise UnresolvableError(
                f"a stream of {function} that does not begin at once and at the beginning"
            )
        destination = properties.get("DestinationConfig", {}).get("OnFailure", {}).get("Destination")
        return cls(
            function=function,
            table=properties["Stream"].split("/")[1],
            batch_size=int(properties.get("BatchSize", 100)),
            lanes=int(properties.get("ParallelizationFactor", 1)),
            reports=properties.get("FunctionResponseTypes") == REPORTS,
            bisects=bool(properties.get("BisectBatchOnFunctionError")),
            retries=int(properties.get("MaximumRetryAttempts", -1)),
            age_seconds=float(properties.get("MaximumRecordAgeInSeconds", -1)),
            patterns=tuple(
                read_pattern(json.loads(each["Pattern"]))
                for each in properties.get("FilterCriteria", {}).get("Filters", ())
            ),
            on_failure=named_last(destination, ":") if destination else None,
        )


def refuse_unknown(properties: Mapping[str, Any], known: frozenset[str]) -> None:
    """Raise UnresolvableError when there is a property beside the known ones."""
    unknown = properties.keys() - known
    if unknown:
        raise UnresolvableError(f"property {min(unknown)} of an event source")


def named_last(arn: str, separator: str) -> str:
    """Return what an ARN ends in."""
    return arn.rpartition(separator)[2]
