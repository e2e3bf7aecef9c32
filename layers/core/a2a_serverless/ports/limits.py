"""How often a caller may call: a limit for each class of operations, counted across all functions."""

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Protocol


class OperationClass(StrEnum):
    """What a call costs: a turn of the agent, a look at what is stored, or a change of it."""

    SEND = "send"
    READ = "read"
    WRITE = "write"


@dataclass(frozen=True, slots=True)
class RateLimit:
    """So many calls in a period, evenly; `burst` of them may come at once after a pause.

    A bucket of `burst` tokens, to which one comes back every period/calls until it is full.
    """

    calls: int
    period: timedelta
    burst: int

    @property
    def interval(self) -> timedelta:
        """How long it takes for one call to become free again."""
        return self.period / self.calls


@dataclass(frozen=True, slots=True)
class Bucket:
    """Whose calls of which class are counted together.

    `tenant` is one that is verified to be the caller's, empty where none is: whoever may name any tenant
    would otherwise have as many buckets as there are names.
    """

    tenant: str
    owner: str
    operations: OperationClass


class UncountedError(Exception):
    """Whether a call is within its limit cannot be said at present."""


class RateLimits(Protocol):
    """How often each caller has called of late."""

    def take(self, bucket: Bucket, limit: RateLimit) -> timedelta | None:
        """Count one call if it is within the limit; otherwise how long until one would be.

        A refused call costs nothing. However many processes ask at once, no more calls are let through than
        the limit says. Raises UncountedError.
        """
