"""Open streams: how many each caller has, across all functions."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True, slots=True)
class StreamKey:
    """One of a caller's open streams, and when it closes itself at the latest.

    `token` is this stream's alone: whoever takes the place next has another, even with the same `until`.
    """

    tenant: str
    owner: str
    place: int
    until: datetime
    token: str


class StreamPlaces(Protocol):
    """How many streams each caller has open, across all functions."""

    def open(self, tenant: str, owner: str, *, most: int, until: datetime) -> StreamKey | None:
        """Take one of a caller's places, at most until then; None when all are taken."""

    def close(self, stream: StreamKey) -> None:
        """Give a place back; silent when it is somebody else's by now."""
