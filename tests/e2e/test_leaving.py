"""How the stack ends: Ctrl-C in the middle of everything leaves nothing behind."""

import os
import select
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx

from tests.e2e.conftest import WORKSHOP
from tests.e2e.desk import Desk
from tests.e2e.stack import PATIENCE, descendants, running

SOON = 5
"""Seconds that the system may take to clear away processes that were killed."""


def test_ctrl_c_in_the_middle_of_a_turn_leaves_no_process_behind(tmp_path: Path, desk: Desk) -> None:
    with running(tmp_path, *WORKSHOP) as stack:
        message = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": desk.order}]}
        httpx.post(
            f"{stack.url}/message:send",
            json={"message": message, "configuration": {"returnImmediately": True}},
            headers={"A2A-Version": "1.0"},
            timeout=PATIENCE,
        )
        desk.wait_until_working()
        started = descendants(stack.process.pid)
        assert desk.pid in started

        with watched(started) as watches:
            stack.process.send_signal(signal.SIGINT)

            assert stack.process.wait(PATIENCE) == 0
            assert [
                pid for pid, watch in watches.items() if not select.select([watch], [], [], SOON)[0]
            ] == []


@contextmanager
def watched(pids: set[int]) -> Iterator[dict[int, int]]:
    """For each process a file that becomes readable when that very process has ended (pidfd_open(2))."""
    with ExitStack() as opened:
        watches = {pid: os.pidfd_open(pid) for pid in pids}
        for watch in watches.values():
            opened.callback(os.close, watch)
        yield watches
