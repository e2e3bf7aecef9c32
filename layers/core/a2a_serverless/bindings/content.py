"""The artifacts route: the bytes of one part, to its task's owner, for download and never for display.

Content comes from agents and clients, so a browser is told to save it, to believe its media type, and to
give it no rights of this origin. An address may show other content tomorrow (an agent may replace an
artifact), so a copy is kept privately and asked about each time.
"""

import re
from collections.abc import Sequence
from http import HTTPStatus
from urllib.parse import quote

from a2a_serverless.bindings.accounts import Account
from a2a_serverless.bindings.caller import Principal
from a2a_serverless.bindings.caller.principal import ForeignTenantError
from a2a_serverless.bindings.conditional import is_current
from a2a_serverless.bindings.failures import AnswerTooLargeError, MethodNotAllowedError
from a2a_serverless.bindings.http import MAX_ANSWER, MAX_STREAMED, HttpResponse
from a2a_serverless.bindings.service import Endpoint
from a2a_serverless.operations.contents import BINARY, ServedContent, read_content
from a2a_serverless.protocol.errors import TaskNotFoundError
from a2a_serverless.protocol.requests import GetTaskRequest

MAX_CONTENT = MAX_ANSWER // 4 * 3
"""Bytes that can be answered at once: binary answers travel in base64, which makes four of three."""

READ_BY = "GetTask"
"""The operation whose scopes content asks for: it is a piece of a task."""

GET_CONTENT = "GetContent"
"""What reading content is called in accounts of calls; the specification has no name for it."""

MAX_NAME = 128
"""Characters of a file's name; what stands behind them is cut off. Lambda takes 16 KB of headers in all."""

MEDIA_TYPE = re.compile(
    r"(?=.{3,256}\Z)[!#$%&'*+.^_`|~0-9A-Za-z-]+/[!#$%&'*+.^_`|~0-9A-Za-z-]+( *;[\x20-\x7e]*)?"
)
UNSAFE_IN_QUOTES = re.compile(r'[^\x20-\x7e]|["\\/%]')
UNSAFE_ANYWHERE = re.compile(r"[\x00-\x1f\x7f/\\]")

Place = tuple[str | None, str, Sequence[str]]
"""Tenant, task id, and where in the task."""


def content_response(
    endpoint: Endpoint, account: Account, principal: Principal, place: Place
) -> HttpResponse:
    """The content at a place, or 304 when the client has it.

    Raises:
        MethodNotAllowedError: content can only be read.
        TaskNotFoundError: no such task of this caller, or nothing there.
        AnswerTooLargeError: the content cannot be sent in one answer.
    """
    request, account.operation = account.request, GET_CONTENT
    if request.method not in ("GET", "HEAD"):
        raise MethodNotAllowedError(("GET", "HEAD", "OPTIONS"))
    tenant, task_id, where = place
    asked = GetTaskRequest.from_dict({"tenant": tenant, "id": task_id})
    account.asks(asked)
    endpoint.permit(principal, READ_BY)
    try:
        caller = principal.caller(asked.tenant, endpoint.admittance.address(request))
    except ForeignTenantError:
        raise TaskNotFoundError from None
    account.is_for(caller)
    served = read_content(endpoint.ports, caller, asked.id, where)
    etag = f'"{served.sha256}"'
    validators = {"ETag": etag, "Cache-Control": "private, no-cache"}
    if is_current(request, etag):
        return HttpResponse(HTTPStatus.NOT_MODIFIED, validators)
    most = MAX_STREAMED if endpoint.streaming else MAX_CONTENT
    if request.method == "GET" and len(served.content) > most:
        raise AnswerTooLargeError(f"The content has {len(served.content)} bytes; {most} can be sent at once")
    return HttpResponse(HTTPStatus.OK, {**validators, **_description(served)}, served.content)


def _description(served: ServedContent) -> dict[str, str]:
    named = MEDIA_TYPE.fullmatch(served.media_type) is not None
    return {
        "Content-Type": served.media_type if named else BINARY,
        "Content-Disposition": disposition(served.filename),
        "Content-Security-Policy": "sandbox",
        "X-Content-Type-Options": "nosniff",
    }


def disposition(filename: str | None) -> str:
    """Save under this name: plain for every client, in full for those that read RFC 8187 (RFC 6266, 4.3)."""
    if not filename:
        return "attachment"
    name = UNSAFE_ANYWHERE.sub("_", filename[:MAX_NAME])
    plain = UNSAFE_IN_QUOTES.sub("_", name)
    full = f"; filename*=UTF-8''{quote(name, safe='')}" if plain != name else ""
    return f'attachment; filename="{plain}"{full}'
