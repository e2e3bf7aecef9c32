"""GetTask and ListTasks (specification 3.1.3, 3.1.4): what a caller may see of its own tasks."""

import base64
import binascii
from collections.abc import Iterator
from datetime import UTC, datetime

from a2a_serverless.operations.contents import Shown
from a2a_serverless.ports import Caller, Ports, TaskPage, TaskQuery
from a2a_serverless.protocol.errors import InvalidParamsError, TaskNotFoundError
from a2a_serverless.protocol.limits import ID
from a2a_serverless.protocol.objects import Task
from a2a_serverless.protocol.requests import GetTaskRequest, ListTasksRequest, ListTasksResponse
from a2a_serverless.tasks.fold import LoggedTask
from a2a_serverless.tasks.lifecycle import TRANSITIONS
from a2a_serverless.tasks.view import without_artifacts

DEFAULT_PAGE_SIZE = 50


def get_task(ports: Ports, caller: Caller, request: GetTaskRequest) -> Task:
    """The task as its log tells it now.

    Raises:
        TaskNotFoundError: no such task of this caller.
    """
    task = ports.tasks.load(caller.task(request.id))
    if not task.exists:
        raise TaskNotFoundError
    return Shown(ports, caller).task(task, request.history_length)


def list_tasks(ports: Ports, caller: Caller, request: ListTasksRequest) -> ListTasksResponse:
    """A page of the caller's tasks, the most recent status first.

    Without `historyLength` a listing shows no history: that is this server's default (specification 3.2.4).

    Raises:
        InvalidParamsError: `pageToken` is not one this operation gave.
    """
    size = request.page_size or DEFAULT_PAGE_SIZE
    page = ports.tasks.find(
        TaskQuery(
            tenant=caller.tenant,
            owner=caller.owner,
            states=frozenset({request.status}) if request.status else frozenset(TRANSITIONS),
            context_id=request.context_id,
            not_before=request.status_timestamp_after,
            after=read_page_token(request.page_token),
            limit=size + 1,
        )
    )
    shown = Shown(ports, caller)
    more = len(page.found) > size
    return ListTasksResponse(
        tasks=tuple(
            shown.task(task, request.history_length or 0)
            for task in _listed(ports, caller, request, page, size)
        ),
        next_page_token=page_token(*page.found[size - 1]) if more else "",
        page_size=size,
        total_size=page.total,
    )


def _listed(
    ports: Ports, caller: Caller, request: ListTasksRequest, page: TaskPage, size: int
) -> Iterator[LoggedTask]:
    """The page's tasks cut to what was asked for; one whose index entry outlived it is left out."""
    tasks = ports.tasks.load_many([caller.task(task_id) for _, task_id in page.found[:size]])
    for task in tasks:
        if not task.exists or (request.status is not None and task.current.state is not request.status):
            continue
        yield task if request.include_artifacts else without_artifacts(task)


def page_token(status_at: datetime, task_id: str) -> str:
    """The cursor after the task with this status time, valid however the list changes."""
    plain = f"{round(status_at.timestamp() * 1000)}#{task_id}"
    return base64.urlsafe_b64encode(plain.encode()).rstrip(b"=").decode("ascii")


def read_page_token(token: str | None) -> tuple[datetime, str] | None:
    """Read a cursor back.

    Raises:
        InvalidParamsError: this is not one that `page_token` made.
    """
    if not token:
        return None
    try:
        plain = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True).decode(
            "ascii"
        )
        millis, _, task_id = plain.partition("#")
        moment = datetime.fromtimestamp(int(millis) / 1000, UTC)
    except (binascii.Error, ValueError, OverflowError, OSError) as error:
        raise InvalidParamsError.of("pageToken", "is not a token of an earlier page") from error
    if not ID.fullmatch(task_id) or page_token(moment, task_id) != token:
        raise InvalidParamsError.of("pageToken", "is not a token of an earlier page")
    return moment, task_id
