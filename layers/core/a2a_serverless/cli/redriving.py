"""`a2a-serverless push redrive`: which dead webhooks are meant, and another chance for each."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import typer

from a2a_serverless.cli.exits import Exit, Failure
from a2a_serverless.cli.output import number, print_json, shown
from a2a_serverless.operations.redrive import (
    clear_letters,
    dead_of_task,
    dead_webhooks,
    redrive,
    redrive_all,
    standing,
)
from a2a_serverless.ports import Ports
from a2a_serverless.ports.webhooks import WebhookKey
from a2a_serverless.tasks.log import TaskKey
from a2a_serverless.wiring.operator import Operator

COUNTED = 10_000
"""Dead webhooks that are counted before they are redriven."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Which webhooks of which task; what is None is not said."""

    task: str
    config: str | None = None
    tenant: str | None = None
    owner: str | None = None


@dataclass
class _Report:
    """What has been done so far."""

    deployment: str
    redriven: list[WebhookKey] = field(default_factory=list)
    letters: int = 0

    def print(self) -> None:
        """Say it to a program."""
        names = [
            {
                "task": key.task.task_id,
                "config": key.config_id,
                "tenant": key.task.tenant,
                "owner": key.task.owner,
            }
            for key in self.redriven
        ]
        print_json({"deployment": self.deployment, "redriven": names, "lettersRemoved": self.letters})


def redrive_chosen(operator: Operator, choice: Choice | None, *, as_json: bool) -> None:
    """Redrive what was chosen, or everything, and say what was; ends with status 3 when nothing was dead.

    Raises:
        Failure: nothing of the kind is dead, or the choice is not clear.
    """
    ports, report = operator.ports, _Report(operator.deployment)
    total, revived = _all(ports) if choice is None else _chosen(ports, choice)
    try:
        for key in revived:
            report.redriven.append(key)
            if not as_json:
                print(
                    f"redriven {len(report.redriven):,} of {max(total, len(report.redriven)):,}: {_name(key)}"
                )
        report.letters = clear_letters(ports)
    finally:
        # Whatever came in between, a program learns what was done.
        if as_json:
            report.print()
    if not as_json:
        print(_summary(report))
    if not report.redriven:
        raise typer.Exit(Exit.NOTHING)


def _all(ports: Ports) -> tuple[int, Iterator[WebhookKey]]:
    return len(dead_webhooks(ports, COUNTED)), redrive_all(ports)


def _chosen(ports: Ports, choice: Choice) -> tuple[int, Iterator[WebhookKey]]:
    keys = _keys(ports, choice)
    return len(keys), (key for key in keys if redrive(ports, key))


def _keys(ports: Ports, choice: Choice) -> Sequence[WebhookKey]:
    """The dead webhooks that are meant; raises Failure when there are none, or of several tasks."""
    if choice.owner is not None and choice.config is not None:
        key = WebhookKey(TaskKey(choice.tenant or "", choice.owner, choice.task), choice.config)
        return [_dead(ports, key)]
    keys = [each.key for each in dead_of_task(ports, choice.task) if _is_meant(each.key, choice)]
    owners = sorted({(key.task.tenant, key.task.owner) for key in keys})
    if len(owners) > 1:
        each = ", ".join(f"--tenant {tenant!r} --owner {owner!r}" for tenant, owner in owners)
        raise Failure(Exit.USAGE, f"several tasks have the id {choice.task}: say which by {each}")
    if not keys:
        config = f" {choice.config}" if choice.config else ""
        raise Failure(Exit.NOTHING, f"no webhook{config} of task {choice.task} is dead")
    return keys


def _is_meant(key: WebhookKey, choice: Choice) -> bool:
    return (
        choice.config in (None, key.config_id)
        and choice.tenant in (None, key.task.tenant)
        and choice.owner in (None, key.task.owner)
    )


def _dead(ports: Ports, key: WebhookKey) -> WebhookKey:
    found = standing(ports, key)
    if found is None:
        raise Failure(Exit.NOTHING, f"task {key.task.task_id} of that owner has no webhook {key.config_id}")
    if found.died_at is None:
        raise Failure(Exit.NOTHING, f"webhook {key.config_id} of task {key.task.task_id} is not dead")
    return key


def _name(key: WebhookKey) -> str:
    tenant = f" of tenant {key.task.tenant}" if key.task.tenant else ""
    return shown(f"task {key.task.task_id}, config {key.config_id}, owner {key.task.owner}{tenant}")


def _summary(report: _Report) -> str:
    letters = number(report.letters, "letter was", "letters were")
    taken = f"{letters} taken out of the queue."
    if not report.redriven:
        return f"No webhook of {report.deployment} was dead. {taken}"
    webhooks = number(len(report.redriven), "webhook of", "webhooks of")
    return f"{webhooks} {report.deployment} redriven. {taken}"
