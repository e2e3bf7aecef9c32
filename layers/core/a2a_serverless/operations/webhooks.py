"""The webhooks of a task (specification 3.1.7 to 3.1.10), and the one that may come with a message (4.3.1).

A webhook is registered in an order that loses nothing whoever dies on the way: its id is counted among the
task's, then it is stored with a cursor at the log's end, then whoever delivers is woken if the log has grown
meanwhile. Secrets are sealed before they are stored anywhere and never shown again. Delivers nothing.
"""

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Iterator

from a2a_serverless.operations.heads import head_of
from a2a_serverless.operations.webhook_urls import check_url, guard
from a2a_serverless.ports import Caller, Ports, WebhookPorts
from a2a_serverless.ports.webhooks import NoHeadError, Poke, Registration, Webhook, WebhookKey
from a2a_serverless.protocol.errors import (
    FieldViolation,
    InvalidParamsError,
    PushNotificationNotSupportedError,
    TaskNotFoundError,
)
from a2a_serverless.protocol.limits import ID
from a2a_serverless.protocol.requests import (
    AuthenticationInfo,
    DeleteTaskPushNotificationConfigRequest,
    GetTaskPushNotificationConfigRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTaskPushNotificationConfigsResponse,
    TaskPushNotificationConfig,
)
from a2a_serverless.tasks.fold import LoggedTask
from a2a_serverless.tasks.log import TaskKey

DEFAULT_PAGE_SIZE = 50
MAX_SECRETS = 4000
"""Bytes of token and credentials together, as JSON: what KMS seals in one piece."""

SCHEME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}")
SECRET = re.compile(r"[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?")
"""What arrives in a header as it was sent (RFC 9110 5.5)."""


def delivering(ports: Ports) -> WebhookPorts:
    """What webhooks need; raises PushNotificationNotSupportedError where none are delivered."""
    if ports.webhooks is None:
        raise PushNotificationNotSupportedError
    return ports.webhooks


def create_config(
    ports: Ports, caller: Caller, request: TaskPushNotificationConfig
) -> TaskPushNotificationConfig:
    """Register a webhook, under a new id unless one is given; one of that id is replaced and goes on.

    Raises:
        InvalidParamsError: the URL is none we call, a secret cannot be sent, or the task has enough webhooks.
        TaskNotFoundError: no such task of this caller.
    """
    webhooks = delivering(ports)
    check_config(ports, request, online=False)
    if request.task_id is None:
        raise InvalidParamsError.of("taskId", "is required")
    key = caller.task(request.task_id)
    task = ports.tasks.load(key)
    if not task.exists:
        raise TaskNotFoundError
    guard(webhooks, ports.policy.webhooks, request.url)
    name = WebhookKey(key, request.id or ports.identifiers.new())
    registered = registration(ports, caller, request, name, task.context_id)
    standing = register(ports, name, registered, task, cursor=task.position)
    if standing is None:
        raise too_many(ports)
    return shown(standing)


def get_config(
    ports: Ports, caller: Caller, request: GetTaskPushNotificationConfigRequest
) -> TaskPushNotificationConfig:
    """One webhook, without its secrets; raises TaskNotFoundError for an unknown task or id (3.1.8)."""
    found = delivering(ports).store.read(WebhookKey(caller.task(request.task_id), request.id))
    if found is None:
        raise TaskNotFoundError
    return shown(found)


def list_configs(
    ports: Ports, caller: Caller, request: ListTaskPushNotificationConfigsRequest
) -> ListTaskPushNotificationConfigsResponse:
    """A page of the task's webhooks by ascending id, without their secrets.

    Raises:
        TaskNotFoundError: no such task of this caller.
        InvalidParamsError: `pageToken` is not one this operation gave.
    """
    after = read_page_token(request.page_token)
    size = request.page_size or DEFAULT_PAGE_SIZE
    found = delivering(ports).store.read_all(caller.task(request.task_id))
    if not found:
        _check_exists(ports, caller.task(request.task_id))
    rest = [each for each in found if each.key.config_id > after]
    more = len(rest) > size
    return ListTaskPushNotificationConfigsResponse(
        configs=tuple(map(shown, rest[:size])),
        next_page_token=page_token(rest[size - 1].key.config_id) if more else None,
    )


def delete_config(ports: Ports, caller: Caller, request: DeleteTaskPushNotificationConfigRequest) -> None:
    """Forget a webhook; one that is not there is as good as deleted (3.1.10).

    Raises:
        TaskNotFoundError: no such task of this caller.
    """
    store = delivering(ports).store
    key = caller.task(request.task_id)
    _check_exists(ports, key)
    store.delete(WebhookKey(key, request.id))


def _check_exists(ports: Ports, key: TaskKey) -> None:
    if not ports.tasks.load(key).exists:
        raise TaskNotFoundError


