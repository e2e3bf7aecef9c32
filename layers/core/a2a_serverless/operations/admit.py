"""Admitting a message: the one way a turn ever begins.

Written down first, then carried out: the admission record says which task and position the message goes to,
and every step after it may be repeated by anybody (a client's retry, a second copy of the request, the
sweeper) until the record is closed. A refusal first occupies the position with a void event, so a message
that was refused can never arrive later. The order of reads and writes is the protocol of storage: the
context's row before the task's log, afresh on every try; the holder before the message; the record closed
last.
"""

import hashlib
import json
from dataclasses import dataclass

from a2a_serverless.operations.contents import stow
from a2a_serverless.operations.contexts import (
    another_workspace,
    check_workspace,
    is_elsewhere,
    succeeded,
    workspace_of,
)
from a2a_serverless.operations.files import Keeping, resolved
from a2a_serverless.operations.heads import head_of
from a2a_serverless.operations.permissions import unfit
from a2a_serverless.operations.webhooks import inline_id, register, registration, too_many
from a2a_serverless.ports import (
    Admission,
    AdmissionKey,
    AdmissionStatus,
    Caller,
    ContextRow,
    Holder,
    Ports,
    PositionTakenError,
    TurnKey,
)
from a2a_serverless.ports.webhooks import Registration, WebhookKey
from a2a_serverless.protocol.errors import (
    A2AError,
    InvalidParamsError,
    TaskNotFoundError,
    UnsupportedOperationError,
)
from a2a_serverless.protocol.objects import Message
from a2a_serverless.protocol.requests import SendMessageConfiguration, SendMessageRequest
from a2a_serverless.tasks.content import logged_message
from a2a_serverless.tasks.fold import LoggedTask, fold
from a2a_serverless.tasks.log import LoggedEvent, MessageReceived, TaskKey, Voided

NEARLY_EXPIRED = 3600
"""Seconds before a task's expiry within which it takes no further message."""

ALREADY_WORKING = "Task is already working."


@dataclass(frozen=True, slots=True)
class Admitted:
    """Where a message went: its turn, and the task as known then (None for an earlier admission)."""

    turn: TurnKey
    task: LoggedTask | None


@dataclass(frozen=True, slots=True)
class _Opened:
    """The record that stands for a message, and whether it began a new task just now."""

    record: Admission
    fresh: bool


def admit(ports: Ports, caller: Caller, request: SendMessageRequest) -> Admitted:
    """Admit the message once, whatever happened to earlier attempts.

    Raises:
        TaskNotFoundError: `taskId` names no task of this caller.
        InvalidParamsError: `contextId` is not the task's, or the message id was used for another message, or
        it means to decide about a permission that the task does not wait for, or not like that.
        UnsupportedOperationError: the task has ended, expires soon, or its context is working on another
        turn.
        InvalidParamsError: the context belongs to another workspace, or a file that is named is not there.
    """
    message = request.message
    target = message.task_id or sole_waiting(ports, caller, message.context_id)
    task = ports.tasks.load(caller.task(target)) if target else None
    if task is not None:
        _check_target(task, message)
    opened = _standing(ports, caller, request, task)
    record = opened.record
    if record.body_hash != body_hash(message):
        raise InvalidParamsError.of("message.messageId", "was used for another message")
    if record.status is AdmissionStatus.DONE:
        return Admitted(TurnKey(record.task, record.position), None)
    return finish(ports, record, unheard_of=opened.fresh and message.context_id is None)


