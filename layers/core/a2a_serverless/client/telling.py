"""What of the frames of a stream is to be told, and when there will be no more: everything, and once.

One of these stands behind each stream, across all of its connections. Pure: it is given what arrives and
says what is new. Knows no connection and no time.
"""

import hashlib
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from a2a_serverless.client.failures import UnexpectedAnswerError
from a2a_serverless.client.overlap import Overlap
from a2a_serverless.client.view import TaskView, text_of, texts_of
from a2a_serverless.protocol.events import StreamResponse
from a2a_serverless.protocol.objects import Task, TaskState
from a2a_serverless.tasks.lifecycle import TERMINAL, WAITING

REMEMBERED = 1024
"""Ids of events that are known again when they come a second time."""


@dataclass(slots=True)
class Told:
    """Which events were told: an id that comes again with the same content is a repetition."""

    ids: "OrderedDict[str, bytes]" = field(default_factory=OrderedDict)

    def is_new(self, event_id: str | None, response: StreamResponse) -> bool:
        """Whether an event was not told yet; it counts as told from now on."""
        if event_id is None:
            return True
        content = _digest(response)
        if self.ids.get(event_id) == content:
            return False
        self.ids[event_id] = content
        if len(self.ids) > REMEMBERED:
            self.ids.popitem(last=False)
        return True

    def begin(self, event_id: str | None, response: StreamResponse) -> None:
        """Forget all ids where the first of a connection is that of something else: they begin anew."""
        known = self.ids.get(event_id) if event_id is not None else None
        if known is not None and known != _digest(response):
            self.ids.clear()


@dataclass(slots=True, kw_only=True)
class Telling:
    """What was told so far, and what follows from it.

    Attributes:
        view: the task as told.
        sends: the stream is that of a message; else somebody follows a task.
        follows_up: the message is an answer to a task that waits.
        place: the id of the event that was told last, where its server gives ids.
        begun: something was told, or known from the start.
        over: nothing more will come of what was asked.
        stale: the question that a task was last seen with may be the one that is being answered.
        guessed: a repetition was told by its content alone.
        told_all: nothing that has arrived is still to be told.
    """

    view: TaskView
    sends: bool
    follows_up: bool = False
    place: str | None = None
    begun: bool = False
    over: bool = False
    stale: bool = False
    guessed: bool = False
    told_all: bool = True
    _told: Told = field(default_factory=Told)
    _overlap: Overlap | None = None
    _shown: tuple[str | None, Task] | None = None

    @property
    def may_stop(self) -> bool:
        """Whether a stream may stop here: it is over, or its task waits for the caller."""
        return self.over or (self.view.state in WAITING and not self.stale)

    def new(self, told: StreamResponse, event_id: str | None, *, first: bool) -> list[StreamResponse]:
        """What a frame tells that was not told before; `first` of those of one connection.

        Raises:
            UnexpectedAnswerError: it tells of another task.
        """
        self._check(told)
        if told.task is not None:
            before, self._shown = self._shown, (event_id, told.task)
            if self.begun and first:
                if event_id is not None and event_id == self.place and not _differs(before, self._shown):
                    return []  # the server knows where we were and goes on from there
                self._told.begin(event_id, told)
                return self.caught_up(told.task)
        if not self._told.is_new(event_id, told):
            return []
        if told.task is not None and not self.sends:
            self._overlap = Overlap(told.task, texts_of(told.task))
        elif event_id is None and self._overlap is not None:
            sifted = self._overlap.sifted(told)
            self.guessed = self.guessed or (not sifted and told.artifact_update is not None)
            return [self.take(each) for each in sifted]
        return [self.take(told)]

    def take(self, told: StreamResponse) -> StreamResponse:
        """Take in what is new."""
        self.view.apply(told)
        # The task that opens the stream of an answer may be as it was before the answer arrived.
        opening = not self.begun and self.sends and told.task is not None
        if told.artifact_update is None:
            self.stale = opening and self.follows_up
        self.begun = True
        self.over = told.message is not None or self._settled()
        return told

    def caught_up(self, task: Task) -> list[StreamResponse]:
        """What the task as it stands tells beyond what was told."""
        self._check(StreamResponse(task=task))
        asked = self.view.status
        missed = self.view.catch_up(task)
        news = [each.artifact_update.artifact for each in missed if each.artifact_update is not None]
        self._overlap = Overlap(task, {each.artifact_id: text_of(each) for each in news})
        self.stale = self.stale and task.status == asked
        self.over = self._settled()
        return missed

    def one_by_one(self, new: Sequence[StreamResponse], place: str | None) -> Iterator[StreamResponse]:
        """Tell one after the other; the place is behind them only when the last has been."""
        for left, each in zip(reversed(range(len(new))), new, strict=True):
            self.told_all = left == 0
            if self.told_all:
                self.place = place
            yield each
        self.place = place

    def _settled(self) -> bool:
        """Whether nothing more will come of what was asked, as far as anybody can know."""
        answered = self.sends and self.view.state is TaskState.INPUT_REQUIRED and not self.stale
        return self.view.state in TERMINAL or answered

    def _check(self, told: StreamResponse) -> None:
        update = told.status_update or told.artifact_update
        task_id = told.task.id if told.task else update.task_id if update else None
        if task_id is not None and self.view.task_id is not None and task_id != self.view.task_id:
            raise UnexpectedAnswerError("the stream tells of another task")


def _digest(response: StreamResponse) -> bytes:
    return hashlib.sha256(response.to_json().encode()).digest()


def _differs(before: tuple[str | None, Task] | None, after: tuple[str | None, Task]) -> bool:
    """Whether one id was that of two tasks: its server begins to count anew with each connection."""
    if before is None or before[0] != after[0]:
        return False
    return (before[1].status, before[1].artifacts) != (after[1].status, after[1].artifacts)
