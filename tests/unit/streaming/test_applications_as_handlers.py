"""An ASGI application as a handler, through the runtime loop: bytes and their order in time."""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from a2a_runtime.from_asgi import ApplicationError, AsgiHandler, scope_of
from tests.unit.streaming.conftest import Serve
from tests.unit.streaming.platform import PATIENCE, Platform

EVENT = {
    "httpMethod": "POST",
    "path": "/say%20it",
    "headers": {"X-One": "1"},
    "multiValueHeaders": {"X-One": ["0", "1"]},
    "multiValueQueryStringParameters": {"q": ["a b", "c"]},
    "body": "Ym9keQ==",
    "isBase64Encoded": True,
    "requestContext": {"domainName": "agent.example", "identity": {"sourceIp": "192.0.2.1"}},
}


Handle = Callable[..., AsgiHandler]


@pytest.fixture
def handle() -> Iterator[Handle]:
    """Make a handler of an application; it ends with the test."""
    made: list[AsgiHandler] = []

    def make(application: Any) -> AsgiHandler:
        made.append(AsgiHandler(application))
        return made[-1]

    yield make
    for handler in made:
        handler.close()


def body(event: Any, handler: AsgiHandler) -> tuple[Any, bytes]:
    answer = handler(event, None)
    return answer.prelude, b"".join(answer.chunks)


async def echo(request: Request) -> JSONResponse:
    return JSONResponse(
        {
            "url": str(request.url),
            "headers": request.headers.getlist("x-one"),
            "body": (await request.body()).decode(),
            "client": request.client and request.client.host,
            "ready": request.app.state.ready,
        },
        201,
    )


@pytest.mark.parametrize(
    ("path", "decoded", "raw"),
    [("/a%2Fb", "/a/b", b"/a%2Fb"), ("/%C3%A9", "/é", b"/%C3%A9"), ("/é b", "/é b", b"/%C3%A9%20b")],
)
def test_a_path_is_there_decoded_and_as_it_was_sent(path: str, decoded: str, raw: bytes) -> None:
    scope = scope_of({**EVENT, "path": path})

    assert (scope["path"], scope["raw_path"]) == (decoded, raw)


def test_a_framework_gets_the_request_and_answers_it(handle: Handle) -> None:
    class Ready:
        def __init__(self, app: Starlette) -> None:
            self._app = app

        async def __aenter__(self) -> None:
            self._app.state.ready = "started"

        async def __aexit__(self, *_: object) -> None:
            raise AssertionError("a function has no end")

    application = Starlette(routes=[Route("/say it", echo, methods=["POST"])], lifespan=Ready)
    prelude, answered = body(EVENT, handle(application))

    assert prelude["statusCode"] == 201
    assert prelude["multiValueHeaders"]["content-type"] == ["application/json"]
    assert json.loads(answered) == {
        "url": "https://agent.example/say it?q=a+b&q=c",
        "headers": ["0", "1"],
        "body": "body",
        "client": "192.0.2.1",
        "ready": "started",
    }


def test_an_event_written_by_hand_may_have_one_value_of_each_name(handle: Handle) -> None:
    async def application(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            raise NotImplementedError
        await send({"type": "http.response.start", "status": 200, "headers": scope["headers"]})
        await send({"type": "http.response.body", "body": scope["query_string"]})

    event = {"httpMethod": "GET", "headers": {"A": "1"}, "queryStringParameters": {"q": "2"}}

    assert body(event, handle(application)) == (
        {"statusCode": 200, "multiValueHeaders": {"a": ["1"]}},
        b"q=2",
    )


class Told:
    """An application that makes pieces, and writes down what happens to it."""

    def __init__(self) -> None:
        self.happened: list[str] = []
        self.over = threading.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            raise NotImplementedError
        await send({"type": "http.response.start", "status": 200})
        try:
            for number in range(3):
                self.happened.append(f"makes {number}")
                await send({"type": "http.response.body", "body": b"%d" % number, "more_body": number < 2})
            self.happened.append("ends")
        finally:
            self.over.set()


def test_an_application_makes_a_piece_only_when_the_one_before_is_out(
    platform: Platform, serving: Serve, handle: Handle
) -> None:
    application = Told()
    handler = handle(application)
    serving(handler, json.dumps(EVENT).encode())

    platform.read_head()
    platform.read_until(bytes(8) + b"\r\n")
    pieces = b"1\r\n0\r\n1\r\n1\r\n1\r\n2\r\n0\r\n\r\n"
    assert platform.read_until(pieces) == pieces
    platform.reply(202)

    assert application.happened == ["makes 0", "makes 1", "makes 2", "ends"]


def test_an_application_never_runs_ahead_of_its_reader(handle: Handle) -> None:
    application = Told()
    pieces = handle(application)(EVENT, None).chunks
    assert application.happened == []

    for number in range(3):
        assert next(pieces) == b"%d" % number
        assert application.happened == [f"makes {made}" for made in range(number + 1)]
    assert list(pieces) == []


def test_an_application_whose_reader_left_is_over(handle: Handle) -> None:
    application = Told()
    pieces = handle(application)(EVENT, None).chunks
    assert next(pieces) == b"0"
    pieces.close()

    assert application.over.wait(PATIENCE)
    assert application.happened == ["makes 0"]


def test_an_application_hears_that_its_reader_left(handle: Handle) -> None:
    heard = threading.Event()

    async def application(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            raise NotImplementedError
        await receive()
        await send({"type": "http.response.start", "status": 200})
        listening = asyncio.ensure_future(receive())
        listening.add_done_callback(lambda _: heard.set())
        await send({"type": "http.response.body", "body": b"x", "more_body": True})

    pieces = handle(application)(EVENT, None).chunks
    assert next(pieces) == b"x"
    pieces.close()

    assert heard.wait(PATIENCE)


def test_what_an_application_raises_first_is_the_functions_error_and_later_ends_the_answer(
    handle: Handle,
) -> None:
    async def at_once(scope: Any, receive: Any, send: Any) -> None:
        raise LookupError("nothing here")

    async def later(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            raise NotImplementedError
        await send({"type": "http.response.start", "status": 200})
        raise LookupError("nothing more")

    with pytest.raises(LookupError, match="nothing here"):
        handle(at_once)(EVENT, None)
    pieces = handle(later)(EVENT, None).chunks
    with pytest.raises(LookupError, match="nothing more"):
        next(pieces)


@pytest.mark.parametrize("starts", [True, False])
def test_an_application_that_ends_without_a_whole_answer_is_at_fault(handle: Handle, *, starts: bool) -> None:
    async def silent(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and starts:
            await send({"type": "http.response.start", "status": 200})

    with pytest.raises(ApplicationError):
        body(EVENT, handle(silent))


def test_an_application_that_cannot_start_fails_the_start_of_the_function() -> None:
    async def broken(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "lifespan.startup.failed", "message": "no table"})

    with pytest.raises(ApplicationError, match="no table"):
        AsgiHandler(broken)
