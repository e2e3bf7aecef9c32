"""The artifacts route: the bytes of one part, to its task's owner, for download and never for display.

What is stored is read a few bytes at a time and never held as a whole. Above 10 MB, or as a deployment has
it, the answer is a link to where it lies, for a few minutes and for whoever has it. Content comes from agents
and clients, so a browser is told to save it, to believe its media type, and to give it no rights of this
origin. An address may show other content tomorrow (an agent may replace an artifact), so a copy is kept
privately and asked about each time.
"""

import base64
import re
from collections.abc import Generator, Sequence
from contextlib import closing
from datetime import datetime, timedelta
from http import HTTPStatus
from urllib.parse import quote

from a2a_serverless.bindings.accounts import Account
from a2a_serverless.bindings.caller import Principal
from a2a_serverless.bindings.caller.principal import ForeignTenantError
from a2a_serverless.bindings.conditional import is_another, is_current
from a2a_serverless.bindings.failures import (
    AnswerTooLargeError,
    MethodNotAllowedError,
    PreconditionFailedError,
    RangeNotSatisfiableError,
)
from a2a_serverless.bindings.http import MAX_ANSWER, HttpRequest, HttpResponse, StreamedResponse
from a2a_serverless.bindings.ranges import UnsatisfiableError, asked_range
from a2a_serverless.bindings.service import Endpoint
from a2a_serverless.operations.contents import BINARY
from a2a_serverless.operations.serving import Served, find_content
from a2a_serverless.ports.contents import ContentLinks
from a2a_serverless.protocol.errors import TaskNotFoundError
from a2a_serverless.protocol.requests import GetTaskRequest

MAX_CONTENT = MAX_ANSWER // 4 * 3
"""Bytes that can be answered at once: binary answers travel in base64, which makes four of three."""

MAX_STREAMED_CONTENT = 200_000_000
"""Bytes of content that leave piece by piece: what Lambda takes for one answer."""

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
) -> HttpResponse | StreamedResponse:
    """The content at a place or a range of it, a link to it, or 304 when the client has it.

    Raises:
        MethodNotAllowedError: content can only be read.
        TaskNotFoundError: no such task of this caller, or nothing there.
        PreconditionFailedError, RangeNotSatisfiableError: what is there is not what was asked for.
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
    served = find_content(endpoint.ports, caller, asked.id, where)
    if _lies_elsewhere(endpoint, served):
        return _elsewhere(endpoint, request, served, principal.expires)
    return _here(endpoint, request, served)


def _lies_elsewhere(endpoint: Endpoint, served: Served) -> bool:
    """Whether it is given by a link: as this deployment has it, and where it would not fit into an answer."""
    links = endpoint.ports.policy.links
    if served.key is None or links.given is ContentLinks.NEVER:
        return False
    return links.given is ContentLinks.ALWAYS or served.byte_size > min(links.large, _most(endpoint))


def _most(endpoint: Endpoint) -> int:
    return MAX_STREAMED_CONTENT if endpoint.streaming else MAX_CONTENT


def _elsewhere(
    endpoint: Endpoint, request: HttpRequest, served: Served, credential_ends: datetime | None
) -> HttpResponse:
    """A link to where it lies. Its entity tag is what the link's will be, so that both may be compared.

    No link outlives the task, or the credential it was asked for with. It is signed for a GET, and whoever
    is there answers ranges and conditions; a HEAD is answered here.
    """
    ports, key = endpoint.ports, served.key or ""
    if request.method == "HEAD":
        etag = ports.contents.describe(key).etag
        headers = {**_validators(etag), **_description(served), "Content-Length": str(served.byte_size)}
        return HttpResponse(HTTPStatus.OK, headers)
    now = ports.clock.now()
    ends = [now + ports.policy.links.lasts, served.expires, *([credential_ends] if credential_ends else [])]
    link = ports.contents.link(
        key,
        lasts=max(min(ends) - now, timedelta(seconds=1)),
        media_type=_media_type(served),
        disposition=disposition(served.filename),
    )
    return HttpResponse(HTTPStatus.FOUND, {"Location": link, "Cache-Control": "no-store"})


def _here(endpoint: Endpoint, request: HttpRequest, served: Served) -> HttpResponse | StreamedResponse:
    """The bytes themselves, or as many of them as were asked for."""
    etag, size = f'"{served.sha256}"', served.byte_size
    headers = _validators(etag)
    if is_another(request, etag):
        raise PreconditionFailedError
    if is_current(request, etag):
        return HttpResponse(HTTPStatus.NOT_MODIFIED, headers)
    headers |= _description(served)
    if request.method == "HEAD":
        return HttpResponse(HTTPStatus.OK, {**headers, "Content-Length": str(size)})
    try:
        wanted = asked_range(request, etag, size)
    except UnsatisfiableError:
        raise RangeNotSatisfiableError(size) from None
    first, last = _within(wanted or (0, size - 1), _most(endpoint), shortened=wanted is not None)
    pieces = served.pieces(endpoint.ports.contents, first, last)
    status = HTTPStatus.OK
    if wanted is not None:
        status = HTTPStatus.PARTIAL_CONTENT
        headers |= {"Content-Range": f"bytes {first}-{last}/{size}"}
    if endpoint.streaming and served.key is not None:
        return StreamedResponse(status, headers, _begun(pieces))
    return HttpResponse(status, headers, b"".join(pieces))


def _within(wanted: tuple[int, int], most: int, *, shortened: bool) -> tuple[int, int]:
    """As much of it as fits into one answer: of a range a part may be sent (15.3.7), of the whole nothing.

    Raises:
        AnswerTooLargeError: all of it is wanted, and does not fit.
    """
    first, last = wanted
    if last - first < most:
        return wanted
    if not shortened:
        size = last + 1
        raise AnswerTooLargeError(f"The content has {size} bytes; {most} can be sent at once. Ask for ranges")
    return first, first + most - 1


def _begun(pieces: Generator[bytes]) -> Generator[bytes]:
    """The same pieces, the first of which is there: what is gone is found out before a status is out."""
    first = next(pieces, b"")

    def all_of_them() -> Generator[bytes]:
        with closing(pieces):
            yield first
            yield from pieces

    return all_of_them()


def _validators(etag: str) -> dict[str, str]:
    return {"ETag": etag, "Cache-Control": "private, no-cache", "Accept-Ranges": "bytes"}


def _media_type(served: Served) -> str:
    return served.media_type if MEDIA_TYPE.fullmatch(served.media_type) else BINARY


def _description(served: Served) -> dict[str, str]:
    digest = base64.b64encode(bytes.fromhex(served.sha256)).decode("ascii")
    return {
        "Content-Type": _media_type(served),
        "Content-Disposition": disposition(served.filename),
        "Content-Security-Policy": "sandbox",
        "Repr-Digest": f"sha-256=:{digest}:",
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
