"""API Gateway's REST proxy integration seen from a server: request to event, handler's result to answer.

For running handlers where no gateway stands in front of them. Pure: no socket, no thread, no clock. AWS:
"Lambda proxy integrations in API Gateway", payload version 1.0.
"""

import base64
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import parse_qsl

from a2a_runtime.streaming import StreamedAnswer

Fields = Sequence[tuple[str, str]]

SAFE_IN_PATHS: Final = "/:@!$&'()*+,;=~"
"""What a path holds as it is (RFC 3986, 3.3), besides letters and digits."""


@dataclass(frozen=True)
class HttpRequest:
    """One request as a server read it."""

    method: str
    path: str
    """As sent, and as API Gateway hands it on: not decoded."""
    query: str
    """As sent, without the question mark."""
    headers: Fields
    body: bytes
    context: Mapping[str, Any] = field(default_factory=dict)
    """The event's `requestContext`, as far as somebody trustworthy has told it."""
    resource: str = ""
    """The API's resource, as `/{proxy+}`; empty when no API names one."""


@dataclass(frozen=True)
class HttpAnswer:
    """What to send, the body piece by piece."""

    status: int
    headers: Fields
    chunks: Iterable[bytes]


def event_of(request: HttpRequest) -> dict[str, Any]:
    """Return the event API Gateway would make of a request; the body is in base64."""
    parameters = parse_qsl(request.query, keep_blank_values=True)
    greedy = {"proxy": request.path.strip("/")} if request.resource == "/{proxy+}" else None
    return {
        "resource": request.resource,
        "path": request.path,
        "httpMethod": request.method,
        "headers": dict(request.headers),
        "multiValueHeaders": grouped(request.headers),
        "queryStringParameters": dict(parameters) or None,
        "multiValueQueryStringParameters": grouped(parameters) or None,
        "pathParameters": greedy,
        "stageVariables": None,
        "requestContext": dict(request.context),
        "body": base64.b64encode(request.body).decode() if request.body else None,
        "isBase64Encoded": bool(request.body),
    }


def answer_of(result: object) -> HttpAnswer:
    """Read what a handler returned, streamed or whole.

    Raises:
        ValueError: It is no answer to an HTTP request.
    """
    if isinstance(result, StreamedAnswer):
        status, headers = head_of(result.prelude)
        return HttpAnswer(status, headers, result.chunks)
    if not isinstance(result, Mapping):
        raise ValueError(f"a handler answered with {type(result).__name__}")  # noqa: TRY004 - a wrong answer, not a wrong call
    body = result.get("body") or ""
    content = base64.b64decode(body) if result.get("isBase64Encoded") else str(body).encode()
    status, headers = head_of(result)
    return HttpAnswer(status, headers, (content,) if content else ())


def head_of(answer: Mapping[str, Any]) -> tuple[int, Fields]:
    """Return status and headers of a prelude or a whole answer; a name with several values has those only."""
    if "statusCode" not in answer:
        raise ValueError("a handler answered without a statusCode")
    several: Mapping[str, Sequence[object]] = answer.get("multiValueHeaders") or {}
    repeated = {name.lower() for name in several}
    single: Mapping[str, object] = answer.get("headers") or {}
    headers = [(name, str(value)) for name, value in single.items() if name.lower() not in repeated]
    headers += [(name, str(value)) for name, values in several.items() for value in values]
    headers += [("Set-Cookie", str(cookie)) for cookie in answer.get("cookies") or ()]
    return int(answer["statusCode"]), headers


def grouped(fields: Fields) -> dict[str, list[str]]:
    """Collect the values of each name, in order."""
    values: dict[str, list[str]] = {}
    for name, value in fields:
        values.setdefault(name, []).append(value)
    return values