def check_config(ports: Ports, config: TaskPushNotificationConfig, *, online: bool = True) -> None:
    """Refuse a config that could never be called; `online` looks its host up as well.

    Raises:
        PushNotificationNotSupportedError: this deployment delivers none.
        InvalidParamsError: naming `url`, `token`, `authentication.scheme` or `authentication.credentials`.
    """
    webhooks = delivering(ports)
    if unsendable := list(_unsendable(config)):
        raise InvalidParamsError(violations=unsendable)
    if online:
        guard(webhooks, ports.policy.webhooks, config.url)
    else:
        check_url(ports.policy.webhooks, config.url)


def _unsendable(config: TaskPushNotificationConfig) -> Iterator[FieldViolation]:
    """What of the config could not become a header, or not be sealed."""
    how = config.authentication
    secrets = {"token": config.token, "authentication.credentials": how.credentials if how else None}
    for field, secret in secrets.items():
        if secret and not SECRET.fullmatch(secret):
            yield FieldViolation(field, "must be printable ASCII that neither begins nor ends in a space")
    if how is not None and not SCHEME.fullmatch(how.scheme):
        yield FieldViolation("authentication.scheme", "must be a token of 1 to 64 characters")
    if len(_secrets(config) or b"") > MAX_SECRETS:
        yield FieldViolation("token", f"and credentials must not exceed {MAX_SECRETS} bytes together")


def inline_id(config: TaskPushNotificationConfig) -> str:
    """The id of a config that comes with a message: its own, or one that its URL always gets.

    A client that repeats its config with every message of a conversation registers it once.
    """
    return config.id or hashlib.sha256(config.url.encode()).hexdigest()[:32]


def registration(
    ports: Ports, caller: Caller, config: TaskPushNotificationConfig, key: WebhookKey, context_id: str
) -> Registration:
    """What is kept of a checked config: its secrets sealed for this webhook alone."""
    secrets = _secrets(config)
    return Registration(
        config_id=key.config_id,
        context_id=context_id,
        url=config.url,
        base_url=caller.base_url,
        scheme=config.authentication.scheme if config.authentication else None,
        secrets=delivering(ports).seals.seal(secrets, key.context) if secrets else None,
    )


def _secrets(config: TaskPushNotificationConfig) -> bytes | None:
    credentials = config.authentication.credentials if config.authentication else None
    secrets = {"token": config.token, "credentials": credentials}
    given = {name: secret for name, secret in secrets.items() if secret}
    return json.dumps(given).encode() if given else None


def register(
    ports: Ports, key: WebhookKey, registered: Registration, task: LoggedTask, *, cursor: int
) -> Webhook | None:
    """Register the webhook of an existing task; None when the task has as many as it may have.

    Whoever does this again changes nothing that was delivered since.

    Raises:
        TaskNotFoundError: the task has expired this very moment.
    """
    webhooks = delivering(ports)
    if not _reserve(ports, webhooks, key, task):
        return None
    standing = webhooks.store.put(key, registered, cursor=cursor, expires=task.expires)
    if ports.tasks.events_after(key.task, standing.cursor, 1, current=True):
        webhooks.pokes.send([Poke(key)])
    return standing


def _reserve(ports: Ports, webhooks: WebhookPorts, key: WebhookKey, task: LoggedTask) -> bool:
    most, due_at = ports.policy.webhooks.most, ports.clock.now() + ports.policy.due_after
    try:
        return webhooks.store.reserve(key, most=most, due_at=due_at)
    except NoHeadError:
        ports.tasks.write_head(key.task, head_of(ports.policy, task))
    try:
        return webhooks.store.reserve(key, most=most, due_at=due_at)
    except NoHeadError as error:
        raise TaskNotFoundError from error


def too_many(ports: Ports) -> InvalidParamsError:
    """The answer to one webhook more than a task may have."""
    return InvalidParamsError.of("taskId", f"has {ports.policy.webhooks.most} webhooks already; delete one")


def shown(webhook: Webhook) -> TaskPushNotificationConfig:
    """A webhook as its owner sees it: neither token nor credentials ever come back."""
    registered, task = webhook.registered, webhook.key.task
    return TaskPushNotificationConfig(
        tenant=task.tenant or None,
        id=webhook.key.config_id,
        task_id=task.task_id,
        url=registered.url,
        authentication=AuthenticationInfo(scheme=registered.scheme) if registered.scheme else None,
    )


def page_token(config_id: str) -> str:
    """The cursor after the webhook with this id."""
    return base64.urlsafe_b64encode(config_id.encode()).rstrip(b"=").decode("ascii")


def read_page_token(token: str | None) -> str:
    """Read a cursor back; raises InvalidParamsError for one that `page_token` did not make."""
    if not token:
        return ""
    try:
        plain = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True).decode(
            "ascii"
        )
    except (binascii.Error, ValueError) as error:
        raise InvalidParamsError.of("pageToken", "is not a token of an earlier page") from error
    if not ID.fullmatch(plain) or page_token(plain) != token:
        raise InvalidParamsError.of("pageToken", "is not a token of an earlier page")
    return plain
