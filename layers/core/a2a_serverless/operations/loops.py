"""Event loops that outlive the turns of one process, for what agents keep open from turn to turn.

An HTTP client belongs to the loop that it was first used in: were every turn given a new one, a client that
an agent made when it was imported would fail in the second turn that a warm process serves. Knows no agent.
"""

import asyncio
import atexit
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

Result = TypeVar("Result")

_free: list[asyncio.AbstractEventLoop] = []
"""Loops that no turn runs in; a process that serves one turn after the other has one."""


def run(main: Coroutine[Any, Any, Result]) -> Result:
    """What the coroutine returns, run like by `asyncio.run`, in a loop that may have been used before.

    As there, tasks that it leaves are cancelled, and threads of `asyncio.to_thread` are waited for.
    """
    loop = _free.pop() if _free else asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    threads = ThreadPoolExecutor(thread_name_prefix="agent")
    loop.set_default_executor(threads)
    try:
        return loop.run_until_complete(main)
    finally:
        loop.run_until_complete(_left(threads))
        asyncio.set_event_loop(None)
        _free.append(loop)


async def _left(threads: ThreadPoolExecutor) -> None:
    """End what was left; the loop goes on meanwhile, as a thread may still want something of it."""
    loop = asyncio.get_running_loop()
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    for task, error in zip(tasks, await asyncio.gather(*tasks, return_exceptions=True), strict=True):
        if isinstance(error, Exception):
            loop.call_exception_handler({"message": "left by a turn", "exception": error, "task": task})
    with ThreadPoolExecutor(1) as waiting:
        await loop.run_in_executor(waiting, threads.shutdown)


@atexit.register
def _close() -> None:
    for loop in _free:
        loop.close()