def body_hash(message: Message) -> str:
    """What makes two messages of one id the same message: SHA-256 over their JSON, members sorted."""
    canonical = json.dumps(message.to_dict(), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def _check_target(task: LoggedTask, message: Message) -> None:
    if not task.exists:
        raise TaskNotFoundError
    if message.context_id is not None and message.context_id != task.context_id:
        raise InvalidParamsError.of("message.contextId", "is not the context of the task named by taskId")


def _standing(ports: Ports, caller: Caller, request: SendMessageRequest, task: LoggedTask | None) -> _Opened:
    """The record of a message: one opened now, or an earlier one if the message would be refused today."""
    if task is None:
        refused: A2AError | None = unfit(None, request.message)
    else:
        refused = _closed(ports, task) or unfit(task, request.message) or _full(ports, caller, request, task)
    if refused is None:
        try:
            return _open(ports, caller, request, task)
        except InvalidParamsError as error:
            refused = error  # of a file that may have gone since, or of a workspace
    standing = ports.admissions.read(_admission_key(ports, caller, request.message))
    if standing is None:
        raise refused
    return _Opened(standing, fresh=False)


def _closed(ports: Ports, task: LoggedTask) -> A2AError | None:
    """Why the task takes no message that was not admitted before; None when it takes one."""
    if not task.waiting:
        return refusal(task)
    if task.expires - ports.clock.now().timestamp() < NEARLY_EXPIRED:
        return UnsupportedOperationError("The task expires within the hour and takes no further message.")
    return None


def _full(ports: Ports, caller: Caller, request: SendMessageRequest, task: LoggedTask) -> A2AError | None:
    """Why the task has no room for the webhook that comes with the message, while nothing is written yet."""
    asked = request.configuration.task_push_notification_config if request.configuration else None
    if asked is None or ports.webhooks is None:
        return None
    others = ports.webhooks.store.ids(caller.task(task.task_id)) - {inline_id(asked)}
    return too_many(ports) if len(others) >= ports.policy.webhooks.most else None


def refusal(task: LoggedTask) -> A2AError:
    """Why a task that does not wait takes no message (specification 3.1.1)."""
    if task.terminal:
        state = task.current.state.value
        return UnsupportedOperationError(f"The task has ended ({state}) and takes no further message.")
    return UnsupportedOperationError(ALREADY_WORKING)


def _admission_key(ports: Ports, caller: Caller, message: Message) -> AdmissionKey:
    """Under the message's id, or a random one where one message id says nothing about another message."""
    unique = ports.policy.deduplicate and not caller.anonymous
    record_id = f"={message.message_id}" if unique else f"~{ports.identifiers.new()}"
    return AdmissionKey(caller.tenant, caller.owner, record_id)


def _open(ports: Ports, caller: Caller, request: SendMessageRequest, task: LoggedTask | None) -> _Opened:
    now = ports.clock.now()
    message = request.message
    key = _admission_key(ports, caller, message)
    task_id = task.task_id if task else ports.identifiers.new()
    position = task.position + 1 if task else 1
    writer = ports.identifiers.new()
    place = f"content/{caller.tenant}/{caller.owner}/{task_id}/{position}"
    context_id = task.context_id if task else message.context_id or ports.identifiers.new()
    expires = task.expires if task else int((now + ports.policy.retention).timestamp())
    if task or message.context_id:
        check_workspace(ports, caller.context(context_id), message)
    keeping = Keeping(caller.context(context_id), place, writer, expires, now)
    parts = resolved(ports, keeping, message.parts)
    kept = logged_message(message, stow(ports, parts, place, writer))
    configuration = request.configuration or SendMessageConfiguration()
    record = Admission(
        tenant=key.tenant,
        owner=key.owner,
        record_id=key.record_id,
        body_hash=body_hash(message),
        message=kept.model_copy(update={"task_id": task_id, "context_id": context_id}),
        context_id=context_id,
        task_id=task_id,
        position=position,
        received_at=now,
        expires=expires,
        due_at=now + ports.policy.due_after,
        claims=dict(caller.claims),
        accepted_output_modes=configuration.accepted_output_modes,
        webhook=_webhook(ports, caller, configuration, TaskKey(key.tenant, key.owner, task_id), context_id),
    )
    standing = ports.admissions.open(record)
    return _Opened(standing, fresh=task is None and standing.task_id == task_id)


def _webhook(
    ports: Ports, caller: Caller, configuration: SendMessageConfiguration, task: TaskKey, context_id: str
) -> Registration | None:
    """The webhook that comes with the message, its secrets sealed for this task."""
    asked = configuration.task_push_notification_config
    if asked is None:
        return None
    return registration(ports, caller, asked, WebhookKey(task, inline_id(asked)), context_id)


def sole_waiting(ports: Ports, caller: Caller, context_id: str | None) -> str | None:
    """The one waiting task of the context, each candidate verified by its log, if it is the only one."""
    if context_id is None:
        return None
    row = ports.contexts.read(caller.context(context_id))
    candidates = row.waiting | ({row.holder.task_id} if row.holder else frozenset())
    waiting = [name for name in sorted(candidates) if ports.tasks.load(caller.task(name)).waiting]
    return waiting[0] if len(waiting) == 1 else None


def finish(ports: Ports, record: Admission, *, unheard_of: bool = False) -> Admitted:
    """Carry out an opened admission; idempotent, and run by clients, their retries and the sweeper alike.

    `unheard_of` says that this process made up both task and context and opened the record just now: both
    were empty when it did, so that the first try need not read them.

    Raises:
        UnsupportedOperationError: the context is working on another turn, or the task moved on.
    """
    writer = ports.identifiers.new()
    placed = None
    if unheard_of:
        placed = _place(ports, record, writer, ContextRow(), LoggedTask(task_id=record.task_id))
    while placed is None:
        row = ports.contexts.read(record.context)
        task = ports.tasks.load(record.task, about=record.position)
        placed = _place(ports, record, writer, row, task)
    ports.tasks.write_head(record.task, head_of(ports.policy, placed))
    if record.webhook is not None and ports.webhooks is not None:
        name = WebhookKey(record.task, record.webhook.config_id)
        if register(ports, name, record.webhook, placed, cursor=record.position) is None:
            ports.metrics.count("WebhookRefused")  # others took the last places since the task was checked
    ports.executions.start(TurnKey(record.task, record.position))
    ports.admissions.close(record)
    ports.metrics.count("MessageAdmitted")
    return Admitted(TurnKey(record.task, record.position), placed)


def _place(
    ports: Ports, record: Admission, writer: str, row: ContextRow, task: LoggedTask
) -> LoggedTask | None:
    """Put the message at its position and return the task then; None when the row changed under our eyes."""
    if task.has(record.message.message_id, record.position) and record.message in task.history:
        return task
    if task.position >= record.position:
        raise _refuse(ports, record, refusal(task))
    mine = Holder(record.task_id, record.position, record.expires)
    if row.holder != mine and is_elsewhere(row, workspace_of(record.message)):
        return _keep_out(ports, record, writer, task)
    if row.holder is not None and row.holder != mine:
        held = task if row.holder.task_id == record.task_id else ports.tasks.load(_held(record, row.holder))
        if not _is_over(ports, held, row.holder):
            return _void(ports, record, writer, task)
        row = _take(ports, record, row, mine, held)
    elif row.holder is None:
        row = _take(ports, record, row, mine, None)
    if row.holder != mine:
        return None
    received = MessageReceived(
        message=record.message,
        context_id=record.context_id,
        received_at=record.received_at,
        claims=record.claims,
        accepted_output_modes=record.accepted_output_modes,
        state=row.state,
    )
    return _write(ports, record, task, LoggedEvent(record.position, writer, record.expires, received))


def _void(ports: Ports, record: Admission, writer: str, task: LoggedTask) -> LoggedTask:
    """Give the message's position up, unless the message stands there already."""
    return _write(ports, record, task, LoggedEvent(record.position, writer, record.expires, Voided()))


def _keep_out(ports: Ports, record: Admission, writer: str, task: LoggedTask) -> LoggedTask:
    """Give up the position of a message whose context was bound to another workspace after it was checked."""
    try:
        return _void(ports, record, writer, task)
    except UnsupportedOperationError:
        raise another_workspace() from None


def _held(record: Admission, holder: Holder) -> TaskKey:
    return TaskKey(record.tenant, record.owner, holder.task_id)


def _is_over(ports: Ports, held: LoggedTask, holder: Holder) -> bool:
    """Whether the holder's turn has ended, can never begin, or has expired together with its task."""
    return held.over(holder.turn) or holder.expires <= ports.clock.now().timestamp()


def _take(
    ports: Ports, record: Admission, row: ContextRow, mine: Holder, held: LoggedTask | None
) -> ContextRow:
    """Take the context, finishing what the last holder may have died before writing."""
    taken = succeeded(row, mine, held, workspace_of(record.message))
    return ports.contexts.take(record.context, seen=row, taken=taken, expires=record.expires)


def _write(ports: Ports, record: Admission, task: LoggedTask, event: LoggedEvent) -> LoggedTask:
    """Write the message, or a void that keeps it out for ever; whichever stands there then decides.

    Raises:
        UnsupportedOperationError: the message does not stand at its position and never will.
    """
    try:
        ports.tasks.append(record.task, event)
        standing = event
    except PositionTakenError as taken:
        ports.metrics.count("PositionConflict")
        standing = taken.standing
    if isinstance(standing.entry, MessageReceived) and standing.entry.message == record.message:
        return fold(task, [standing])
    raise _refuse(ports, record, refusal(fold(task, [standing])))


def _refuse(ports: Ports, record: Admission, error: A2AError) -> A2AError:
    """Take the record back, so that the same message may be sent again later."""
    ports.admissions.withdraw(record)
    ports.metrics.count("MessageRefused")
    return error
