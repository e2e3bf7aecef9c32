"""API Gateway's events to requests, and responses to what it expects (payload format 1.0)."""

import base64
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from a2a_serverless.bindings import gateway
from a2a_serverless.bindings.http import AS_DECLARED, CORS, NEVER, HttpRequest, HttpResponse, StreamedResponse
from tests.fakes.event_source import events_of
from tests.unit.bindings.wires import Wire, message, told

ALWAYS = {**CORS, **AS_DECLARED}


def event(**changed: Any) -> dict[str, Any]:
    return {
        "resource": "/{proxy+}",
        "path": "/tasks/t-1",
        "httpMethod": "GET",
        "headers": {"Accept": "b"},
        "multiValueHeaders": {"Accept": ["a", "b"], "X-One": ["1"]},
        "queryStringParameters": {"status": "y"},
        "multiValueQueryStringParameters": {"status": ["x", "y"]},
        "pathParameters": {"proxy": "tasks/t-1"},
        "stageVariables": None,
        "requestContext": {
            "domainName": "abc.execute-api.eu-central-1.amazonaws.com",
            "path": "/prod/tasks/t-1",
            "stage": "prod",
            "requestId": "request-1",
        },
        "body": None,
        "isBase64Encoded": False,
        **changed,
    }


def test_an_event_becomes_the_request_it_delivers() -> None:
    assert gateway.request_of(event()) == HttpRequest(
        method="GET",
        path="/tasks/t-1",
        headers={"accept": ("a", "b"), "x-one": ("1",)},
        query={"status": ("x", "y")},
        body=b"",
        origin="https://abc.execute-api.eu-central-1.amazonaws.com/prod",
        request_id="request-1",
    )


def test_every_map_of_an_event_may_be_null() -> None:
    request = gateway.request_of(
        event(
            headers=None,
            multiValueHeaders=None,
            queryStringParameters=None,
            multiValueQueryStringParameters=None,
            pathParameters=None,
            requestContext=None,
        )
    )

    assert (request.path, request.headers, request.query, request.origin) == ("/tasks/t-1", {}, {}, "")


def test_single_values_are_read_where_an_event_has_no_others() -> None:
    request = gateway.request_of(event(multiValueHeaders=None, multiValueQueryStringParameters=None))

    assert (request.headers, request.query) == ({"accept": ("b",)}, {"status": ("y",)})


def test_headers_that_differ_only_in_case_are_one_header() -> None:
    request = gateway.request_of(event(multiValueHeaders={"A2A-Version": ["1.0"], "a2a-version": ["0.3"]}))

    assert request.header("A2A-VERSION") == "1.0, 0.3"


@pytest.mark.parametrize(
    ("body", "encoded", "expected"),
    [
        (None, False, b""),
        ("", False, b""),
        ('{"ä":1}', False, '{"ä":1}'.encode()),
        (base64.b64encode(b"\xff\x00").decode(), True, b"\xff\x00"),
        ("\ud800", False, b"\xed\xa0\x80"),
    ],
)
def test_a_body_is_its_bytes_however_it_travelled(
    body: str | None, *, encoded: bool, expected: bytes
) -> None:
    assert gateway.request_of(event(body=body, isBase64Encoded=encoded)).body == expected


@pytest.mark.parametrize(
    ("resource", "path", "proxy", "whole", "expected", "origin"),
    [
        ("/", "/", None, "/prod/", "/", "https://d/prod"),
        ("/", "/", None, "/prod", "/", "https://d/prod"),
        ("/", "/", None, "/", "/", "https://d"),
        ("/", "/base", None, "/base", "/", "https://d/base"),
        ("/{proxy+}", "/tasks", "tasks", "/prod/tasks", "/tasks", "https://d/prod"),
        ("/{proxy+}", "/tasks", "tasks", "/tasks", "/tasks", "https://d"),
        ("/{proxy+}", "/base/tasks", "tasks", "/base/tasks", "/tasks", "https://d/base"),
        ("/{proxy+}", "/a b", "a b", "/prod/a%20b", "/a b", "https://d/prod"),
        ("/{proxy+}", "/a%20b", "a%20b", "/base/a%20b", "/a%20b", "https://d/base"),
        ("/{proxy+}", "/base/tasks/", "tasks", "/base/tasks/", "/tasks", "https://d/base"),
        ("/health", "/health", None, "/prod/health", "/health", "https://d/prod"),
        ("/health", "/base/health", None, "/base/health", "/health", "https://d/base"),
    ],
)
def test_the_address_of_the_deployment_is_what_stands_before_the_resource(  # noqa: PLR0917  a table
    resource: str, path: str, proxy: str | None, whole: str, expected: str, origin: str
) -> None:
    context = {"domainName": "d", "path": whole, "stage": "prod"}
    parameters = {"proxy": proxy} if proxy else None

    request = gateway.request_of(
        event(resource=resource, path=path, pathParameters=parameters, requestContext=context)
    )

    assert (request.path, request.origin) == (expected, origin)


