"""`a2a-serverless push dead-letters`: which webhooks were given up, where, why and since when."""

from collections.abc import Sequence
from typing import Any

from a2a_serverless.cli.output import moment, number, print_json, print_table
from a2a_serverless.operations.notices import host_of
from a2a_serverless.operations.redrive import dead_webhooks, letters_lying
from a2a_serverless.ports.webhooks import Webhook
from a2a_serverless.protocol.scalars import print_timestamp
from a2a_serverless.wiring.operator import Operator


def show(operator: Operator, limit: int, *, as_json: bool) -> None:
    """Print up to `limit` dead webhooks and how many letters lie in the queue."""
    found = dead_webhooks(operator.ports, limit + 1)
    dead, more = found[:limit], len(found) > limit
    letters = letters_lying(operator.ports)
    if as_json:
        print_json(
            {
                "deployment": operator.deployment,
                "webhooks": [_members(webhook) for webhook in dead],
                "more": more,
                "letters": letters,
            }
        )
        return
    if dead:
        _print(dead)
    print(_summary(operator.deployment, len(dead), more=more, letters=letters))


def _members(webhook: Webhook) -> dict[str, Any]:
    key, since, died_at = webhook.key, webhook.failing_since, webhook.died_at
    return {
        "task": key.task.task_id,
        "config": key.config_id,
        "tenant": key.task.tenant,
        "owner": key.task.owner,
        "host": host_of(webhook.registered.url),
        "undeliveredSince": print_timestamp(since) if since else None,
        "attempts": webhook.attempts,
        "reason": webhook.reason,
        "diedAt": print_timestamp(died_at) if died_at else None,
    }


def _print(dead: Sequence[Webhook]) -> None:
    """The table; without a column of tenants where nobody has one."""
    tenants = any(webhook.key.task.tenant for webhook in dead)
    columns = ["task", "config", *(["tenant"] if tenants else []), "owner", "host"]
    columns += ["undelivered since", "attempts", "reason", "died at"]
    print_table(columns, [_row(webhook, tenants=tenants) for webhook in dead])


def _row(webhook: Webhook, *, tenants: bool) -> list[str]:
    task = webhook.key.task
    return [
        task.task_id,
        webhook.key.config_id,
        *([task.tenant] if tenants else []),
        task.owner,
        host_of(webhook.registered.url),
        moment(webhook.failing_since),
        str(webhook.attempts),
        webhook.reason or "",
        moment(webhook.died_at),
    ]


def _summary(deployment: str, dead: int, *, more: bool, letters: int) -> str:
    lying = f"{number(letters, 'letter lies', 'letters lie')} in the queue"
    if more:
        return f"The {dead:,} longest dead webhooks of {deployment}; --limit shows more. {lying}."
    if dead:
        return f"{number(dead, 'dead webhook', 'dead webhooks')} of {deployment}. {lying}."
    if letters:
        return (
            f"No webhook of {deployment} is dead, but {lying}:"
            " `a2a-serverless push redrive --all` takes out those that nobody needs any more."
        )
    return f"No webhook of {deployment} is dead."
