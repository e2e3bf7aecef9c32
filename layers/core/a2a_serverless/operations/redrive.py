"""Giving dead webhooks another chance, each from where it stopped, and clearing the alarm afterwards."""

from collections.abc import Iterator, Sequence

from a2a_serverless.operations.webhooks import delivering
from a2a_serverless.ports import Ports
from a2a_serverless.ports.webhooks import Poke, Webhook, WebhookKey

AT_ONCE = 100

SEARCHED = 10_000
"""Dead webhooks among which those of a task are looked for."""


def dead_webhooks(ports: Ports, limit: int = 1000) -> Sequence[Webhook]:
    """The webhooks that were given up, the longest dead first; an index is read, which may lag a second."""
    return delivering(ports).store.dead(limit)


def dead_of_task(ports: Ports, task_id: str) -> Sequence[Webhook]:
    """The dead webhooks of the task of that id, whoever owns it; the index is read as above."""
    return [each for each in dead_webhooks(ports, SEARCHED) if each.key.task.task_id == task_id]


def standing(ports: Ports, key: WebhookKey) -> Webhook | None:
    """The webhook as it stands now, dead or alive."""
    return delivering(ports).store.read(key)


def letters_lying(ports: Ports) -> int:
    """How many letters lie in the queue of dead letters, about."""
    return delivering(ports).letters.count()


def redrive(ports: Ports, key: WebhookKey) -> bool:
    """Let a dead webhook live again and wake it; False when it is not dead."""
    webhooks = delivering(ports)
    if not webhooks.store.revive(key):
        return False
    webhooks.pokes.send([Poke(key)])
    ports.metrics.count("WebhookRedriven")
    return True


def redrive_all(ports: Ports) -> Iterator[WebhookKey]:
    """Redrive whatever is dead now, one after the other; each key is given once it was."""
    seen: set[WebhookKey] = set()
    while fresh := [each.key for each in dead_webhooks(ports, AT_ONCE + len(seen)) if each.key not in seen]:
        for key in fresh:
            seen.add(key)
            if redrive(ports, key):
                yield key


def clear_letters(ports: Ports) -> int:
    """Take out the dead letters of webhooks that are not dead any more; returns how many there were."""
    webhooks = delivering(ports)

    def settled(key: WebhookKey) -> bool:
        found = webhooks.store.read(key)
        return found is None or found.died_at is None

    return webhooks.letters.remove(settled)
