"""A task as a stream has told it so far, and what another look at it tells that the stream has not.

Folds the frames of a stream into a task, in time linear in their number. Where a stream broke and its server
does not know where it was, the task as it stands is compared with the one known: what is new comes out as
the updates that were missed, so that nothing is told twice and nothing is lost.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from a2a_serverless.protocol.events import StreamResponse, TaskArtifactUpdateEvent, TaskStatusUpdateEvent
from a2a_serverless.protocol.objects import Artifact, Message, Part, Role, Task, TaskState, TaskStatus
from a2a_serverless.tasks.lifecycle import TERMINAL


@dataclass(slots=True)
class _Held:
    """An artifact: what describes it, and its parts as they came."""

    described: Artifact
    parts: list[Part]

    def finished(self) -> Artifact:
        return self.described.model_copy(update={"parts": tuple(joined(self.parts))})


class TaskView:
    """One task as it is known; `sent` is the id of the message that it comes of, if there is one."""

    def __init__(self, sent: str | None = None, task_id: str | None = None) -> None:
        self.task_id = task_id
        self.context_id: str | None = None
        self.status: TaskStatus | None = None
        self._sent = sent
        self._said: set[str] = set()
        self._base: Task | None = None
        self._artifacts: dict[str, _Held] = {}

    @property
    def state(self) -> TaskState | None:
        """The state that was told last."""
        return self.status.state if self.status is not None else None

    @property
    def task(self) -> Task | None:
        """The task as it is known; None as long as nothing was told of any."""
        if self.task_id is None or self.status is None:
            return None
        base = self._base or Task(id=self.task_id, context_id=self.context_id, status=self.status)
        artifacts = tuple(held.finished() for held in self._artifacts.values())
        return base.model_copy(update={"status": self.status, "artifacts": artifacts})

    def apply(self, response: StreamResponse) -> None:
        """Take in one frame."""
        if response.task is not None:
            self._begin(response.task)
        elif response.status_update is not None:
            update = response.status_update
            self._named(update.task_id, update.context_id)
            self._tell(update.status)
        elif response.artifact_update is not None:
            self._named(response.artifact_update.task_id, response.artifact_update.context_id)
            self._add(response.artifact_update)

    def _named(self, task_id: str, context_id: str | None) -> None:
        self.task_id = task_id
        self.context_id = context_id or self.context_id
        if self.status is None:
            self.status = TaskStatus(state=TaskState.SUBMITTED)

    def _begin(self, task: Task) -> None:
        self._base = task
        self._named(task.id, task.context_id)
        self._said.update(message.message_id for message in task.history)
        self._tell(task.status)
        self._artifacts = {each.artifact_id: _Held(each, list(each.parts)) for each in task.artifacts}

    def _tell(self, status: TaskStatus) -> None:
        self.status = status
        if status.message is not None:
            self._said.add(status.message.message_id)

    def _add(self, update: TaskArtifactUpdateEvent) -> None:
        artifact = update.artifact
        held = self._artifacts.get(artifact.artifact_id)
        if held is None or not update.append:
            self._artifacts[artifact.artifact_id] = _Held(artifact, list(artifact.parts))
            return
        held.parts.extend(artifact.parts)
        members = {name: getattr(artifact, name) for name in ("name", "description", "metadata")}
        said = {name: value for name, value in members.items() if value}
        if said:
            held.described = held.described.model_copy(update=said)

    def catch_up(self, task: Task) -> list[StreamResponse]:
        """What the task as it stands tells beyond what is known, as updates; it is known afterwards."""
        missed = [*self._missed_messages(task), *self._missed_artifacts(task), *self._missed_status(task)]
        self._begin(task)
        return missed

    def _missed_messages(self, task: Task) -> Iterator[StreamResponse]:
        """What the agent said on the way, where its server keeps that, as the official SDK does."""
        known = self._base is not None
        for message in task.history if known else _since(task.history, self._sent):
            last = task.status.message is not None and task.status.message.message_id == message.message_id
            if message.role is Role.AGENT and message.message_id not in self._said and not last:
                yield _status(task, TaskStatus(state=TaskState.WORKING, message=message))

    def _missed_artifacts(self, task: Task) -> Iterator[StreamResponse]:
        for artifact in task.artifacts:
            held = self._artifacts.get(artifact.artifact_id)
            rest = _rest(held.parts, artifact.parts) if held is not None else None
            if rest is not None and not rest:
                continue
            update = TaskArtifactUpdateEvent(
                task_id=task.id,
                context_id=task.context_id or task.id,
                artifact=artifact if rest is None else artifact.model_copy(update={"parts": tuple(rest)}),
                append=rest is not None,
                last_chunk=task.status.state in TERMINAL,
            )
            yield StreamResponse(artifact_update=update)

    def _missed_status(self, task: Task) -> Iterator[StreamResponse]:
        before, after = self.status, task.status
        same = before is not None and (before.state, before.message) == (after.state, after.message)
        if not same:
            yield _status(task, after)


def text_of(artifact: Artifact) -> str:
    """The texts of an artifact as one."""
    return "".join(part.text or "" for part in artifact.parts)


def texts_of(task: Task) -> dict[str, str]:
    """The texts of the artifacts of a task, by id."""
    return {artifact.artifact_id: text_of(artifact) for artifact in task.artifacts}


def joined(parts: Sequence[Part]) -> list[Part]:
    """The parts with texts of one kind that follow each other put together: as one, however they came."""
    found: list[Part] = []
    texts: list[str] = []

    def close() -> None:
        if len(texts) > 1:
            found[-1] = found[-1].model_copy(update={"text": "".join(texts)})

    for part in parts:
        if texts and part.text is not None and _kind(found[-1]) == _kind(part):
            texts.append(part.text)
            continue
        close()
        found.append(part)
        texts = [part.text] if part.text is not None else []
    close()
    return found


def _kind(part: Part) -> tuple[object, ...]:
    return part.which(), part.media_type, part.filename, dict(part.metadata)


def _rest(known: Sequence[Part], now: Sequence[Part]) -> list[Part] | None:
    """What `now` has beyond `known`; None where it does not begin like that, so was replaced."""
    before, after = joined(known), joined(now)
    if len(before) > len(after):
        return None
    if not before:
        return after
    *same, last = before
    if any(not _alike(*pair) for pair in zip(same, after, strict=False)):
        return None
    counterpart, *rest = after[len(same) :]
    if _alike(last, counterpart):
        return rest
    grows = last.text is not None and counterpart.text is not None and _kind(last) == _kind(counterpart)
    if grows and (counterpart.text or "").startswith(last.text or ""):
        more = (counterpart.text or "")[len(last.text or "") :]
        return [counterpart.model_copy(update={"text": more}), *rest]
    return None


def _alike(one: Part, other: Part) -> bool:
    """Whether two parts are the same: a link may be signed anew each time it is shown."""
    if one.url is not None and other.url is not None:
        return _kind(one) == _kind(other) and one.url.partition("?")[0] == other.url.partition("?")[0]
    return one == other


def _since(history: Sequence[Message], message_id: str | None) -> Sequence[Message]:
    """The messages after the one with that id; none where it is not there."""
    ids = [message.message_id for message in history]
    return history[ids.index(message_id) + 1 :] if message_id in ids else ()


def _status(task: Task, status: TaskStatus) -> StreamResponse:
    update = TaskStatusUpdateEvent(task_id=task.id, context_id=task.context_id or task.id, status=status)
    return StreamResponse(status_update=update)
