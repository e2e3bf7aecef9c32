"""The way over from an agent to its host: room for a hundred updates, and for a few megabytes of content.

So an agent that is far ahead of its host is held up before it fills the memory, whatever it yields.
"""

import queue
from typing import Generic, TypeVar

from a2a_serverless.agent import ArtifactChunk, Working

T = TypeVar("T")

WAITING_UPDATES = 100
"""Updates an agent may be ahead of its host before it is held up."""

WAITING_BYTES = 4 * 1024 * 1024
"""Bytes of content by which it may be ahead, besides one update of any size."""


class Passage(queue.Queue[T], Generic[T]):
    """A queue that is full, too, when what waits in it weighs too much."""

    def __init__(self) -> None:
        super().__init__(WAITING_UPDATES)

    def _init(self, maxsize: int) -> None:
        super()._init(maxsize)
        self._weight = 0

    def _qsize(self) -> int:
        return self.maxsize if self._weight >= WAITING_BYTES else super()._qsize()

    def _put(self, item: T) -> None:
        self._weight += weight(item)
        super()._put(item)

    def _get(self) -> T:
        item: T = super()._get()
        self._weight -= weight(item)
        return item


def weight(update: object) -> int:
    """How much content an update holds, about, in bytes."""
    if not isinstance(update, ArtifactChunk | Working):
        return 0
    # The update may be anything that calls itself one; whether it is sound is judged where it is recorded.
    texts = [update.text, *(getattr(part, "text", None) for part in update.parts)]
    raws = [getattr(part, "raw", None) for part in update.parts]
    return sum(len(each) for each in (*texts, *raws) if isinstance(each, str | bytes))
