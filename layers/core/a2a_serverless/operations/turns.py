"""A turn from its start to its settlement: begin, run the agent, record what it does, settle.

The start of each segment is written once, so an agent never runs twice for it: an invocation that finds its
segment begun but not checkpointed knows that another died there, and fails the turn. Everything is fenced
by position; stopping an execution is a courtesy, the log decides.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from a2a_serverless.agent import (
    Agent,
    AuthRequired,
    Completed,
    Failed,
    InputRequired,
    Rejected,
)
from a2a_serverless.operations.filing import Filing
from a2a_serverless.operations.given import turn_for
from a2a_serverless.operations.heads import head_of
from a2a_serverless.operations.memory import save_state
from a2a_serverless.operations.permissions import Decision, Questions
from a2a_serverless.operations.recorder import FencedError, Recorder
from a2a_serverless.operations.running import Crashed, Ended, Paused, Running, TurnHost
from a2a_serverless.operations.updates import InvalidUpdateError
from a2a_serverless.operations.waiting import coming_back_in, wait_until, waits
from a2a_serverless.ports import ContextKey, Holder, Ports, PositionTakenError, TurnKey
from a2a_serverless.protocol.extensions import Extension
from a2a_serverless.protocol.objects import TaskState
from a2a_serverless.tasks.content import LoggedStatus
from a2a_serverless.tasks.fold import fold, later
from a2a_serverless.tasks.lifecycle import WAITING
from a2a_serverless.tasks.log import LoggedEvent, TurnCheckpointed, TurnSettled, TurnStarted

STATES: dict[type, TaskState] = {
    Completed: TaskState.COMPLETED,
    InputRequired: TaskState.INPUT_REQUIRED,
    AuthRequired: TaskState.AUTH_REQUIRED,
    Failed: TaskState.FAILED,
    Rejected: TaskState.REJECTED,
}

SETTLING_TIME, SETTLING_SHARE = 3.0, 1 / 3
"""Seconds kept back at the end of an invocation to record how the turn ended; at most that share of it."""

LATE, LAST = 1 / 2, 1 / 4
"""The shares of that time which are kept back even from an agent that is late for its checkpoint, and from
what it has said already."""

GRACE = 2.0
"""Seconds an agent that was cancelled gets to clean up."""

CRASHED = "The agent failed. Reference: {}"
OUT_OF_TIME = "The agent ran out of time. Reference: {}"
DIED = "The turn ended unexpectedly. Reference: {}"


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
    recorder = _begin(ports, key, remaining)
    if recorder is None:
        return
    task = recorder.task
    kept_back = min(SETTLING_TIME, remaining() * SETTLING_SHARE)
    questions = Questions(ports.policy.permissions, task, ports.identifiers.new)
    turn = turn_for(ports, key, task, TurnHost(lambda: remaining() - kept_back, questions.ask))
    save = partial(
        save_state, ports, key, turn, before=json.dumps(turn.state, sort_keys=True), kept=task.state or ""
    )
    running = Running(agent, turn, Filing(ports, key, recorder.writer).file)
    try:
        ending = _attend(recorder, running, remaining, kept_back)
        _conclude(ports, key, recorder, ending, save)
    except FencedError:
        ports.metrics.count("TurnFenced")
    finally:
        if not running.stop(grace):
            raise AgentStillRunningError


def _begin(ports: Ports, key: TurnKey, remaining: Callable[[], float]) -> Recorder | None:
    """Write the start of the next segment; None when there is nothing to run.

    Raises:
        TurnContinues, TurnWaits, TurnWaitsLong: it is too early for it.
    """
    writer = ports.identifiers.new()
    while True:
        task = ports.tasks.load(key.task, about=key.turn)
        if not task.exists or task.position < key.turn or task.over(key.turn):
            return None
        segment = task.checkpoints + 1
        if task.segments >= segment:
            fail_turn(ports, key)
            return None
        if wait_until(ports, task.wakes_at, remaining):
            continue
        status = LoggedStatus(state=TaskState.WORKING, timestamp=later(task.status, ports.clock.now()))
        recorder = Recorder(ports, key, task, writer)
        try:
            recorder.append(TurnStarted(turn=key.turn, segment=segment, status=status))
        except FencedError:
            continue
        recorder.write_head()
        return recorder


def _attend(recorder: Recorder, running: Running, remaining: Callable[[], float], kept_back: float) -> Ending:
    """Record what the agent does until it ends, is fenced off, or runs out of time."""
    while (left := remaining()) > kept_back * LAST:
        idle = left - kept_back * LATE
        update = running.next(min(idle, recorder.flush_in(), recorder.look_in(), recorder.head_in()))
        if isinstance(update, Ended | Crashed | Paused):
            return update
        if update is None and idle <= 0:
            break
        if isinstance(update, Decision):
            _decide(recorder, update)
        elif update is not None:
            try:
                recorder.record(update)
            except InvalidUpdateError as error:
                return Crashed(error)
        elif recorder.flush_in() <= 0:
            recorder.flush()
        if recorder.look_in() <= 0:
            recorder.look_for_others()
        if recorder.head_in() <= 0:
            recorder.write_head()
    return OutOfTime()


def _decide(recorder: Recorder, decision: Decision) -> None:
    """Write a decision down, and only then let the agent have it."""
    try:
        recorder.record(decision)
    except BaseException:
        decision.recorded.cancel()
        raise
    if decision.recorded.set_running_or_notify_cancel():
        decision.recorded.set_result(None)


def _conclude(
    ports: Ports,
    key: TurnKey,
    recorder: Recorder,
    ending: Ending,
    save: Callable[[], str | None],
) -> None:
    recorder.flush(last=isinstance(ending, Ended))
    try:
        # Of an agent that crashed or is still at work nobody knows whether its state makes sense.
        saved = save() if isinstance(ending, Ended | Paused) else None
        if isinstance(ending, Paused):
            _pause(ports, key, recorder, ending, saved)
        status = _status_of(ports, key, recorder, ending)
    except InvalidUpdateError as error:
        ending = Crashed(error)
        saved, status = None, _status_of(ports, key, recorder, ending)
    asks = ending.asks if isinstance(ending, Ended) else None
    _settle(ports, key, recorder, TurnSettled(turn=key.turn, status=status, state=saved, asks=asks))


def _pause(ports: Ports, key: TurnKey, recorder: Recorder, paused: Paused, saved: str | None) -> None:
    task = recorder.task
    wait = waits(ports, key, task, paused.resume_after)
    wakes_at = ports.clock.now() + timedelta(seconds=wait) if wait else None
    recorder.append(TurnCheckpointed(turn=key.turn, segment=task.segments, state=saved, wakes_at=wakes_at))
    recorder.write_head()
    raise coming_back_in(wait)


def _status_of(ports: Ports, key: TurnKey, recorder: Recorder, ending: Ending) -> LoggedStatus:
    match ending:
        case Ended(outcome=outcome, asks=asks):
            state = next(state for kind, state in STATES.items() if isinstance(outcome, kind))
            speaks = Extension.PERMISSIONS.uri if asks else ""
            return recorder.status(state, outcome.text, outcome.parts, speaks=speaks)
        case Crashed(error=error):
            return recorder.status(TaskState.FAILED, CRASHED.format(_incident(ports, key, error)))
        case OutOfTime():
            return recorder.status(
                TaskState.FAILED, OUT_OF_TIME.format(_incident(ports, key, TurnDiedError()))
            )
    raise TypeError(ending)


def _incident(ports: Ports, key: TurnKey, error: BaseException) -> str:
    return ports.incidents.report(error, task=key.task.task_id, turn=str(key.turn))


def _settle(ports: Ports, key: TurnKey, recorder: Recorder, settled: TurnSettled) -> None:
    """Snapshot, settled event, head, context row: in this order, each making the one before findable."""
    recorder.keep_last_snapshot()
    state, saved = settled.status.state, settled.state
    completes = () if state is TaskState.FAILED else recorder.task.unfinished
    recorder.append(settled.model_copy(update={"completes": completes}))
    recorder.write_head()
    task = recorder.task
    waits = state in WAITING
    if saved is not None or waits:
        context = ContextKey(key.task.tenant, key.task.owner, task.context_id)
        holder = Holder(key.task.task_id, key.turn, task.expires)
        ports.contexts.settle(context, holder, state=saved, waits=waits)
    ports.metrics.count("TurnSettled", outcome=state.name.lower())


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
