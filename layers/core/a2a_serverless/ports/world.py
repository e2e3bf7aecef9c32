"""The rest of the world: what falls due, the story of failures, counters, time and identifiers."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from a2a_serverless.ports.admissions import AdmissionKey
from a2a_serverless.tasks.log import TaskKey


@dataclass(frozen=True, slots=True)
class Due:
    """Something the sweeper must look at."""

    what: AdmissionKey | TaskKey
    due_at: datetime


class DueIndex(Protocol):
    """What must not be forgotten, by when; an index that may lag behind the truth."""

    def due(self, moment: datetime, limit: int) -> Sequence[Due]:
        """Up to `limit` entries due at or before the moment, oldest first."""


class Incidents(Protocol):
    """Where the full story of a failure goes, since callers only get a public text and an id."""

    def report(self, error: BaseException, **facts: str) -> str:
        """Log the error with these facts; returns the id that finds the log line."""


class Metrics(Protocol):
    """Counters of what the deployment does."""

    def count(self, name: str, value: int = 1, **dimensions: str) -> None:
        """Add to a counter."""


class Clock(Protocol):
    """The time, and waiting for it."""

    def now(self) -> datetime:
        """The present moment, in UTC."""

    def sleep(self, seconds: float) -> None:
        """Return after that many seconds."""


class Identifiers(Protocol):
    """Fresh unguessable identifiers."""

    def new(self) -> str:
        """One that was never given before: 36 characters of `[0-9a-f-]`."""
