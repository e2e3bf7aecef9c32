"""Looking after webhooks that may be forgotten: whoever should have delivered died, or a poke got lost."""

from datetime import datetime, timedelta

from a2a_serverless.ports import Ports
from a2a_serverless.ports.webhooks import Poke, Webhook
from a2a_serverless.tasks.fold import LoggedTask
from a2a_serverless.tasks.log import TaskKey

DEAD_AGAIN = timedelta(hours=1)
"""How soon a dead webhook, or one whose registration never came to its end, is looked at again."""


def look_after_webhooks(ports: Ports, task: LoggedTask, key: TaskKey) -> datetime | None:
    """Wake whoever delivers where something is outstanding; returns when to look again, None when never.

    A webhook that pauses is left to the poke that ends its pause, and looked at some time after that.
    """
    webhooks = ports.webhooks
    ids = webhooks.store.ids(key) if webhooks else frozenset()
    if webhooks is None or not ids:
        return None
    now = ports.clock.now()
    found = webhooks.store.read_all(key)
    looks = [now + DEAD_AGAIN] if len(found) < len(ids) else []
    pokes = []
    for webhook in found:
        if webhook.died_at is not None:
            looks.append(now + DEAD_AGAIN)
        elif webhook.cursor < task.position:
            pauses_until = webhook.not_before if webhook.backs_off else None
            if pauses_until is None or pauses_until <= now:
                pokes.append(Poke(webhook.key))
            looks.append(max(now, pauses_until or now) + ports.policy.due_after)
            ports.metrics.count("WebhookLag", _lag(task, webhook, now))
    if pokes:
        webhooks.pokes.send(pokes)
    return min(looks, default=None)


def _lag(task: LoggedTask, webhook: Webhook, now: datetime) -> int:
    """For how many seconds, at least, something has not been delivered."""
    since = webhook.failing_since or task.current.timestamp or now
    return max(0, int((now - since).total_seconds()))
