"""What API Gateway's REST API does to a request and to a function's answer, as pure functions.

Lambda proxy integration, payload version 1 (AWS: "Lambda proxy integrations in API Gateway",
https://docs.aws.amazon.com/apigateway/latest/developerguide/set-up-lambda-proxy-integrations.html). No
socket, no process, no clock.
"""

import base64
import binascii
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import parse_qsl

from infra.local.deployment import ACCOUNT, Deployment, GatewayResponse, Route
from infra.local.wire import Headers, Request, Response

MAX_BODY_BYTES: Final = 10 * 1024 * 1024
"""Largest request body API Gateway takes."""

MAX_HEAD_BYTES: Final = 10_240
"""What request line and values of headers may have together."""

MAX_PRELUDE_BYTES: Final = 16 * 1024
"""In which the prelude of a streamed answer must have ended."""

PRELUDE_END: Final = b"\0" * 8


@dataclass(frozen=True)
class Refusal:
    """An answer of the gateway itself: its type, its status and its words unless the template has others."""

    kind: str
    status: HTTPStatus
    message: str


NO_ROUTE: Final = Refusal(
    "MISSING_AUTHENTICATION_TOKEN", HTTPStatus.FORBIDDEN, "Missing Authentication Token"
)
TOO_MUCH_HEAD: Final = Refusal(
    "BAD_REQUEST_PARAMETERS", HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "Request Header Or Line Too Large"
)
TOO_LONG: Final = Refusal("REQUEST_TOO_LARGE", HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "Request Too Long")
INTERNAL: Final = Refusal("DEFAULT_5XX", HTTPStatus.BAD_GATEWAY, "Internal server error")
TIMED_OUT: Final = Refusal("INTEGRATION_TIMEOUT", HTTPStatus.GATEWAY_TIMEOUT, "Endpoint request timed out")

ERROR_TYPES: Final = {
    "INTEGRATION_TIMEOUT": "InternalServerErrorException",
    "MISSING_AUTHENTICATION_TOKEN": "MissingAuthenticationTokenException",
    "REQUEST_TOO_LARGE": "RequestTooLargeException",
}
"""What x-amzn-ErrorType calls a type of answer."""

FRAMING: Final = frozenset({"connection", "content-length", "keep-alive", "transfer-encoding", "upgrade"})
"""Headers that belong to a connection; the gateway makes its own."""


class MalformedAnswer(Exception):
    """The function's answer is not one API Gateway can send; the caller gets a 502."""


@dataclass(frozen=True)
class Match:
    """A route and the parts of the path it names."""

    route: Route
    path_parameters: Mapping[str, str]


def head_size(request: Request) -> int:
    """Return the bytes of a request that count towards the limit on its head."""
    return len(request.method) + len(request.target) + sum(len(value) for _, value in request.headers)


def find_route(routes: Sequence[Route], method: str, path: str) -> Match | None:
    """Find the route of a path as it was sent: literal segments win over `{name}`, both over `{name+}`.

    The resource is chosen by path alone; a resource without the method is no route. Nothing is decoded, and
    slashes at either end tell no two paths apart, as in API Gateway.
    """
    segments = path.strip("/").split("/")
    matches = [(route, match_path(route.path, segments)) for route in routes]
    found = [(route, parameters) for route, parameters in matches if parameters is not None]
    if not found:
        return None
    best = min(specificity(route.path) for route, _ in found)
    for wanted in (method, "ANY"):
        for route, parameters in found:
            if route.method == wanted and specificity(route.path) == best:
                return Match(route, parameters)
    return None


def match_path(template: str, segments: Sequence[str]) -> dict[str, str] | None:
    """Match path segments against a resource path; return its parameters, None when it is another."""
    parameters: dict[str, str] = {}
    parts = template.strip("/").split("/")
    for position, part in enumerate(parts):
        if part.endswith("+}") and segments[position:] and segments[position]:
            return {**parameters, part[1:-2]: "/".join(segments[position:])}
        if position >= len(segments):
            return None
        if part.startswith("{") and not part.endswith("+}") and segments[position]:
            parameters[part[1:-1]] = segments[position]
        elif part != segments[position]:
            return None
    return parameters if len(parts) == len(segments) else None


def specificity(template: str) -> tuple[int, ...]:
    """Order resources: smaller is more specific."""
    return tuple(2 if part.endswith("+}") else int(part.startswith("{")) for part in template.split("/"))


def event_of(
    request: Request, match: Match, deployment: Deployment, *, request_id: str, at: datetime
) -> bytes:
    """Return the proxy event (version 1) of a request, as JSON."""
    raw_path, _, query = request.target.partition("?")
    path = f"/{raw_path.lstrip('/')}"
    headers = (
        *request.headers,
        ("X-Forwarded-For", request.client),
        ("X-Forwarded-Port", request.header("host").partition(":")[2] or "80"),
        ("X-Forwarded-Proto", "http"),
    )
    parameters = parse_qsl(query, keep_blank_values=True)
    body, encoded = body_of(request, deployment.binary_media_types)
    event = {
        "resource": match.route.path,
        "path": path,
        "httpMethod": request.method,
        "headers": dict(headers),
        "multiValueHeaders": grouped(headers),
        "queryStringParameters": dict(parameters) or None,
        "multiValueQueryStringParameters": grouped(parameters) or None,
        "pathParameters": dict(match.path_parameters) or None,
        "stageVariables": None,
        "requestContext": {
            "accountId": ACCOUNT,
            "apiId": "local",
            "domainName": request.header("host"),
            "domainPrefix": "local",
            "extendedRequestId": request_id,
            "httpMethod": request.method,
            "identity": {"sourceIp": request.client, "userAgent": request.header("user-agent") or None},
            "path": f"/{deployment.stage}{path}",
            "protocol": "HTTP/1.1",
            "requestId": request_id,
            "requestTime": at.strftime("%d/%b/%Y:%H:%M:%S +0000"),
            "requestTimeEpoch": int(at.timestamp() * 1000),
            "resourceId": match.route.path,
            "resourcePath": match.route.path,
            "stage": deployment.stage,
        },
        "body": body,
        "isBase64Encoded": encoded,
    }
    return json.dumps(event, ensure_ascii=False).encode()


