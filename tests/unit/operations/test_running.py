"""An agent beside its host: what crosses over, and how it is stopped whatever it does."""

import asyncio
import contextlib
import gc
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from decimal import Decimal
from typing import Any

import pytest

from a2a_serverless.agent import (
    ArtifactChunk,
    AuthRequired,
    Completed,
    Failed,
    InputRequired,
    Permission,
    Rejected,
    Turn,
    Update,
    Working,
)
from a2a_serverless.operations.passage import WAITING_UPDATES
from a2a_serverless.operations.permissions import Decision, Question
from a2a_serverless.operations.running import Crashed, Ended, Paused, Running, TurnHost
from a2a_serverless.protocol.objects import Message, Part, Role
from tests.unit.operations.world import plays

LONG = 30.0
"""Seconds in which anything that is going to happen has happened; no test waits that long."""


class Patient:
    """A host with all the time in the world."""

    def remaining_seconds(self) -> float:
        return 1000.0

    async def checkpoint(self, resume_after: float) -> None:
        """Never ends an invocation."""

    async def ask_permission(self, permission: Permission) -> bool:
        """Allows everything."""
        return True


def turn(host: Any = None) -> Turn:
    message = Message(message_id="m", role=Role.USER, parts=(Part(text="go"),))
    return Turn(message=message, task_id="t", context_id="c", host=host or Patient())


@pytest.fixture
def release() -> Iterator[threading.Event]:
    """Lets go of whatever blocks, at the end of the test at the latest."""
    event = threading.Event()
    yield event
    event.set()


def everything(running: Running) -> list[Any]:
    """All that crosses over, up to the end."""
    found = []
    while True:
        crossed = running.next(LONG)
        assert crossed is not None, "the agent fell silent"
        found.append(crossed)
        if isinstance(crossed, Ended | Crashed | Paused):
            assert running.stop(LONG)
            return found


def test_updates_cross_over_one_by_one_and_falling_off_the_end_completes() -> None:
    updates = [Working("a"), ArtifactChunk("x", "b"), Working("c")]

    assert everything(Running(plays(*updates), turn())) == [*updates, Ended(Completed())]


@pytest.mark.parametrize(
    "outcome",
    [Completed("done"), Failed("no"), Rejected("no"), InputRequired("?"), AuthRequired("sign in")],
)
def test_an_outcome_ends_the_turn_and_nothing_after_it_is_asked_for(outcome: Any) -> None:
    asked: list[str] = []

    async def agent(_: Turn) -> AsyncIterator[Update]:
        yield outcome
        asked.append("more")
        yield Working("never")

    assert everything(Running(agent, turn())) == [Ended(outcome)]
    assert asked == []


def test_an_agent_that_ends_its_turn_cleans_up_first() -> None:
    cleaned: list[str] = []

    async def agent(_: Turn) -> AsyncIterator[Update]:
        try:
            yield Completed()
        finally:
            await asyncio.sleep(0)
            cleaned.append("up")

    everything(Running(agent, turn()))

    assert cleaned == ["up"]


async def raises_at_once(turn: Turn) -> AsyncIterator[Update]:
    if turn.segment:
        raise RuntimeError("boom")
    yield Working()


async def raises_later(_: Turn) -> AsyncIterator[Update]:
    yield Working()
    raise RuntimeError("boom")


async def exits(_: Turn) -> AsyncIterator[Update]:
    yield Working()
    raise SystemExit(3)


async def cancels_itself(_: Turn) -> AsyncIterator[Update]:
    yield Working()
    task = asyncio.ensure_future(asyncio.Event().wait())
    task.cancel()
    await task


def plain_function(_: Turn) -> list[Update]:
    return [Working()]


def raising_function(_: Turn) -> AsyncIterator[Update]:
    raise RuntimeError("boom")


