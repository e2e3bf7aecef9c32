"""Tasks whose webhooks are under fire: how each is begun, when its webhooks are registered, and its course.

Each has two webhooks, one of them by HTTP and one by HTTPS; one came with the message, the other by the
operation while the agent waited at its gate, or at its question.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.e2e.fire.callers import Caller, RefusedError, message
from tests.e2e.fire.records import Receiver
from tests.e2e.fire.told import Streamed, Told, told
from tests.e2e.fire.verdict import Hook

PLOTS = ("report", "story", "unfinished", "ask", "story", "fail", "report", "last", "reject", "story")
"""What tasks are about, in turn."""

GONE_EVERY = 20
"""Each so manieth webhook's receiver is gone, for good or until it is redriven."""

STREAMS = 20
"""Streams of one turn, most of which break off if there are so many."""

SETTLED = frozenset({"COMPLETED", "FAILED", "CANCELED", "REJECTED", "INPUT_REQUIRED"})


@dataclass
class Task:
    """One task: what its stream said, and who is told of it."""

    number: int
    id: str = ""
    streamed: list[Streamed] = field(default_factory=list)
    hooks: list[Hook] = field(default_factory=list)
    final: Mapping[str, Any] = field(default_factory=dict)

    @property
    def state(self) -> str:
        """The last state that was seen."""
        states = [
            event["statusUpdate"]["status"]["state"] for _, event in self.streamed if "statusUpdate" in event
        ]
        return str(states[-1]).removeprefix("TASK_STATE_") if states else "SUBMITTED"

    def told(self) -> list[Told]:
        """What webhooks must be told of it."""
        return told(self.final, self.streamed)


@contextmanager
def waiting_at(gate: Path) -> Iterator[Callable[[], object]]:
    """A gate, and what opens it; whoever still waits when the block is left waits no longer."""
    os.mkfifo(gate)
    pipe = os.open(gate, os.O_RDWR)
    try:
        yield lambda: os.write(pipe, b".")
    finally:
        os.close(pipe)


@dataclass(frozen=True)
class Author:
    """Makes tasks; `gates` is a folder for the pipes that agents wait at."""

    url: str
    receivers: Sequence[Receiver]
    gates: Path

    def make(self, number: int) -> Task:
        """One task, from its message to its end."""
        task = Task(number)
        with closing(Caller(self.url)) as caller:
            self._play(caller, task)
            task.final = caller.rest("GET", f"/tasks/{task.id}")
        return task

    def _play(self, caller: Caller, task: Task) -> None:
        plot = PLOTS[task.number % len(PLOTS)]
        asks = plot == "ask"
        gate = self.gates / str(task.number)
        with waiting_at(gate) as open_gate:
            self._turn(caller, task, f"{plot} {'' if asks else gate}", open_gate)
        if asks:
            self._register(caller, task)
            answer = message("story", taskId=task.id)
            for _ in self._followed(caller, task, caller.stream("/message:stream", {"message": answer})):
                pass

    def _turn(self, caller: Caller, task: Task, text: str, open_gate: Callable[[], object]) -> None:
        """The first turn; whoever waits at the gate waits for the second webhook."""
        for event in self._begun(caller, task, text):
            if task.state == "WORKING" and len(task.hooks) == 1 and not text.startswith("ask"):
                self._register(caller, task)
                open_gate()
            elif text.startswith("last") and "artifactUpdate" in event:
                # Refused if it was canceled by an attempt that failed: the stream tells.
                with suppress(RefusedError):
                    caller.rest("POST", f"/tasks/{task.id}:cancel", {})

    def _begun(self, caller: Caller, task: Task, text: str) -> Iterator[Mapping[str, Any]]:
        """Begin with a webhook in the message, over one binding or the other; each event once it is noted."""
        hook, config = self._hook(task, after=1)
        configuration = {"taskPushNotificationConfig": config}
        if task.number % 2:
            params = {
                "message": message(text),
                "configuration": {**configuration, "returnImmediately": True},
            }
            begun = caller.rpc("SendMessage", params)["task"]
            events = caller.stream(f"/tasks/{begun['id']}:subscribe", {}, after=1)
        else:
            asked = {"message": message(text), "configuration": configuration}
            events = caller.stream("/message:stream", asked)
        task.hooks.append(hook)
        return self._followed(caller, task, events)

    def _followed(
        self, caller: Caller, task: Task, events: Iterator[Streamed]
    ) -> Iterator[Mapping[str, Any]]:
        """Each event once it is noted, until the turn has settled; broken streams are gone on with."""
        before = len(task.streamed)
        for _ in range(STREAMS):
            for position, event in events:
                if "task" in event:
                    task.id = event["task"]["id"]
                else:
                    task.streamed.append((position, event))
                yield event
                if len(task.streamed) > before and task.state in SETTLED:
                    return
            after = task.streamed[-1][0] if task.streamed else 1
            events = caller.stream(f"/tasks/{task.id}:subscribe", {}, after=after)
        raise RuntimeError(f"task {task.id} is {task.state} after {STREAMS} streams")

    def _register(self, caller: Caller, task: Task) -> None:
        """The second webhook, by the operation: it is told of what comes after what has been seen."""
        hook, config = self._hook(task, after=task.streamed[-1][0])
        if task.number % 2:
            caller.rest("POST", f"/tasks/{task.id}/pushNotificationConfigs", config)
        else:
            caller.rpc("CreateTaskPushNotificationConfig", {**config, "taskId": task.id})
        task.hooks.append(hook)

    def _hook(self, task: Task, *, after: int) -> tuple[Hook, Mapping[str, Any]]:
        """The next webhook of the task, and how it is asked for."""
        how = "operation" if task.hooks else "inline"
        number = 2 * task.number + len(task.hooks)
        takes = (number // GONE_EVERY) % 2 if number % GONE_EVERY == 0 else None
        path = f"/{task.number}/{how}" if takes is None else f"/gone/{takes}/{task.number}/{how}"
        receiver = self.receivers[(task.number // 2 + len(task.hooks)) % len(self.receivers)]
        token, credentials = f"token-{number}", f"credentials-{number}"
        hook = Hook(
            config_id=how,
            url=receiver.url(path),
            path=path,
            token=token,
            authorization=f"Bearer {credentials}",
            after=after,
            takes=takes,
        )
        config = {
            "id": how,
            "url": hook.url,
            "token": token,
            "authentication": {"scheme": "Bearer", "credentials": credentials},
        }
        return hook, config