def test_the_host_header_never_becomes_the_address() -> None:
    forged = event(multiValueHeaders={"Host": ["evil.example"], "X-Forwarded-Host": ["evil.example"]})

    assert "evil" not in gateway.request_of(forged).origin


def test_a_textual_answer_travels_as_text_with_the_headers_of_every_answer() -> None:
    response = HttpResponse(200, {"Content-Type": "application/json"}, '{"ä":1}'.encode())

    assert gateway.event_of(response, ALWAYS) == {
        "statusCode": 200,
        "headers": {**ALWAYS, "Content-Type": "application/json"},
        "multiValueHeaders": {},
        "body": '{"ä":1}',
        "isBase64Encoded": False,
    }


@pytest.mark.parametrize(
    ("media_type", "content"),
    [("image/png", b"\x89PNG"), ("application/octet-stream", b"abc"), ("text/plain", b"text")],
)
def test_an_answer_that_is_no_text_travels_in_base64(media_type: str, content: bytes) -> None:
    sent = gateway.event_of(HttpResponse(200, {"Content-Type": media_type}, content), ALWAYS)

    assert sent["isBase64Encoded"] is True
    assert base64.b64decode(sent["body"]) == content


def test_an_answer_without_a_body_has_an_empty_one() -> None:
    sent = gateway.event_of(HttpResponse(304), ALWAYS)

    assert (sent["body"], sent["isBase64Encoded"]) == ("", False)


# --- piece by piece --------------------------------


def binding_of(response: HttpResponse | StreamedResponse) -> gateway.Binding:
    return lambda _: response


def test_a_plain_answer_leaves_a_streaming_integration_as_one_piece_behind_its_status_and_headers() -> None:
    response = HttpResponse(404, {"Content-Type": "application/json"}, '{"ä":1}'.encode())

    answer = gateway.stream(event(), binding_of(response))

    assert answer.prelude == {"statusCode": 404, "headers": {**ALWAYS, "Content-Type": "application/json"}}
    assert list(answer.chunks) == ['{"ä":1}'.encode()]


@pytest.mark.parametrize("status", [204, 304])
def test_an_answer_without_a_body_has_no_piece(status: int) -> None:
    answer = gateway.stream(event(), binding_of(HttpResponse(status, {"ETag": '"x"'})))

    assert answer.prelude == {"statusCode": status, "headers": {**ALWAYS, "ETag": '"x"'}}
    assert list(answer.chunks) == []


@pytest.mark.parametrize(
    ("how", "pinned"), [("https", True), ("http", False), (None, False), ("https, http", False)]
)
def test_an_answer_over_tls_asks_browsers_never_to_come_by_anything_else(
    how: str | None, *, pinned: bool
) -> None:
    came = event(multiValueHeaders={"X-Forwarded-Proto": [how]} if how else {})
    whole = gateway.answer(came, binding_of(HttpResponse(404)))
    pieces = gateway.stream(came, binding_of(HttpResponse(404)))

    for headers in (whole["headers"], pieces.prelude["headers"]):
        assert headers.get("Strict-Transport-Security") == ("max-age=31536000" if pinned else None)
        assert headers["X-Content-Type-Options"] == "nosniff"


