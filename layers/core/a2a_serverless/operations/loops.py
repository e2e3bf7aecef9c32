"""Event loops that outlive the turns of one process, for what agents keep open from turn to turn.

An HTTP client belongs to the loop that it was first used in: were every turn given a new one, a client that
an agent made when it was imported would fail in the second turn that a warm process serves. Knows no agent.
"""

import asyncio
import atexit
import contextlib
import threading
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

Result = TypeVar("Result")

PATIENCE = 5.0
"""Seconds for what a turn leaves to end, its tasks first and then its threads."""

_free: list[asyncio.AbstractEventLoop] = []
"""Loops that no turn runs in; a process that serves one turn after the other has one."""


def run(main: Coroutine[Any, Any, Result], *, patience: float = PATIENCE) -> Result:
    """What the coroutine returns, run like by `asyncio.run`, in a loop that may have been used before.

    As there, tasks that it leaves are cancelled, and threads of `asyncio.to_thread` are waited for, but only
    for `patience` seconds. A task that has not ended then never goes on; a thread is left alone.
    """
    loop = _unused()
    asyncio.set_event_loop(loop)
    threads = ThreadPoolExecutor(thread_name_prefix="agent")
    loop.set_default_executor(threads)
    try:
        return loop.run_until_complete(main)
    finally:
        ended = loop.run_until_complete(_left(threads, patience))
        asyncio.set_event_loop(None)
        if ended:
            _free.append(loop)
        else:
            loop.close()


def _unused() -> asyncio.AbstractEventLoop:
    """A loop that no turn runs in; an agent's thread may have closed one meanwhile."""
    with contextlib.suppress(IndexError):
        while (loop := _free.pop()).is_closed():
            pass
        return loop
    return asyncio.new_event_loop()


async def _left(threads: ThreadPoolExecutor, patience: float) -> bool:
    """End what was left; the loop goes on meanwhile, as a thread may still want something of it.

    Returns whether all tasks have ended.
    """
    loop = asyncio.get_running_loop()
    until = loop.time() + patience
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    ended, lasting = await asyncio.wait(tasks, timeout=patience) if tasks else (tasks, tasks)
    for task in ended:
        error = None if task.cancelled() else task.exception()
        if isinstance(error, Exception):
            loop.call_exception_handler({"message": "left by a turn", "exception": error, "task": task})
    shut = loop.create_future()
    threading.Thread(target=_shut, args=(threads, shut), daemon=True).start()
    await asyncio.wait([shut], timeout=until - loop.time())
    return not lasting


def _shut(threads: ThreadPoolExecutor, shut: asyncio.Future[None]) -> None:
    threads.shutdown()
    with contextlib.suppress(RuntimeError):  # the loop was closed: nobody waits any more
        shut.get_loop().call_soon_threadsafe(shut.set_result, None)


@atexit.register
def _close() -> None:
    for loop in _free:
        loop.close()
