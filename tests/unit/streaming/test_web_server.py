"""A handler behind the AWS Lambda Web Adapter, whose part the test plays: requests in, bytes out, in time."""

import http.client
import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import pytest

from a2a_runtime.web_server import WebServer, main
from tests.unit.streaming.platform import PATIENCE

Serve = Callable[[Callable[[Any, Any], object]], int]


@dataclass
class Streamed:
    prelude: Mapping[str, Any]
    chunks: Iterator[bytes]


@pytest.fixture
def serving() -> Iterator[Serve]:
    servers: list[WebServer] = []

    def start(handler: Callable[[Any, Any], object]) -> int:
        server = WebServer(handler, {"AWS_LAMBDA_FUNCTION_NAME": "stack-jsonrpc"}, 0)
        threading.Thread(target=server.serve_forever, args=(0.01,)).start()
        servers.append(server)
        return int(server.server_address[1])

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def ask(port: int, method: str = "GET", target: str = "/", **given: Any) -> tuple[int, dict[str, str], bytes]:
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)) as connection:
        connection.request(method, target, **given)
        response = connection.getresponse()
        return response.status, dict(response.getheaders()), response.read()


def told(event: Any, context: Any) -> dict[str, Any]:
    given = {
        "event": event,
        "request": context.aws_request_id,
        "arn": context.invoked_function_arn,
        "name": context.function_name,
        "deadline": context.deadline_ms,
    }
    return {"statusCode": 200, "body": json.dumps(given)}


def test_a_handler_gets_the_event_and_the_context_that_the_adapter_tells_of(serving: Serve) -> None:
    context = {"domainName": "abc.execute-api", "stage": "prod", "path": "/prod/message:send"}
    invocation = {"request_id": "r-1", "deadline": 5000, "invoked_function_arn": "arn:aws:lambda:x"}
    headers = {
        "x-amzn-request-context": json.dumps(context),
        "x-amzn-lambda-context": json.dumps(invocation),
        "A2A-Version": "1.0",
    }

    _, _, body = ask(serving(told), "POST", "/message%3Asend?a=1", body=b"{}", headers=headers)

    given = json.loads(body)
    event = given.pop("event")
    assert given == {"request": "r-1", "arn": "arn:aws:lambda:x", "name": "stack-jsonrpc", "deadline": 5000}
    assert (event["httpMethod"], event["path"], event["body"]) == ("POST", "/message%3Asend", "e30=")
    assert event["requestContext"] == context
    assert event["headers"]["A2A-Version"] == "1.0"
    assert not any(name.lower().startswith("x-amzn-") for name in event["headers"])


def test_each_piece_is_out_before_the_next_is_made(serving: Serve) -> None:
    go_on = threading.Semaphore(0)

    def pieces() -> Iterator[bytes]:
        for number in range(3):
            assert go_on.acquire(timeout=PATIENCE)
            yield b"%d" % number

    port = serving(lambda event, context: Streamed({"statusCode": 200, "headers": {"X-A": "b"}}, pieces()))
    with (
        socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as client,
        client.makefile("rb") as read,
    ):
        client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        head = b"".join(iter(read.readline, b"\r\n"))
        assert b"X-A: b\r\n" in head
        for number in range(3):
            go_on.release()
            assert read.read(6) == b"1\r\n%d\r\n" % number
        assert read.read(5) == b"0\r\n\r\n"


def test_a_whole_answer_is_sent_too_and_one_without_a_body_has_none(serving: Serve) -> None:
    port = serving(lambda event, context: {"statusCode": 204, "multiValueHeaders": {"X-A": ["b"]}})

    assert ask(port)[:1] == (204,)
    assert ask(serving(told), "HEAD")[2] == b""


def test_a_handler_that_raises_is_an_error_without_its_text(
    serving: Serve, capsys: pytest.CaptureFixture[str]
) -> None:
    def faulty(event: Any, context: Any) -> None:
        raise LookupError("secret")

    status, _, body = ask(serving(faulty))

    assert (status, body) == (500, b'{"message":"Internal server error"}')
    assert "[ERROR] LookupError: secret" in capsys.readouterr().out


def test_a_handler_that_fails_between_pieces_leaves_an_incomplete_answer(
    serving: Serve, capsys: pytest.CaptureFixture[str]
) -> None:
    def pieces() -> Iterator[bytes]:
        yield b"first"
        raise LookupError("the log is gone")

    port = serving(lambda event, context: Streamed({"statusCode": 200}, pieces()))

    with pytest.raises(http.client.IncompleteRead):
        ask(port)
    assert "the log is gone" in capsys.readouterr().out


def test_a_handler_that_cannot_be_loaded_ends_the_process_with_the_reason(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main({"_HANDLER": "not_there_at_all.handler"}) == 1
    assert "Runtime.ImportModuleError" in capsys.readouterr().out
