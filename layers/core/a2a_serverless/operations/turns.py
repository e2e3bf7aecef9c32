"""A turn from its start to its settlement: begin, run the agent, record what it does, settle.

The start of each segment is written once, so an agent never runs twice for it: an invocation that finds its
segment begun but not checkpointed knows that another died there, and fails the turn. Everything is fenced
by position; stopping an execution is a courtesy, the log decides.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar, overload

from a2a_serverless.agent import (
    Agent,
    Artifact,
    AuthRequired,
    Completed,
    Failed,
    InputRequired,
    Message,
    Rejected,
    Turn,
)
from a2a_serverless.operations.contents import inlined
from a2a_serverless.operations.heads import head_of
from a2a_serverless.operations.recorder import FencedError, InvalidUpdateError, Recorder
from a2a_serverless.operations.running import Crashed, Ended, Paused, Running, TurnHost
from a2a_serverless.ports import ContextKey, Holder, Ports, PositionTakenError, TurnKey
from a2a_serverless.protocol.objects import Part, TaskState
from a2a_serverless.tasks.content import LoggedArtifact, LoggedMessage, LoggedPart, LoggedStatus
from a2a_serverless.tasks.fold import LoggedTask, fold, later
from a2a_serverless.tasks.lifecycle import WAITING
from a2a_serverless.tasks.log import LoggedEvent, TurnCheckpointed, TurnSettled, TurnStarted

STATES: dict[type, TaskState] = {
    Completed: TaskState.COMPLETED,
    InputRequired: TaskState.INPUT_REQUIRED,
    AuthRequired: TaskState.AUTH_REQUIRED,
    Failed: TaskState.FAILED,
    Rejected: TaskState.REJECTED,
}

SETTLING_TIME = 3.0
"""Seconds kept back at the end of an invocation to record how the turn ended."""

GRACE = 2.0
"""Seconds an agent that was cancelled gets to clean up."""

CRASHED = "The agent failed. Reference: {}"
OUT_OF_TIME = "The agent ran out of time. Reference: {}"
DIED = "The turn ended unexpectedly. Reference: {}"
MOST_STATE = 1024 * 1024

Kept = TypeVar("Kept")


class TurnContinues(Exception):
    """The turn goes on in another invocation at once; the state machine retries on this name."""


class TurnWaits(Exception):
    """The turn goes on in about half a minute."""


class TurnWaitsLong(Exception):
    """The turn goes on in about five minutes."""


@dataclass(frozen=True)
class OutOfTime:
    """The invocation's time is up, and the agent still at work."""


Ending = Ended | Crashed | Paused | OutOfTime


class AgentStillRunningError(Exception):
    """The turn is over, yet the agent does not stop: this process must not serve another turn."""


def run_turn(
    ports: Ports, agent: Agent, key: TurnKey, remaining: Callable[[], float], *, grace: float = GRACE
) -> None:
    """Run one segment of a turn; returns when the turn has settled, or was settled by somebody else.

    `remaining` tells the seconds left before this invocation is killed.

    Raises:
        TurnContinues, TurnWaits, TurnWaitsLong: the agent saved a checkpoint and goes on in another
        invocation. AgentStillRunningError: see there.
    """
    recorder = _begin(ports, key)
    if recorder is None:
        return
    task = recorder.task
    turn = _turn_for(ports, key, task, TurnHost(lambda: remaining() - SETTLING_TIME))
    save_state = partial(
        _save_state, ports, key, turn, before=json.dumps(turn.state, sort_keys=True), kept=task.state or ""
    )
    running = Running(agent, turn)
    try:
        ending = _attend(recorder, running, remaining)
        _conclude(ports, key, recorder, ending, save_state)
    except FencedError:
        ports.metrics.count("TurnFenced")
    finally:
        if not running.stop(grace):
            raise AgentStillRunningError


def _begin(ports: Ports, key: TurnKey) -> Recorder | None:
    """Write the start of the next segment; None when there is nothing to run."""
    writer = ports.identifiers.new()
    while True:
        task = ports.tasks.load(key.task, about=key.turn)
        if not task.exists or task.position < key.turn or task.over(key.turn):
            return None
        segment = task.checkpoints + 1
        if task.segments >= segment:
            fail_turn(ports, key)
            return None
        status = LoggedStatus(state=TaskState.WORKING, timestamp=later(task.status, ports.clock.now()))
        recorder = Recorder(ports, key, task, writer)
        try:
            recorder.append(TurnStarted(turn=key.turn, segment=segment, status=status))
        except FencedError:
            continue
        recorder.write_head()
        return recorder


