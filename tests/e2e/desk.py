"""Where a working agent reports to: a port of the test's own, so that nothing has to be asked for twice."""

import contextlib
import json
import socket
import threading
import time
from types import TracebackType
from typing import Any, Self

import botocore.session

from tests.e2e.stack import PATIENCE


class Desk:
    """A listening port and the connection of the one agent that works for it."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(PATIENCE)
        self._reports: Any = None
        self._facts: dict[str, Any] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._reports is not None:
            self._reports.close()
        self._listener.close()

    @property
    def order(self) -> str:
        """The text that sends an agent to work for this desk."""
        return f"work {self._listener.getsockname()[1]}"

    def wait_until_working(self) -> None:
        """Wait until the agent has reported, and is seen to go on."""
        connection, _ = self._listener.accept()
        with connection:
            connection.settimeout(PATIENCE)
            self._reports = connection.makefile("rb")
        self._facts = json.loads(self._reports.readline())
        assert self._reports.read(1) == b"."

    def wait_until_stopped(self) -> None:
        """Wait until the agent does no more: its own end of the connection is gone."""
        try:
            while self._reports.read1():
                pass
        except ConnectionResetError:
            # A killed process may leave without a word of farewell.
            return

    @property
    def pid(self) -> int:
        """The process of the turn."""
        pid: int = self._facts["pid"]
        return pid

    def execution_outcome(self, task_id: str, turn: int = 1) -> str:
        """What Step Functions says of the turn's execution once it has ended; asked for until it has."""
        arn = f"{self._facts['TURN_STATE_MACHINE_ARN'].replace(':stateMachine:', ':execution:')}"
        session = botocore.session.get_session()
        session.set_credentials("local", "local")
        states: Any = session.create_client(
            "stepfunctions",
            region_name=self._facts["AWS_REGION"],
            endpoint_url=self._facts["AWS_ENDPOINT_URL"],
        )
        give_up, never = time.monotonic() + PATIENCE, threading.Event()
        with contextlib.closing(states):
            while time.monotonic() < give_up:
                status: str = states.describe_execution(executionArn=f"{arn}:{task_id}-{turn}")["status"]
                if status != "RUNNING":
                    return status
                never.wait(0.05)
        raise TimeoutError(f"the execution of {task_id} still runs")
