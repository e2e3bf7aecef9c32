"""Webhooks under fire: a stack whose functions are killed, receivers that misbehave, and what came of it.

The receivers' own records are held against each task's log. What is refused for good must lie in the
dead-letter queue, and arrive once it is redriven.
"""

import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

from tests.e2e.fire.callers import Caller
from tests.e2e.fire.killing import Pauses, killing
from tests.e2e.fire.operator import Operator
from tests.e2e.fire.outcome import Outcome
from tests.e2e.fire.records import Event, Receiver, Records, receiving
from tests.e2e.fire.signatures import read_keys
from tests.e2e.fire.tasks import Author, Task
from tests.e2e.fire.verdict import Course
from tests.e2e.stack import LocalStack, running
from tests.integration.webhooks.certificates import Authority

SILENCE = 1.5
"""How many times longer than it may take a silent receiver keeps silent."""

LOOK_SECONDS = 0.5
TOLD_EVERY = 50


@dataclass(frozen=True)
class Fire:
    """How much of it, for how long.

    Attributes:
        tasks, clients: how many tasks, and how many of them at once.
        pauses: between kills, by function. calm: with so small a share left to be delivered none is killed.
        patience: seconds after the last task in which everything must have arrived.
        timeout: seconds a receiver has to answer. longest: seconds between two attempts at most.
        parallelism: batches of pokes that are worked on at once, at most.
        visibility: seconds until SQS shows a poke again that somebody died over; None as in the template.
    """

    tasks: int
    clients: int
    pauses: Pauses
    patience: float
    calm: float = 0.05
    timeout: int = 3
    longest: int = 8
    parallelism: int = 20
    visibility: int | None = None
    seed: int = 4

    @property
    def arguments(self) -> list[str]:
        """What the stack is started with."""
        parameters = {
            "WebhookTimeoutSeconds": self.timeout,
            "WebhookFirstDelaySeconds": 1,
            "WebhookLongestDelaySeconds": self.longest,
            "PushParallelism": self.parallelism,
        }
        given = (word for each in parameters.items() for word in ("--parameter", "{}={}".format(*each)))
        return ["--agent", "tests.e2e.fire.agent:agent", "--loopback-webhooks", *given]


def under_fire(fire: Fire, folder: Path, tell: Callable[[str], object] = str) -> Outcome:
    """Run all of it in that folder, and judge; `tell` hears how far it has come."""
    outcome = Outcome()
    authority = Authority(folder)
    with ExitStack() as opened:
        receivers = [opened.enter_context(each) for each in _receivers(fire, authority, outcome.records)]
        trusting = {**os.environ, "SSL_CERT_FILE": str(authority.file)}
        stack = opened.enter_context(running(folder, *fire.arguments, environment=trusting))
        operator = opened.enter_context(closing(Operator(stack.aws)))
        if fire.visibility is not None:
            operator.show_pokes_again_after(fire.visibility)
        storm = _Storm(fire, stack, operator, receivers, outcome, tell)
        for part in (storm.deliver, storm.bury, storm.redrive, storm.judge):
            began = time.monotonic()
            tell(f"{part.__name__} …")
            part()
            outcome.seconds[part.__name__] = time.monotonic() - began
    return outcome


def _receivers(
    fire: Fire, authority: Authority, records: Records
) -> Iterator[AbstractContextManager[Receiver]]:
    """One by HTTP and one by HTTPS."""
    for number, certificate in enumerate((None, authority.issue("127.0.0.1"))):
        silence = SILENCE * fire.timeout
        yield receiving(records, seed=fire.seed + number, silence=silence, certificate=certificate)


