"""What the two functions are made of that tell webhooks: one says there is news, the other delivers it."""

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from a2a_serverless.adapters.dynamodb_changes import appended
from a2a_serverless.adapters.sqs_pokes import read_poke
from a2a_serverless.bindings.batches import all_at_once
from a2a_serverless.bindings.gateway import deadline_of
from a2a_serverless.operations.deliveries import deliver, fan_out
from a2a_serverless.settings import Settings
from a2a_serverless.wiring.late import make_now
from a2a_serverless.wiring.world import ports

Event = Mapping[str, Any]

WINDING_UP = timedelta(seconds=5)
"""What an attempt takes beside waiting for its receiver: signing before, and writing down what came of it."""


def fanout(settings: Settings) -> Callable[[Event], None]:
    """What is called with a batch of changes of the table.

    It raises when it failed at any of them: Lambda then halves the batch until it has found which, whereas
    what a function reports as failed takes everything behind it along.
    """
    made = ports(settings)
    if made.webhooks is not None:
        make_now(made.webhooks.store, made.webhooks.pokes, made.webhooks.events)

    def tell(event: Event) -> None:
        fan_out(made, [news for record in event["Records"] if (news := appended(record)) is not None])

    return tell


def push(settings: Settings) -> Callable[[Event, object], dict[str, Any]]:
    """What is called with a batch of pokes and the invocation's context; returns those it failed at."""
    made = ports(settings)
    if (webhooks := made.webhooks) is not None:
        make_now(webhooks.store, webhooks.pokes, webhooks.seals, webhooks.names, webhooks.posts)
        make_now(webhooks.hosts, webhooks.signatures, made.metrics, made.incidents)
    last_attempt = timedelta(seconds=settings.webhook_timeout_seconds) + WINDING_UP

    def report(error: BaseException, message: str) -> None:
        made.incidents.report(error, message=message)

    def deliver_all(event: Event, context: object) -> dict[str, Any]:
        until = deadline_of(context, made.clock.now()) - last_attempt
        return all_at_once(event, lambda body: deliver(made, read_poke(body), until), report)

    return deliver_all