def _attend(recorder: Recorder, running: Running, remaining: Callable[[], float]) -> Ending:
    """Record what the agent does until it ends, is fenced off, or runs out of time."""
    while (left := remaining() - SETTLING_TIME) > 0:
        update = running.next(min(left, recorder.flush_in(), recorder.look_in()))
        if isinstance(update, Ended | Crashed | Paused):
            return update
        if update is not None:
            try:
                recorder.record(update)
            except InvalidUpdateError as error:
                return Crashed(error)
        elif recorder.flush_in() <= 0:
            recorder.flush()
        if recorder.look_in() <= 0:
            recorder.look_for_others()
    return OutOfTime()


def _conclude(
    ports: Ports,
    key: TurnKey,
    recorder: Recorder,
    ending: Ending,
    save_state: Callable[[], str | None],
) -> None:
    recorder.flush(last=isinstance(ending, Ended))
    try:
        # Of an agent that crashed or is still at work nobody knows whether its state makes sense.
        saved = save_state() if isinstance(ending, Ended | Paused) else None
        if isinstance(ending, Paused):
            _pause(key, recorder, ending, saved)
        status = _status_of(ports, key, recorder, ending)
    except InvalidUpdateError as error:
        saved, status = None, _status_of(ports, key, recorder, Crashed(error))
    _settle(ports, key, recorder, status, saved)


def _pause(key: TurnKey, recorder: Recorder, paused: Paused, saved: str | None) -> None:
    segment = recorder.task.segments
    recorder.append(TurnCheckpointed(turn=key.turn, segment=segment, state=saved))
    recorder.write_head()
    if paused.resume_after > 120:  # noqa: PLR2004  halfway between the waits the state machine knows
        raise TurnWaitsLong
    raise TurnWaits if paused.resume_after > 10 else TurnContinues  # noqa: PLR2004  as above


def _status_of(ports: Ports, key: TurnKey, recorder: Recorder, ending: Ending) -> LoggedStatus:
    match ending:
        case Ended(outcome=outcome):
            state = next(state for kind, state in STATES.items() if isinstance(outcome, kind))
            return recorder.status(state, outcome.text, outcome.parts)
        case Crashed(error=error):
            return recorder.status(TaskState.FAILED, CRASHED.format(_incident(ports, key, error)))
        case OutOfTime():
            return recorder.status(
                TaskState.FAILED, OUT_OF_TIME.format(_incident(ports, key, TurnDiedError()))
            )
    raise TypeError(ending)


def _incident(ports: Ports, key: TurnKey, error: BaseException) -> str:
    return ports.incidents.report(error, task=key.task.task_id, turn=str(key.turn))


def _settle(ports: Ports, key: TurnKey, recorder: Recorder, status: LoggedStatus, saved: str | None) -> None:
    """Snapshot, settled event, head, context row: in this order, each making the one before findable."""
    if recorder.position - recorder.snapshot >= ports.policy.snapshot_settled:
        recorder.keep_snapshot()
    recorder.append(TurnSettled(turn=key.turn, status=status, state=saved))
    recorder.write_head()
    task = recorder.task
    waits = status.state in WAITING
    if saved is not None or waits:
        context = ContextKey(key.task.tenant, key.task.owner, task.context_id)
        holder = Holder(key.task.task_id, key.turn, task.expires)
        ports.contexts.settle(context, holder, state=saved, waits=waits)
    ports.metrics.count("TurnSettled", outcome=status.state.name.lower())