def test_bytes_leave_a_streaming_integration_as_they_are() -> None:
    content = bytes(range(256))

    answer = gateway.stream(event(), binding_of(HttpResponse(200, {"Content-Type": "image/png"}, content)))

    assert list(answer.chunks) == [content]


def test_the_pieces_of_a_streamed_answer_are_asked_for_one_by_one() -> None:
    made: list[int] = []

    def pieces() -> Iterator[bytes]:
        for number in range(3):
            made.append(number)
            yield b"%d" % number

    answer = gateway.stream(event(), binding_of(StreamedResponse(200, {"Content-Type": "a/b"}, pieces())))

    assert answer.prelude == {"statusCode": 200, "headers": {**ALWAYS, "Content-Type": "a/b"}}
    assert made == []
    assert [(piece, len(made)) for piece in answer.chunks] == [(b"0", 1), (b"1", 2), (b"2", 3)]


def test_a_prelude_can_be_printed_as_json() -> None:
    """Its status is a plain number: an enum would be printed as its name by other encoders."""
    answer = gateway.stream(event(), binding_of(HttpResponse(200)))

    assert type(answer.prelude["statusCode"]) is int


def test_where_an_integration_does_not_stream_the_pieces_are_gathered() -> None:
    pieces = iter([b" ", b" ", b'{"a":1}'])
    response = StreamedResponse(200, {"Content-Type": "application/json"}, pieces)

    answer = gateway.answer(event(), binding_of(response))

    assert (answer["statusCode"], answer["body"], answer["isBase64Encoded"]) == (200, '  {"a":1}', False)
    assert answer["headers"] == {**ALWAYS, "Content-Type": "application/json"}


@pytest.mark.parametrize("send", [gateway.answer, gateway.stream])
def test_a_binding_is_told_when_its_invocation_will_be_over(send: Any) -> None:
    told_of: list[datetime] = []

    def binding(request: HttpRequest) -> HttpResponse:
        told_of.append(request.deadline)
        return HttpResponse(200)

    moment = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
    send(event(), binding, moment)
    send(event(), binding)

    assert told_of == [moment, NEVER]


def test_the_end_of_an_invocation_is_what_its_context_says_is_left() -> None:
    class Context:
        def get_remaining_time_in_millis(self) -> int:
            return 1500

    now = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)

    assert gateway.deadline_of(Context(), now) == now + timedelta(seconds=1.5)
    assert gateway.deadline_of(None, now) == NEVER
    assert gateway.deadline_of(object(), now) == NEVER


def test_a_page_of_another_origin_may_read_a_stream(wire: Wire) -> None:
    asked = wire.request("SendStreamingMessage", message())
    sent = {
        "httpMethod": asked.method,
        "path": asked.path,
        "headers": {"A2A-Version": "1.0", "Origin": "https://page.example"},
        "body": asked.body.decode(),
    }

    answer = gateway.stream(sent, wire.answer)

    assert answer.prelude["headers"]["Access-Control-Allow-Origin"] == "*"
    exposed = answer.prelude["headers"]["Access-Control-Expose-Headers"].split(", ")
    assert {"A2A-Version", "A2A-Extensions", "Retry-After"} <= set(exposed)
    assert answer.prelude["headers"]["Content-Type"] == "text/event-stream"
    frames = [wire.frame(event) for event in events_of(answer.chunks)]
    assert told(frames)[0] == "task SUBMITTED"


def test_a_page_of_another_origin_may_say_where_it_was(wire: Wire) -> None:
    asked = {
        "httpMethod": "OPTIONS",
        "path": "/tasks/t:subscribe",
        "headers": {"Origin": "https://page.example", "Access-Control-Request-Headers": "last-event-id"},
    }

    preflight = gateway.stream(asked, wire.answer)

    assert preflight.prelude["statusCode"] == 204
    allowed = preflight.prelude["headers"]["Access-Control-Allow-Headers"].split(", ")
    assert {"A2A-Version", "A2A-Extensions", "Authorization", "Content-Type", "Last-Event-ID"} <= set(allowed)
    assert {"GET", "POST"} <= set(preflight.prelude["headers"]["Access-Control-Allow-Methods"].split(", "))
    assert list(preflight.chunks) == []