@pytest.mark.parametrize(
    ("agent", "error"),
    [
        (raises_at_once, RuntimeError),
        (raises_later, RuntimeError),
        (raising_function, RuntimeError),
        (exits, SystemExit),
        (cancels_itself, asyncio.CancelledError),
        (plain_function, TypeError),
    ],
)
def test_an_agent_that_raises_has_crashed_whatever_it_raises(agent: Any, error: type[BaseException]) -> None:
    *_, ending = everything(Running(agent, turn()))

    assert isinstance(ending, Crashed)
    assert isinstance(ending.error, error)


def test_a_silent_agent_holds_up_nobody() -> None:
    async def agent(_: Turn) -> AsyncIterator[Update]:
        await asyncio.Event().wait()
        yield Working()

    running = Running(agent, turn())

    assert running.next(0.0) is None
    assert running.next(0.01) is None
    assert running.stop(LONG)


def test_an_agent_that_blocks_its_loop_holds_up_nobody_but_is_not_stopped(release: threading.Event) -> None:
    async def agent(_: Turn) -> AsyncIterator[Update]:
        yield Working()
        release.wait()

    running = Running(agent, turn())
    assert running.next(LONG) == Working()

    assert running.next(0.01) is None
    assert not running.stop(0.01)
    release.set()
    assert running.stop(LONG)


def test_an_agent_that_ignores_its_cancellation_is_not_stopped(release: threading.Event) -> None:
    async def agent(_: Turn) -> AsyncIterator[Update]:
        yield Working()
        while not release.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(0.001)

    running = Running(agent, turn())
    assert running.next(LONG) == Working()

    assert not running.stop(0.05)
    release.set()
    assert running.stop(LONG)


def test_an_agent_that_floods_is_held_up_until_its_host_keeps_pace() -> None:
    made: list[int] = []

    async def agent(_: Turn) -> AsyncIterator[Update]:
        for number in range(3 * WAITING_UPDATES):
            made.append(number)
            yield Working(str(number))

    running = Running(agent, turn())
    taken = [running.next(LONG) for _ in range(10)]
    assert len(made) <= 10 + WAITING_UPDATES + 1

    rest = everything(running)

    assert [update.text for update in [*taken, *rest[:-1]]] == [str(n) for n in range(3 * WAITING_UPDATES)]


def test_a_flooding_agent_is_stopped_and_cleans_up() -> None:
    cleaned = threading.Event()

    async def agent(_: Turn) -> AsyncIterator[Update]:
        try:
            while True:
                yield Working()
        finally:
            cleaned.set()

    running = Running(agent, turn())
    assert running.next(LONG) == Working()

    assert running.stop(LONG)
    assert cleaned.is_set()


def test_an_agent_that_is_stopped_is_told_so_where_it_waits() -> None:
    told: list[str] = []

    async def agent(_: Turn) -> AsyncIterator[Update]:
        yield Working()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            told.append("cancelled")
            raise

    running = Running(agent, turn())
    assert running.next(LONG) == Working()

    assert running.stop(LONG)
    assert told == ["cancelled"]


def test_an_agent_that_is_stopped_before_it_could_begin_never_waits() -> None:
    async def agent(_: Turn) -> AsyncIterator[Update]:
        await asyncio.Event().wait()
        yield Working()

    for _ in range(200):
        assert Running(agent, turn()).stop(LONG)


def test_an_agent_may_end_just_when_it_is_stopped() -> None:
    for _ in range(200):
        assert Running(plays(), turn()).stop(LONG)


def test_what_an_agent_says_after_it_was_stopped_is_not_heard(release: threading.Event) -> None:
    async def agent(_: Turn) -> AsyncIterator[Update]:
        yield Working("first")
        release.wait()
        yield Working("second")

    running = Running(agent, turn())
    assert running.next(LONG) == Working("first")
    assert not running.stop(0.01)
    release.set()

    assert running.stop(LONG)
    assert running.next(0.0) is None


# --- checkpoints -------------------------------------------------