def _save_state(ports: Ports, key: TurnKey, turn: Turn, *, before: str, kept: str) -> str | None:
    """Keep the agent's state if it changed since this segment began with `kept`; returns its key.

    What a checkpoint of this very turn kept is named again: only the turn's end makes it the context's. What
    another task kept is kept anew: content lives about as long as the task that stored it, a context longer.
    """
    if not isinstance(turn.state, Mapping):
        raise InvalidUpdateError("turn.state must stay a mapping")
    try:
        after = json.dumps(turn.state, sort_keys=True, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidUpdateError("turn.state holds something that is not JSON") from error
    if after == before and f"/{key.name}-" in kept:
        return kept
    if after == before and (not kept or f"/{key.task.task_id}-" in kept):
        return None
    if len(after) > MOST_STATE:
        raise InvalidUpdateError("turn.state holds more than 1 MB")
    task = key.task
    place = f"state/{task.tenant}/{task.owner}/{turn.context_id}/{key.name}-{ports.identifiers.new()}"
    ports.contents.put(place, after.encode(), "application/json")
    return place


def fail_turn(ports: Ports, key: TurnKey, *, at: int | None = None) -> bool:
    """Append FAILED if the turn is still open; returns whether the turn is over now.

    `at` is the only position it may be written to, when whoever decides looked at the log before looking
    elsewhere.
    """
    writer = ports.identifiers.new()
    while True:
        task = ports.tasks.load(key.task, about=key.turn)
        if not task.exists or task.over(key.turn):
            return True
        if at is not None and task.position + 1 != at:
            return False
        text = DIED.format(_incident(ports, key, TurnDiedError()))
        status = Recorder(ports, key, task, writer).status(TaskState.FAILED, text)
        event = LoggedEvent(
            task.position + 1, writer, task.expires, TurnSettled(turn=key.turn, status=status)
        )
        try:
            ports.tasks.append(key.task, event)
        except PositionTakenError:
            continue
        ports.tasks.write_head(key.task, head_of(ports.policy, fold(task, [event])))
        ports.metrics.count("TurnSettled", outcome="failed")
        return True


class TurnDiedError(Exception):
    """A turn's invocation ended without recording how: it crashed, was killed, or ran out of time."""


# --- what the agent is given -------------------------------------------------


def _turn_for(ports: Ports, key: TurnKey, task: LoggedTask, host: TurnHost) -> Turn:
    record = task.record_of(key.turn)
    *earlier, message = task.history
    return Turn(
        message=_message(ports, message),
        task_id=task.task_id,
        context_id=task.context_id,
        host=host,
        history=_BroughtBack([partial(_message, ports, one) for one in earlier]),
        artifacts=_BroughtBack([partial(_artifact, ports, one) for one in task.artifacts]),
        state=_read_state(ports, key, task.state),
        caller=dict(record.claims),
        accepted_output_modes=record.accepted_output_modes,
        segment=task.segments,
    )


def _read_state(ports: Ports, key: TurnKey, kept: str | None) -> dict[str, Any]:
    """What the conversation remembers; nothing when that is gone, which somebody hears of."""
    if kept is None:
        return {}
    try:
        content = ports.contents.get(kept)
    except KeyError as gone:
        _incident(ports, key, gone)
        return {}
    state: dict[str, Any] = json.loads(content)
    return state


def _fields(logged: LoggedMessage | LoggedArtifact) -> dict[str, Any]:
    return {name: getattr(logged, name) for name in logged.model_fields_set}


def _parts(ports: Ports, parts: Sequence[LoggedPart]) -> tuple[Part, ...]:
    return tuple(inlined(ports.contents, part) for part in parts)


def _message(ports: Ports, message: LoggedMessage) -> Message:
    return Message(**{**_fields(message), "parts": _parts(ports, message.parts)})


def _artifact(ports: Ports, artifact: LoggedArtifact) -> Artifact:
    return Artifact(**{**_fields(artifact), "parts": _parts(ports, artifact.parts)})


class _BroughtBack(Sequence[Kept], Generic[Kept]):
    """Messages or artifacts whose stored content is brought back only when the agent looks at one."""

    def __init__(self, fetches: Sequence[Callable[[], Kept]]) -> None:
        self._fetches = fetches

    def __len__(self) -> int:
        return len(self._fetches)

    @overload
    def __getitem__(self, index: int) -> Kept: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Kept]: ...
    def __getitem__(self, index: int | slice) -> Kept | Sequence[Kept]:
        if isinstance(index, slice):
            return [fetch() for fetch in self._fetches[index]]
        return self._fetches[index]()