@dataclass(frozen=True)
class _Storm:
    fire: Fire
    stack: LocalStack
    operator: Operator
    receivers: Sequence[Receiver]
    outcome: Outcome
    tell: Callable[[str], object]

    def deliver(self) -> None:
        """Make all tasks, killing all the while, and wait until everything has arrived that can."""
        gates = self.stack.logs / "gates"
        gates.mkdir()
        author = Author(self.stack.url, self.receivers, gates)
        fire, outcome, records = self.fire, self.outcome, self.outcome.records
        with killing(self.stack, fire.pauses, fire.seed) as killer:
            with ThreadPoolExecutor(fire.clients) as clients:
                outcome.tasks = list(self._told(clients.map(author.make, range(fire.tasks))))
            alive = self._alive()
            records.wait_for(alive, fire.patience, but=int(len(alive) * fire.calm))
        outcome.kills = killer.kills
        self._missed(records.wait_for(alive, fire.patience), "was never told of")
        crashed = (line.split()[1] for line in self.stack.said() if " crashed in the middle " in line)
        outcome.crashes = Counter(crashed)

    def bury(self) -> None:
        """Wait until whoever is gone for good is dead, and look for their letters."""
        outcome = self.outcome
        dying = {(task.id, hook.config_id) for task, hook in outcome.hooks if hook.dies(task.told())}
        give_up, never = time.monotonic() + self.fire.patience, threading.Event()
        dead: set[tuple[str, str]] = set()
        while dead != dying and time.monotonic() < give_up:
            never.wait(LOOK_SECONDS)
            found = self.operator.push("dead-letters", "--limit", "10000")["webhooks"]
            dead = {(each["task"], each["config"]) for each in found}
        letters = {(each["task"], each["config"]) for each in self.operator.letters()}
        outcome.dead, outcome.letters = len(dead), len(letters)
        if dead != dying:
            outcome.faults.append(f"dead are {len(dead)}, not {len(dying)}: {sorted(dead ^ dying)[:5]}")
        if letters != dying:
            outcome.faults.append(
                f"letters of {len(letters)}, not {len(dying)}: {sorted(letters ^ dying)[:5]}"
            )

    def redrive(self) -> None:
        """Let receivers take everything, redrive what is dead, and wait for what it was to be told."""
        outcome = self.outcome
        for receiver in self.receivers:
            receiver.forgive()
        outcome.redriven = len(self.operator.push("redrive", "--all")["redriven"])
        if outcome.redriven != outcome.dead:
            outcome.faults.append(f"{outcome.redriven} of {outcome.dead} were redriven")
        due = [(hook.path, each.event_id) for task, hook in outcome.hooks for each in hook.due(task.told())]
        self._missed(outcome.records.wait_for(due, self.fire.patience), "was not told after the redrive of")
        if letters := self.operator.letters():
            outcome.faults.append(f"{len(letters)} letters are left")
        if left := self.operator.push("dead-letters")["webhooks"]:
            outcome.faults.append(f"{len(left)} webhooks are dead again")

    def judge(self) -> None:
        """Hold every request against what it should have been."""
        with closing(Caller(self.stack.url)) as caller:
            keys = read_keys(caller.rest("GET", "/.well-known/jwks.json"))
        arrivals = self.outcome.records.of_path()
        for task, hook in self.outcome.hooks:
            course = Course(hook, hook.due(task.told()))
            self.outcome.faults += course.faults(arrivals.pop(hook.path, []), keys)
        self.outcome.faults += [f"{path} is nobody's" for path in arrivals]

    def _told(self, tasks: Iterator[Task]) -> Iterator[Task]:
        began = time.monotonic()
        for number, task in enumerate(tasks, 1):
            if number % TOLD_EVERY == 0:
                arrived = len(self.outcome.records.arrivals)
                self.tell(f"{number} tasks, {arrived} requests after {time.monotonic() - began:.0f} s")
            yield task

    def _alive(self) -> list[Event]:
        """What can be delivered as long as those who are gone stay gone."""
        return [
            (hook.path, each.event_id)
            for task, hook in self.outcome.hooks
            for each in hook.alive(task.told())
        ]

    def _missed(self, events: set[Event], how: str) -> None:
        self.outcome.faults += [f"{path} {how} {event_id}" for path, event_id in sorted(events)]