def checkpoints(*asked: float, remaining: Callable[[], float]) -> list[Any]:
    """What crosses over from an agent that asks for these checkpoints one after the other."""

    async def agent(turn: Turn) -> AsyncIterator[Update]:
        for resume_after in asked:
            await turn.checkpoint(resume_after)
            yield Working(str(resume_after))

    return everything(Running(agent, turn(TurnHost(remaining))))


def test_a_checkpoint_returns_at_once_while_there_is_time() -> None:
    assert checkpoints(0, 0, remaining=lambda: 100.0) == [Working("0"), Working("0"), Ended(Completed())]


def test_a_checkpoint_ends_the_invocation_when_a_fifth_of_its_time_is_left() -> None:
    left = iter([100.0, 80.0, 60.0, 40.0, 20.0, 19.9])

    assert checkpoints(0, 0, 0, 0, 0, remaining=lambda: next(left)) == [*4 * [Working("0")], Paused(0.0)]


def test_a_checkpoint_ends_the_invocation_when_the_longest_step_so_far_would_not_fit_again() -> None:
    left = iter([100.0, 60.0, 50.0, 39.9])

    assert checkpoints(0, 0, 0, remaining=lambda: next(left)) == [*2 * [Working("0")], Paused(0.0)]


@pytest.mark.parametrize("seconds", [0.5, 30, 86_400, Decimal("0.5")])
def test_a_checkpoint_that_asks_to_be_woken_ends_the_invocation(seconds: Any) -> None:
    (paused,) = checkpoints(seconds, remaining=lambda: 100.0)
    assert paused == Paused(seconds)
    assert isinstance(paused.resume_after, float)


def test_a_checkpoint_passes_by_agents_that_catch_every_exception() -> None:
    async def agent(turn: Turn) -> AsyncIterator[Update]:
        with contextlib.suppress(Exception):
            await turn.checkpoint(30)
        yield Working("never")

    assert everything(Running(agent, turn(TurnHost(lambda: 100.0)))) == [Paused(30)]


def test_an_agent_never_sees_less_than_no_time() -> None:
    assert TurnHost(lambda: -5.0).remaining_seconds() == 0.0
    assert TurnHost(lambda: 5.0).remaining_seconds() == 5.0


# --- permissions --------------------------------------------------

QUESTION = Question("id", InputRequired("May I?"))
MAY_I = Permission("delete", "Delete it")


def asking(agent: Any) -> list[Any]:
    """What crosses over from an agent whose every question has yet to be answered."""
    return everything(Running(agent, turn(TurnHost(lambda: 100.0, lambda _: QUESTION))))


async def asks(turn: Turn) -> AsyncIterator[Update]:
    await turn.ask_permission(MAY_I)
    yield Working("never")


async def asks_and_catches_everything(turn: Turn) -> AsyncIterator[Update]:
    with contextlib.suppress(BaseException):
        await turn.ask_permission(MAY_I)
    yield Working("never")


async def asks_and_asks_again(turn: Turn) -> AsyncIterator[Update]:
    with contextlib.suppress(BaseException):
        await turn.ask_permission(MAY_I)
    with contextlib.suppress(BaseException):
        await turn.checkpoint(30)
    yield Completed("never")


async def asks_and_breaks_down(turn: Turn) -> AsyncIterator[Update]:
    try:
        await turn.ask_permission(MAY_I)
    finally:
        raise RuntimeError("boom")
    yield Working("never")


async def asks_in_a_group(turn: Turn) -> AsyncIterator[Update]:
    async with asyncio.TaskGroup() as group:
        group.create_task(turn.ask_permission(MAY_I))
        group.create_task(asyncio.Event().wait())
    yield Working("never")


async def asks_twice_at_once(turn: Turn) -> AsyncIterator[Update]:
    await asyncio.gather(turn.ask_permission(MAY_I), turn.ask_permission(MAY_I))
    yield Working("never")


async def asks_where_nobody_looks(turn: Turn) -> AsyncIterator[Update]:
    asking = asyncio.create_task(turn.ask_permission(MAY_I))
    await asyncio.Event().wait()
    yield Working(str(asking))


