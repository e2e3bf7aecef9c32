"""Event loops that outlive turns: what an agent keeps open stays open, and nothing else goes on."""

import asyncio
import contextlib
import socket
import threading
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from a2a_serverless.agent import Completed, Turn, Update
from a2a_serverless.operations import loops
from tests.unit.operations.world import World


async def current() -> asyncio.AbstractEventLoop:
    return asyncio.get_running_loop()


def test_one_turn_after_the_other_runs_in_one_loop() -> None:
    assert loops.run(current()) is loops.run(current())


def test_what_is_returned_or_raised_is_that_of_the_coroutine() -> None:
    async def fail() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        loops.run(fail())
    assert not loops.run(current()).is_closed()


def test_turns_at_once_run_in_loops_of_their_own() -> None:
    both = threading.Barrier(2)

    async def meet() -> asyncio.AbstractEventLoop:
        await asyncio.to_thread(both.wait, 30)
        return asyncio.get_running_loop()

    with ThreadPoolExecutor() as turns:
        one, other = (turns.submit(loops.run, meet()) for _ in range(2))
        assert one.result() is not other.result()


def test_tasks_that_a_turn_leaves_are_cancelled_and_threads_waited_for() -> None:
    ended: list[str] = []
    go = threading.Event()

    async def linger() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("task")
            go.set()

    def work() -> None:
        go.wait(30)
        ended.append("thread")

    async def leave() -> asyncio.Future[Any]:
        task = asyncio.create_task(linger())
        asyncio.get_running_loop().run_in_executor(None, work)
        await asyncio.sleep(0)
        return task

    assert loops.run(leave()).cancelled()
    assert ended == ["task", "thread"]


def test_a_thread_that_is_waited_for_may_still_ask_the_loop() -> None:
    answers: list[int] = []

    async def answer() -> int:
        return 42

    async def leave() -> None:
        loop = asyncio.get_running_loop()

        def ask() -> None:
            answers.append(asyncio.run_coroutine_threadsafe(answer(), loop).result(30))

        loop.run_in_executor(None, ask)

    loops.run(leave())
    assert answers == [42]


def test_a_thread_that_does_not_end_holds_up_no_turn() -> None:
    end = threading.Event()

    async def give_up() -> asyncio.AbstractEventLoop:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(asyncio.to_thread(end.wait, 30), 0.001)
        return asyncio.get_running_loop()

    try:
        loop = loops.run(give_up(), patience=0.01)
        assert not end.is_set()
    finally:
        end.set()
    assert loops.run(current()) is loop


def test_a_task_that_does_not_end_holds_up_no_turn_and_never_goes_on() -> None:
    went_on: list[asyncio.AbstractEventLoop] = []

    async def persist() -> None:
        while True:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(0)
                went_on.append(asyncio.get_running_loop())

    async def leave() -> asyncio.Future[Any]:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: None)  # asyncio complains of what was never ended
        task = asyncio.create_task(persist())
        await asyncio.sleep(0)
        return task

    left = loops.run(leave(), patience=0.01)
    before = len(went_on)

    assert loops.run(current()) is not left.get_loop()
    assert (left.done(), len(went_on)) == (False, before)


def test_a_loop_that_somebody_closed_is_not_used_again() -> None:
    loop = loops.run(current())
    loop.close()

    assert loops.run(current()) is not loop


def test_what_goes_wrong_in_a_task_that_is_left_is_told() -> None:
    told: list[Any] = []

    async def fail() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            raise LookupError

    async def leave() -> asyncio.Future[Any]:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context["exception"]))
        task = asyncio.create_task(fail())
        await asyncio.sleep(0)
        return task

    left = loops.run(leave())
    assert isinstance(left.exception(), LookupError)
    assert [type(error) for error in told] == [LookupError]
    loops.run(current()).set_exception_handler(None)


def test_a_connection_that_an_agent_keeps_serves_its_next_turn() -> None:
    kept: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    def echo(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection, connection.makefile("rwb") as lines:
            while line := lines.readline():
                lines.write(line)
                lines.flush()

    async def agent(turn: Turn) -> AsyncIterator[Update]:
        if not kept:
            kept.append(await asyncio.open_connection(*listener.getsockname()))
        reader, writer = kept[0]
        said = turn.message.parts[0].text or ""
        writer.write(f"{said}\n".encode())
        heard = await reader.readline()
        if said == "two":
            writer.close()
            await writer.wait_closed()
        yield Completed(heard.decode().strip())

    world = World(agent=agent)
    with socket.create_server(("127.0.0.1", 0)) as listener, ThreadPoolExecutor(1) as elsewhere:
        listener.settimeout(30)
        echoing = elsewhere.submit(echo, listener)
        for word in ("one", "two"):
            message = world.said(word, word).status.message
            assert message is not None
            assert message.parts[0].text == word
        echoing.result(30)
