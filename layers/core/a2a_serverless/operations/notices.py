"""What a webhook is told of an event, and the request it is told in (specification 4.3.3).

Changes of state and whole artifacts become one StreamResponse each; text that was streamed in pieces is told
once, when it is whole. Posts nothing and decides nothing about deliveries.
"""

import base64
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlsplit

from a2a_serverless.operations.contents import Shown
from a2a_serverless.ports import Caller, Ports, WebhookPorts
from a2a_serverless.ports.webhooks import Webhook
from a2a_serverless.protocol.events import StreamResponse, TaskArtifactUpdateEvent, TaskStatusUpdateEvent
from a2a_serverless.protocol.scalars import print_timestamp
from a2a_serverless.tasks.content import LoggedArtifact
from a2a_serverless.tasks.fold import fold
from a2a_serverless.tasks.log import ArtifactUpdated, LoggedEvent, PushKind, TurnSettled
from a2a_serverless.tasks.view import shown_status

MEDIA_TYPE = "application/a2a+json"


@dataclass(frozen=True, slots=True)
class Notice:
    """One request's body, and the id by which a receiver knows that it has had it."""

    event_id: str
    body: bytes


def notices(ports: Ports, webhook: Webhook, event: LoggedEvent) -> Iterator[Notice]:
    """What the event says to this webhook: nothing, one thing, or the artifacts it completes and a status."""
    kinds, kind = ports.policy.webhooks.kinds, event.pushes
    name = f"{webhook.key.task.task_id}-{event.position}"
    if PushKind.ARTIFACTS in kinds:
        for number, artifact in enumerate(_whole(ports, webhook, event), start=1):
            place = name if kind is PushKind.ARTIFACTS else f"{name}.{number}"
            yield Notice(place, _artifact(ports, webhook, artifact))
    status = shown_status(event.entry)
    if status is not None and kind in kinds:
        key, registered = webhook.key.task, webhook.registered
        update = TaskStatusUpdateEvent(
            task_id=key.task_id,
            context_id=registered.context_id,
            status=_shown(ports, webhook).status(status, key.task_id),
        )
        yield Notice(name, StreamResponse(status_update=update).to_json().encode())


def _whole(ports: Ports, webhook: Webhook, event: LoggedEvent) -> Iterator[LoggedArtifact]:
    """The artifacts that are whole by this event."""
    match event.entry:
        case ArtifactUpdated(artifact=artifact, append=False, last_chunk=True):
            yield artifact
        case ArtifactUpdated(artifact=artifact, last_chunk=True):
            yield from _assembled(ports, webhook, event, (artifact.artifact_id,))
        case TurnSettled(completes=names) if names:
            yield from _assembled(ports, webhook, event, names)


def _assembled(
    ports: Ports, webhook: Webhook, event: LoggedEvent, names: tuple[str, ...]
) -> Iterator[LoggedArtifact]:
    before = ports.tasks.load_up_to(webhook.key.task, event.position - 1)
    known = {artifact.artifact_id: artifact for artifact in fold(before, [event]).artifacts}
    yield from (known[name] for name in names)


def _artifact(ports: Ports, webhook: Webhook, artifact: LoggedArtifact) -> bytes:
    task_id = webhook.key.task.task_id
    update = TaskArtifactUpdateEvent(
        task_id=task_id,
        context_id=webhook.registered.context_id,
        artifact=_shown(ports, webhook).artifact(artifact, task_id),
        last_chunk=True,
    )
    return StreamResponse(artifact_update=update).to_json().encode()


def _shown(ports: Ports, webhook: Webhook) -> Shown:
    """As the task's owner sees it: what is too big to be sent is an address that only the owner may read."""
    task = webhook.key.task
    return Shown(ports, Caller(task.tenant, task.owner, "", webhook.registered.base_url))


def host_of(url: str) -> str:
    """The host and port of a URL, without what may be secret."""
    parts = urlsplit(url)
    return f"{parts.hostname}:{parts.port or (443 if parts.scheme == 'https' else 80)}"


def headers_of(
    webhooks: WebhookPorts, webhook: Webhook, notice: Notice, *, attempt: int, at: datetime
) -> Mapping[str, str]:
    """The request's headers; the secrets among them are opened here and nowhere else.

    Raises:
        UnopenableError: the secrets cannot be opened any more.
    """
    headers = {
        "Content-Type": MEDIA_TYPE,
        "A2A-Version": "1.0",
        "User-Agent": "a2a-serverless",
        "X-A2A-Event-Id": notice.event_id,
        "X-A2A-Attempt": str(attempt),
        "X-A2A-Timestamp": print_timestamp(at),
    }
    registered = webhook.registered
    if registered.secrets is not None:
        secrets = json.loads(webhooks.seals.open(registered.secrets, webhook.key.context))
        if "token" in secrets:
            headers["X-A2A-Notification-Token"] = secrets["token"]
        if registered.scheme is not None and "credentials" in secrets:
            headers["Authorization"] = authorization(registered.scheme, secrets["credentials"])
    if webhooks.signatures is not None:
        claims = {"iat": str(int(at.timestamp())), "jti": notice.event_id, "url": registered.url}
        headers["X-A2A-Signature"] = webhooks.signatures.sign(notice.body, claims)
    return headers


def authorization(scheme: str, credentials: str) -> str:
    """The header's value, credentials as they were given; for Basic also `user:password`, then encoded."""
    if scheme.lower() == "basic" and ":" in credentials:
        credentials = base64.b64encode(credentials.encode()).decode("ascii")
    return f"{scheme} {credentials}"
