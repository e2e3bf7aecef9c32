"""A context from turn to turn: what a new holder takes over, and which workspace the context belongs to.

A client may say which workspace a conversation is about, in the message's metadata under the URI of the files
extension. The first one said binds the context; a message that says another one is for another context.
"""

from a2a_serverless.ports import ContextKey, ContextRow, Holder, Ports
from a2a_serverless.protocol.errors import FieldViolation, InvalidParamsError
from a2a_serverless.protocol.extensions import Extension
from a2a_serverless.protocol.limits import ID
from a2a_serverless.protocol.objects import Message
from a2a_serverless.tasks.fold import LoggedTask

MOST_EARLIER = 10
"""Tasks of a context that are remembered beside the one that holds it."""

FIELD = f"message.metadata[{Extension.FILES.uri}].workspace"

ANOTHER_WORKSPACE = "A2A context belongs to a different workspace."


def workspace_of(message: Message) -> str | None:
    """The workspace that a message says it is about.

    Raises:
        InvalidParamsError: what it says is no id.
    """
    said = message.metadata.get(Extension.FILES.uri)
    workspace = said.get("workspace") if isinstance(said, dict) else None
    if workspace is None:
        return None
    if not isinstance(workspace, str) or not ID.fullmatch(workspace):
        raise InvalidParamsError.of(FIELD, "must be 1 to 128 characters of A-Z a-z 0-9 _ . : -")
    return workspace


def check_workspace(ports: Ports, context: ContextKey, message: Message) -> None:
    """Raises InvalidParamsError when the context belongs to another workspace than the message says."""
    wanted = workspace_of(message)
    if wanted is not None and is_elsewhere(ports.contexts.read(context), wanted):
        raise another_workspace()


def is_elsewhere(row: ContextRow, wanted: str | None) -> bool:
    """Whether the context belongs to another workspace than is wanted."""
    return None not in (wanted, row.workspace) and row.workspace != wanted


def another_workspace() -> InvalidParamsError:
    """The refusal of a message for another workspace."""
    violation = FieldViolation(FIELD, "is not the workspace of this context")
    return InvalidParamsError(ANOTHER_WORKSPACE, violations=[violation])


def last_state(row: ContextRow, held: LoggedTask) -> str | None:
    """The key of what a context's agent saved last: its turn may have died before the row said so."""
    settled = row.holder is not None and held.settled_turn == row.holder.turn
    return (held.settled_state if settled else None) or row.state


def succeeded(row: ContextRow, holder: Holder, held: LoggedTask | None, wanted: str | None) -> ContextRow:
    """The row as the next holder takes it.

    `held` is the last holder's task: that turn may have died before it wrote how it ended.
    """
    state, waiting, earlier = row.state, row.waiting, row.earlier
    if held is not None:
        state = last_state(row, held)
        waiting = waiting | {held.task_id} if held.waiting else waiting - {held.task_id}
    before = row.holder.task_id if row.holder else holder.task_id
    if before != holder.task_id:
        earlier = (*(name for name in earlier if name != before), before)[-MOST_EARLIER:]
    return ContextRow(
        holder=holder,
        state=state,
        waiting=waiting - {holder.task_id},
        workspace=row.workspace or wanted,
        earlier=tuple(name for name in earlier if name != holder.task_id),
    )
