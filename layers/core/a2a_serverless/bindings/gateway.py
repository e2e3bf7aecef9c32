"""API Gateway's REST proxy event (payload format 1.0) to a request, and a response to what it expects back.

The only module that knows these shapes:
https://docs.aws.amazon.com/apigateway/latest/developerguide/set-up-lambda-proxy-integrations.html
"""

import base64
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from a2a_serverless.bindings.http import (
    A2A_JSON,
    JSON,
    NEVER,
    Afterwards,
    HttpRequest,
    HttpResponse,
    StreamedResponse,
    nothing,
    on_every_answer,
)

Event = Mapping[str, Any]


Binding = Callable[[HttpRequest], HttpResponse | StreamedResponse]


@dataclass(frozen=True, slots=True)
class StreamedAnswer:
    """An answer for Lambda to send piece by piece: all but its body, and the body's pieces.

    https://docs.aws.amazon.com/apigateway/latest/developerguide/response-transfer-mode-lambda.html
    """

    prelude: Mapping[str, Any]
    chunks: Iterable[bytes]


class Pieces:
    """The pieces of a body, for whoever sends them: closing them says that the answer has left.

    So what comes afterwards is done when nobody waits any more, and is done too when nobody reads on.
    """

    def __init__(self, chunks: Iterator[bytes], afterwards: Afterwards) -> None:
        self._chunks = chunks
        self._afterwards = afterwards

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        return next(self._chunks)

    def close(self) -> None:
        """Make no further piece, and do what comes afterwards, once."""
        afterwards, self._afterwards = self._afterwards, nothing
        try:
            if isinstance(self._chunks, Generator):
                self._chunks.close()
        finally:
            afterwards()


def answer(event: Event, binding: Binding, deadline: datetime = NEVER) -> dict[str, Any]:
    """Let a binding answer an event, in one piece."""
    request = request_of(event, deadline)
    response = binding(request)
    try:
        body = response.body if isinstance(response, HttpResponse) else b"".join(response.chunks)
        return event_of(HttpResponse(response.status, response.headers, body), on_every_answer(request))
    finally:
        response.afterwards()


def stream(event: Event, binding: Binding, deadline: datetime = NEVER) -> StreamedAnswer:
    """Let a binding answer an event, piece by piece: such an integration takes every answer that way."""
    request = request_of(event, deadline)
    response = binding(request)
    headers = {**on_every_answer(request), **response.headers}
    prelude = {"statusCode": int(response.status), "headers": headers}
    if isinstance(response, StreamedResponse):
        return StreamedAnswer(prelude, Pieces(response.chunks, response.afterwards))
    return StreamedAnswer(
        prelude, Pieces(iter([response.body] if response.body else []), response.afterwards)
    )


def deadline_of(context: object, now: datetime) -> datetime:
    """When an invocation will have to have ended, going by its context; never, where that does not say."""
    remaining: Callable[[], int] | None = getattr(context, "get_remaining_time_in_millis", None)
    return now + timedelta(milliseconds=remaining()) if remaining else NEVER


def request_of(event: Event, deadline: datetime = NEVER) -> HttpRequest:
    """The request an event delivers."""
    context = event.get("requestContext") or {}
    path = path_of(event)
    return HttpRequest(
        method=str(event["httpMethod"]).upper(),
        path=path,
        headers=_headers(event),
        query=_values(event.get("multiValueQueryStringParameters"), event.get("queryStringParameters")),
        body=_body(event),
        origin=_origin(context, path),
        request_id=str(context.get("requestId") or ""),
        arrived=_arrived(context),
        deadline=deadline,
    )


def path_of(event: Event) -> str:
    """The path below this deployment's address.

    The resource says it best: `path` repeats the base path under which a custom domain mapped the API.
    """
    resource = str(event.get("resource") or "")
    greedy = (event.get("pathParameters") or {}).get("proxy")
    if greedy is not None and resource == "/{proxy+}":
        return f"/{greedy}"
    if resource and "{" not in resource:
        return resource
    return str(event.get("path") or "/")


def event_of(response: HttpResponse, always: Mapping[str, str]) -> dict[str, Any]:
    """What a function returns for API Gateway to send, with the headers that every answer has.

    Our own JSON is text. Any other body is somebody's content and travels in base64, whatever it claims;
    the API must name its type among its binary media types.
    """
    headers = {**always, **response.headers}
    ours = not response.body or response.headers.get("Content-Type") in (JSON, A2A_JSON)
    text = _text(response.body) if ours else None
    body = base64.b64encode(response.body).decode("ascii") if text is None else text
    return {
        "statusCode": int(response.status),
        "headers": headers,
        "multiValueHeaders": {},
        "body": body,
        "isBase64Encoded": text is None,
    }


def _text(body: bytes) -> str | None:
    """The body as text; None for what only says that it is some, or is a piece of it."""
    try:
        return body.decode()
    except UnicodeDecodeError:
        return None


def _arrived(context: Mapping[str, Any]) -> datetime | None:
    epoch = context.get("requestTimeEpoch")
    return datetime.fromtimestamp(epoch / 1000, UTC) if isinstance(epoch, int) else None


def _headers(event: Event) -> dict[str, tuple[str, ...]]:
    headers: dict[str, tuple[str, ...]] = {}
    for name, values in _values(event.get("multiValueHeaders"), event.get("headers")).items():
        lower = name.lower()
        headers[lower] = headers.get(lower, ()) + values
    return headers


def _values(many: object, single: object) -> dict[str, tuple[str, ...]]:
    """Values by name; the map with all of them when it is there, which an event for a test may not have."""
    if isinstance(many, Mapping):
        return {str(name): tuple(str(value) for value in values or ()) for name, values in many.items()}
    if isinstance(single, Mapping):
        return {str(name): (str(value),) for name, value in single.items()}
    return {}


def _body(event: Event) -> bytes:
    body = event.get("body")
    if not body:
        return b""
    if event.get("isBase64Encoded"):
        return base64.b64decode(body)
    return str(body).encode(errors="surrogatepass")


def _origin(context: Mapping[str, Any], path: str) -> str:
    """Scheme, domain and what stands before the path: the stage, or a base path on a domain of one's own."""
    domain = context.get("domainName")
    if not domain:
        return ""
    whole = str(context.get("path") or "")
    if path != "/":
        whole = whole.rstrip("/")  # a slash at the end, which a parameter is given without
    if whole.endswith(path):
        before = whole.removesuffix(path)
    else:
        before = whole if whole and path == "/" else f"/{context.get('stage') or ''}"
    return f"https://{domain}{before.rstrip('/')}"
