"""Handlers as an ASGI application, called in process by httpx or, where order matters, by the test."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from a2a_runtime.context import LambdaContext
from a2a_runtime.to_asgi import MOST_BYTES, THE_REST, HandlerApplication

PATIENCE = 5


@dataclass
class Streamed:
    prelude: Mapping[str, Any]
    chunks: Iterator[bytes]


def told(event: object, context: object) -> dict[str, Any]:
    """Answer with what the handler was given."""
    assert isinstance(context, LambdaContext)
    given = {"event": event, "remaining": context.get_remaining_time_in_millis()}
    return {"statusCode": 200, "headers": {"Content-Type": "application/json"}, "body": json.dumps(given)}


def streamed(event: object, context: object) -> Streamed:
    prelude = {
        "statusCode": 206,
        "headers": {"X-One": "1", "X-Two": "none"},
        "multiValueHeaders": {"x-two": ["2", "3"]},
        "cookies": ["a=1"],
    }
    return Streamed(prelude, iter([b"one ", b"", b"two"]))


@pytest.fixture
def application() -> Iterator[HandlerApplication]:
    made = HandlerApplication({"/told": told, THE_REST: streamed}, seconds=60)
    yield made
    made.close()


def ask(application: HandlerApplication, method: str, url: str, **given: Any) -> httpx.Response:
    async def exchange() -> httpx.Response:
        transport = httpx.ASGITransport(application)
        async with httpx.AsyncClient(transport=transport, base_url="http://agent") as client:
            return await client.request(method, url, **given)

    return asyncio.run(exchange())


def test_a_handler_gets_the_event_a_gateway_would_make(application: HandlerApplication) -> None:
    answer = ask(application, "POST", "/told?a=1&a=2&b=", content=b"body", headers={"X-Given": "yes"}).json()
    event = answer["event"]

    assert (event["httpMethod"], event["path"], event["resource"]) == ("POST", "/told", "/told")
    assert event["multiValueQueryStringParameters"] == {"a": ["1", "2"], "b": [""]}
    assert event["multiValueHeaders"]["x-given"] == ["yes"]
    assert (event["body"], event["isBase64Encoded"]) == ("Ym9keQ==", True)
    assert 0 < answer["remaining"] <= 60_000


def test_nothing_that_a_client_sends_is_taken_for_the_gateways_word(application: HandlerApplication) -> None:
    forged = {"x-amzn-request-context": '{"domainName": "evil.example"}'}

    assert ask(application, "GET", "/told", headers=forged).json()["event"]["requestContext"] == {}


def test_a_path_is_handed_on_as_it_was_sent() -> None:
    made = HandlerApplication({"/told": told, THE_REST: told})

    rest = ask(made, "GET", "/a%2Fb/%C3%A9/").json()["event"]
    known = ask(made, "GET", "/told/").json()["event"]
    made.close()

    assert (rest["path"], rest["pathParameters"]) == ("/a%2Fb/%C3%A9/", {"proxy": "a%2Fb/%C3%A9"})
    assert (known["resource"], known["pathParameters"]) == ("/told", None)


def test_a_path_without_a_handler_of_its_own_is_the_rests(application: HandlerApplication) -> None:
    answer = ask(application, "GET", "/message:stream")

    assert (answer.status_code, answer.text) == (206, "one two")
    assert answer.headers["x-one"] == "1"
    assert answer.headers.get_list("x-two") == ["2", "3"]
    assert answer.cookies["a"] == "1"


@pytest.mark.parametrize(("size", "status"), [(MOST_BYTES, 200), (MOST_BYTES + 1, 413)])
def test_a_body_is_read_as_far_as_a_gateway_would_and_no_further(
    application: HandlerApplication, size: int, status: int
) -> None:
    read = []

    async def body() -> AsyncIterator[bytes]:
        for piece in (b"-" * (size - 1), b"-", b"more", b"and more") if status != 200 else (b"-" * size,):
            read.append(len(piece))
            yield piece

    answer = ask(application, "POST", "/told", content=body())

    assert (answer.status_code, sum(read)) == (status, size)


def test_the_server_is_answered_when_it_starts_and_ends() -> None:
    wanted = iter([{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}])
    sent: list[str] = []

    async def receive() -> Any:
        return next(wanted)

    async def send(message: Any) -> None:
        sent.append(message["type"])

    asyncio.run(HandlerApplication({})({"type": "lifespan"}, receive, send))

    assert sent == ["lifespan.startup.complete", "lifespan.shutdown.complete"]


class Client:
    """An ASGI server with one client, whose every step the test decides."""

    def __init__(self) -> None:
        self.sent: asyncio.Queue[Any] = asyncio.Queue()
        self.left = asyncio.Event()
        self._asked = False

    async def receive(self) -> Any:
        if not self._asked:
            self._asked = True
            return {"type": "http.request", "body": b""}
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        await self.sent.put(message)

    async def next_body(self) -> bytes:
        message = await asyncio.wait_for(self.sent.get(), PATIENCE)
        body: bytes = message.get("body", b"head")
        return body


SCOPE = {"type": "http", "method": "GET", "path": "/x", "query_string": b"", "headers": []}


def test_a_piece_is_sent_before_the_next_is_made() -> None:
    go_on = threading.Semaphore(0)
    made: list[int] = []

    def pieces() -> Iterator[bytes]:
        for number in range(3):
            assert go_on.acquire(timeout=PATIENCE)
            made.append(number)
            yield b"%d" % number

    async def exchange() -> None:
        client = Client()
        application = HandlerApplication(
            {THE_REST: lambda event, context: Streamed({"statusCode": 200}, pieces())}
        )
        serving = asyncio.create_task(application(dict(SCOPE), client.receive, client.send))
        assert await client.next_body() == b"head"
        for number in range(3):
            assert made == list(range(number))
            go_on.release()
            assert await client.next_body() == b"%d" % number
        assert await client.next_body() == b""
        await serving
        application.close()

    asyncio.run(exchange())


def test_a_client_that_leaves_ends_the_production_at_the_next_piece() -> None:
    closed = threading.Event()

    def pieces() -> Iterator[bytes]:
        try:
            while True:
                yield b"x"
        finally:
            closed.set()

    async def exchange() -> None:
        client = Client()
        application = HandlerApplication(
            {THE_REST: lambda event, context: Streamed({"statusCode": 200}, pieces())}
        )
        serving = asyncio.create_task(application(dict(SCOPE), client.receive, client.send))
        await client.next_body()
        client.left.set()
        await asyncio.wait_for(serving, PATIENCE)
        application.close()

    asyncio.run(exchange())

    assert closed.is_set()


@pytest.mark.parametrize("answer", [None, {"body": "no status"}])
def test_an_answer_that_is_none_is_an_error_of_the_server(answer: object) -> None:
    application = HandlerApplication({THE_REST: lambda event, context: answer})
    with pytest.raises(ValueError, match="a handler answered"):
        ask(application, "GET", "/")
    application.close()