async def asks_where_nobody_looks_and_goes_on(turn: Turn) -> AsyncIterator[Update]:
    asking = asyncio.create_task(turn.ask_permission(MAY_I))
    with contextlib.suppress(asyncio.CancelledError):
        await asyncio.Event().wait()
    yield Working(str(asking))


async def asks_in_a_thread(turn: Turn) -> AsyncIterator[Update]:
    loop = asyncio.get_running_loop()

    def tool() -> bool:
        return asyncio.run_coroutine_threadsafe(turn.ask_permission(MAY_I), loop).result(LONG)

    yield Completed(str(await asyncio.to_thread(tool)))


async def asks_in_a_loop_of_its_own(turn: Turn) -> AsyncIterator[Update]:
    yield Completed(str(await asyncio.to_thread(lambda: asyncio.run(turn.ask_permission(MAY_I)))))


@pytest.mark.parametrize(
    "agent",
    [
        asks,
        asks_and_catches_everything,
        asks_and_asks_again,
        asks_and_breaks_down,
        asks_in_a_group,
        asks_twice_at_once,
        asks_where_nobody_looks,
        asks_where_nobody_looks_and_goes_on,
        asks_in_a_thread,
        asks_in_a_loop_of_its_own,
    ],
)
def test_a_question_ends_the_turn_wherever_it_is_asked_and_whatever_the_agent_makes_of_it(agent: Any) -> None:
    assert asking(agent) == [Ended(QUESTION.outcome, asks="id")]


@pytest.mark.parametrize("agent", [asks, asks_in_a_thread, asks_in_a_loop_of_its_own])
@pytest.mark.parametrize("allowed", [True, False])
def test_a_decision_is_handed_over_and_told_once_it_is_recorded(agent: Any, allowed: bool) -> None:  # noqa: FBT001
    running = Running(agent, turn(TurnHost(lambda: 100.0, lambda asked: Decision(asked, allowed=allowed))))

    handed_over = running.next(LONG)
    assert isinstance(handed_over, Decision)
    assert running.next(0.02) is None
    handed_over.recorded.set_result(None)

    *_, ending = everything(running)
    assert isinstance(ending, Ended)


def test_an_agent_is_stopped_while_its_decision_is_being_recorded() -> None:
    running = Running(asks, turn(TurnHost(lambda: 100.0, lambda asked: Decision(asked, allowed=True))))
    handed_over = running.next(LONG)

    assert running.stop(LONG)
    assert isinstance(handed_over, Decision)
    assert handed_over.recorded.cancelled()


def test_a_checkpoint_ends_the_invocation_from_a_nested_task_too() -> None:
    async def agent(turn: Turn) -> AsyncIterator[Update]:
        async with asyncio.TaskGroup() as group:
            group.create_task(turn.checkpoint(30))
            group.create_task(asyncio.Event().wait())
        yield Working("never")

    assert everything(Running(agent, turn(TurnHost(lambda: 100.0)))) == [Paused(30)]


def test_what_goes_wrong_where_nobody_looks_is_said_unless_it_is_a_question(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def breaks() -> None:
        raise RuntimeError("boom")

    async def leaves_a_task(turn: Turn) -> AsyncIterator[Update]:
        for left in (breaks(), turn.ask_permission(MAY_I)):
            asyncio.ensure_future(left)  # noqa: RUF006  that is the point
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(0.01)
            gc.collect()
        yield Completed("never")

    assert asking(leaves_a_task) == [Ended(QUESTION.outcome, asks="id")]

    assert [record.exc_info[0] for record in caplog.records if record.exc_info] == [RuntimeError]


def test_a_host_that_knows_nobody_to_ask_breaks_the_agent_that_asks() -> None:
    *_, ending = everything(Running(asks, turn(TurnHost(lambda: 100.0))))

    assert isinstance(ending, Crashed)
    assert isinstance(ending.error, NotImplementedError)