def grouped(pairs: Sequence[tuple[str, str]]) -> dict[str, list[str]]:
    """Collect the values of each name, in order."""
    values: dict[str, list[str]] = {}
    for name, value in pairs:
        values.setdefault(name, []).append(value)
    return values


def body_of(request: Request, binary_media_types: Sequence[str]) -> tuple[str | None, bool]:
    """Return the body as the event carries it, and whether that is base64.

    AWS reads a body whose type is not declared as binary as text and damages what is none. Here such a body
    arrives whole, in base64:
    a local stack that destroys data teaches nothing.
    """
    if not request.body:
        return None, False
    kind = request.header("content-type").partition(";")[0].strip().lower()
    if not is_binary(kind, binary_media_types):
        try:
            return request.body.decode(), False
        except UnicodeDecodeError:
            pass
    return base64.b64encode(request.body).decode(), True


def is_binary(kind: str, binary_media_types: Sequence[str]) -> bool:
    """Say whether the API treats a media type as bytes."""
    return "*/*" in binary_media_types or kind in binary_media_types


def response_of(payload: bytes, *, to_head: bool = False) -> Response:
    """Return the HTTP response that a function's answer stands for.

    The answer to a HEAD says itself how long the body is that it does not have.

    Raises:
        MalformedAnswer: It is not the JSON object API Gateway asks for.
    """
    try:
        answer: Any = json.loads(payload)
    except ValueError as error:
        raise MalformedAnswer("not JSON") from error
    if not isinstance(answer, dict):
        raise MalformedAnswer(f"a JSON {type(answer).__name__}, not an object")
    try:
        status = HTTPStatus(int(answer["statusCode"]))
    except (KeyError, TypeError, ValueError) as error:
        raise MalformedAnswer("no valid statusCode") from error
    body = answer.get("body") or ""
    if not isinstance(body, str):
        raise MalformedAnswer("the body is not a string")
    headers = answer_headers(answer, FRAMING - {"content-length"} if to_head else FRAMING)
    return Response(status, headers, answer_body(body, encoded=answer.get("isBase64Encoded")))


def split_prelude(received: bytes, *, to_head: bool = False) -> tuple[Response, bytes] | None:
    """Part the first bytes of a streamed answer into the response so far and the body after the prelude.

    None when the prelude's end has not come yet.

    Raises:
        MalformedAnswer: There is no prelude in the first 16 KB, or it is not the JSON API Gateway asks for.
    """
    prelude, end, _ = received[: MAX_PRELUDE_BYTES + len(PRELUDE_END)].partition(PRELUDE_END)
    if not end:
        if len(received) > MAX_PRELUDE_BYTES:
            raise MalformedAnswer(f"no prelude in the first {MAX_PRELUDE_BYTES} bytes")
        return None
    response = response_of(prelude, to_head=to_head)
    cookies = json.loads(prelude).get("cookies") or ()
    set_cookies = tuple(("Set-Cookie", header_text(cookie)) for cookie in cookies)
    return Response(response.status, (*response.headers, *set_cookies)), received[len(prelude) + len(end) :]


def answer_headers(answer: Mapping[str, Any], dropped: frozenset[str] = FRAMING) -> Headers:
    """Merge `headers` and `multiValueHeaders` of an answer: a name in both keeps the values of the latter."""
    several = answer.get("multiValueHeaders") or {}
    single = answer.get("headers") or {}
    if not isinstance(several, dict) or not isinstance(single, dict):
        raise MalformedAnswer("the headers are not an object")
    repeated = {name.lower() for name in several}
    pairs = [(name, value) for name, value in single.items() if name.lower() not in repeated]
    pairs += [(name, value) for name, values in several.items() for value in values]
    return tuple(
        (name, header_text(value))
        for name, value in pairs
        if name.lower() not in dropped and value is not None
    )


def header_text(value: object) -> str:
    """Return a header value as text; raise MalformedAnswer when it would break the response apart."""
    text = value if isinstance(value, str) else json.dumps(value)
    if "\r" in text or "\n" in text:
        raise MalformedAnswer("a header value with a line break")
    return text


def answer_body(body: str, *, encoded: object) -> bytes:
    """Return the bytes of an answer's body."""
    if not encoded:
        return body.encode()
    try:
        return base64.b64decode(body, validate=True)
    except binascii.Error as error:
        raise MalformedAnswer("the body is not base64") from error


def refusal(refused: Refusal, declared: Mapping[str, GatewayResponse], request_id: str) -> Response:
    """Return an answer of the gateway itself, in the words the template gives it if it does."""
    family = "DEFAULT_4XX" if refused.status < HTTPStatus.INTERNAL_SERVER_ERROR else "DEFAULT_5XX"
    found = declared.get(refused.kind) or declared.get(family) or GatewayResponse()
    template = found.body or '{"message":$context.error.messageString}'
    body = template.replace("$context.error.messageString", json.dumps(refused.message))
    body = body.replace("$context.error.message", refused.message).replace("$context.requestId", request_id)
    headers = (
        ("x-amzn-RequestId", request_id),
        ("x-amzn-ErrorType", ERROR_TYPES.get(refused.kind, "InternalServerErrorException")),
        ("Content-Type", "application/json"),
    )
    return Response(found.status or refused.status, (*headers, *found.headers.items()), body.encode())
