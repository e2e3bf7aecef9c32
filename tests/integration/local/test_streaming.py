"""Streamed answers through process, Runtime API and gateway: each piece is out before the next is made."""

import contextlib
import http.client
import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from infra.local.deployment import Deployment, Function, Route
from infra.local.front import Front
from infra.local.http import Server, listen
from infra.local.invocations import Invocation, Outcome
from infra.local.pool import FunctionPool
from infra.local.runtime_api import RESPONSE_MODE, RuntimeApi
from infra.local.streams import Stream
from tests.integration.local.conftest import PATIENCE, Lines, PoolOf
from tests.integration.local.handlers import STREAM

HEAD_END = b"\r\n\r\n"
END = b"0\r\n\r\n"


class Client:
    """One connection to the gateway, read byte by byte."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)

    def ask(self, target: str, version: str = "HTTP/1.1", method: str = "GET") -> None:
        self._socket.sendall(f"{method} {target} {version}\r\nHost: x\r\n\r\n".encode())

    def read_until(self, end: bytes) -> bytes:
        read = b""
        while not read.endswith(end):
            byte = self._socket.recv(1)
            assert byte, f"the connection ended after {read!r}"
            read += byte
        return read

    def read_all(self) -> bytes:
        return b"".join(iter(lambda: self._socket.recv(65536), b""))

    def leave(self) -> None:
        self._socket.close()


class Gateway:
    """A front with two routes to one function, one streamed and one not."""

    def __init__(self, pool: FunctionPool, console: Lines, *, seconds: float, idle: float) -> None:
        function = Function("ApiFunction", "stack-api", Path("functions/api"), "app.handler", 20, 128, {})
        deployment = Deployment(
            functions={"ApiFunction": function},
            routes=(
                Route("ANY", "/streamed", "ApiFunction", streams=True, timeout_seconds=seconds),
                Route("ANY", "/whole", "ApiFunction", timeout_seconds=seconds),
            ),
            schedules=(),
            stage="prod",
            binary_media_types=(),
            gateway_responses={},
            state_machine="",
            state_machine_definition="",
            state={},
            state_parameters={},
        )
        front = Front(deployment, {"ApiFunction": pool}, console, idle_seconds=idle)
        self.server = Server(front.answer, listen(), name="front")
        self.server.start()
        self._clients: list[Client] = []

    def client(self) -> Client:
        self._clients.append(Client(self.server.port))
        return self._clients[-1]

    def close(self) -> None:
        self.server.close()
        for client in self._clients:
            client.leave()

    def call(self, target: str) -> tuple[int, bytes]:
        with contextlib.closing(
            http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=PATIENCE)
        ) as connection:
            connection.request("GET", target)
            with connection.getresponse() as response:
                return response.status, response.read()


@pytest.fixture
def gateway(pool_of: PoolOf, console: Lines) -> Iterator[Gateway]:
    made = Gateway(pool_of(STREAM), console, seconds=PATIENCE, idle=PATIENCE)
    yield made
    made.close()


@pytest.fixture
def hasty(pool_of: PoolOf, console: Lines) -> Iterator[Gateway]:
    """A gateway whose limits are short."""
    made = Gateway(pool_of(STREAM), console, seconds=PATIENCE, idle=0.3)
    yield made
    made.close()


@pytest.fixture
def gate(tmp_path: Path) -> Path:
    made = tmp_path / "gate"
    os.mkfifo(made)
    return made


@pytest.fixture
def closed(tmp_path: Path) -> Path:
    """A named pipe on which the function says that its iterator was closed."""
    made = tmp_path / "closed"
    os.mkfifo(made)
    return made


def test_each_piece_reaches_the_client_before_the_next_is_made(gateway: Gateway, gate: Path) -> None:
    client = gateway.client()
    client.ask(f"/streamed?pieces=3&for={gate}")

    assert client.read_until(HEAD_END).startswith(b"HTTP/1.1 200 OK\r\n")
    for number in range(3):
        frame = b"8\r\npiece %d\n\r\n" % number
        assert client.read_until(frame) == frame
        if number < 2:
            gate.write_bytes(b"go on")
    assert client.read_until(END) == END


def test_the_head_is_the_preludes_and_the_gateways(gateway: Gateway) -> None:
    client = gateway.client()
    client.ask("/streamed?status=206")
    status, *fields = client.read_until(HEAD_END).decode().strip().split("\r\n")
    headers = [field.partition(": ")[::2] for field in fields]

    assert status == "HTTP/1.1 206 Partial Content"
    assert ("Content-Type", "text/event-stream") in headers
    assert [value for name, value in headers if name == "Set-Cookie"] == ["a=1", "b=2"]
    assert ("Transfer-Encoding", "chunked") in headers
    assert "Content-Length" not in dict(headers)
    assert dict(headers)["x-amzn-RequestId"]


def test_one_connection_carries_streamed_answers_one_after_the_other(gateway: Gateway) -> None:
    client = gateway.client()
    for _ in range(3):
        client.ask("/streamed")
        client.read_until(HEAD_END)
        assert client.read_until(END) == b"8\r\npiece 0\n\r\n" + END


def test_an_http_1_0_client_gets_the_bytes_and_the_end_of_the_connection(gateway: Gateway) -> None:
    client = gateway.client()
    client.ask("/streamed", "HTTP/1.0")
    head, _, body = client.read_all().partition(HEAD_END)

    assert b"Connection: close" in head
    assert b"Transfer-Encoding" not in head
    assert body == b"piece 0\n"


@pytest.mark.parametrize(("method", "status"), [("HEAD", 200), ("GET", 204)])
def test_an_answer_that_has_no_body_gets_none(gateway: Gateway, method: str, status: int) -> None:
    client = gateway.client()
    client.ask(f"/streamed?status={status}", method=method)
    client.read_until(HEAD_END)
    client.ask("/streamed")

    assert client.read_until(HEAD_END).startswith(b"HTTP/1.1 200 OK\r\n")


@pytest.mark.parametrize("do", ["raise", "die", "buffered", "malformed"])
def test_what_fails_before_the_prelude_is_a_bad_gateway(gateway: Gateway, do: str) -> None:
    assert gateway.call(f"/streamed?do={do}") == (502, b'{"message":"Internal server error"}')


@pytest.mark.parametrize("end", ["raise", "die"])
def test_what_fails_between_pieces_cuts_the_answer_off(gateway: Gateway, gate: Path, end: str) -> None:
    client = gateway.client()
    client.ask(f"/streamed?pieces=2&for={gate}&end={end}")
    head = client.read_until(b"piece 0\n\r\n")
    gate.write_bytes(b"go on")
    rest = client.read_all()

    # The last words of a process that dies may get lost; the end of an answer that is whole never came.
    assert rest == b"8\r\npiece 1\n\r\n" or (end, rest) == ("die", b"")
    assert b"the log is gone" not in head + rest, "Lambda has it from the trailers, and nobody else"


def test_an_answer_that_stays_silent_too_long_is_cut_off(hasty: Gateway, gate: Path) -> None:
    client = hasty.client()
    client.ask(f"/streamed?pieces=2&for={gate}")
    _, _, body = client.read_all().partition(HEAD_END)
    gate.write_bytes(b"nobody waits for it")

    assert body == b"8\r\npiece 0\n\r\n"


def test_a_function_that_never_begins_to_answer_is_a_gateway_timeout_and_goes_on(
    pool_of: PoolOf, console: Lines, gate: Path
) -> None:
    gateway = Gateway(pool_of(STREAM), console, seconds=1, idle=PATIENCE)
    answer = gateway.call(f"/streamed?do=wait&for={gate}")
    gate.write_bytes(b"somebody still reads: it was not interrupted")
    gateway.close()

    assert answer == (504, b'{"message":"Endpoint request timed out"}')


def test_a_client_that_leaves_a_busy_stream_ends_it_and_the_process_serves_on(
    gateway: Gateway, closed: Path
) -> None:
    pid = gateway.call("/streamed?do=pid")
    client = gateway.client()
    client.ask(f"/streamed?end=never&closed={closed}")
    client.read_until(b"piece 0\n\r\n")
    client.leave()

    assert closed.read_text() == "closed\n"
    assert gateway.call("/streamed?do=pid") == pid


def test_a_client_that_leaves_a_silent_stream_is_noticed_at_the_next_piece(
    gateway: Gateway, console: Lines, gate: Path, closed: Path
) -> None:
    client = gateway.client()
    client.ask(f"/streamed?pieces=3&for={gate}&closed={closed}")
    client.read_until(b"piece 0\n\r\n")
    client.leave()
    while console.next_said() != "the client left in the middle of an answer":
        pass

    # The function is not interrupted: it makes the next piece, and learns that nobody wants it.
    gate.write_bytes(b"go on")
    assert closed.read_text() == "closed\n"


def test_an_answer_larger_than_a_buffered_one_may_be_streams(gateway: Gateway) -> None:
    status, body = gateway.call("/streamed?do=large")

    assert (status, len(body)) == (200, 160 * 65536)


class OneInvocation:
    """An environment whose only invocation is answered by the test itself."""

    def __init__(self) -> None:
        self.invocation = Invocation(b"{}", "Root=1", takes_stream=True)

    def next_invocation(self, left: object) -> None:
        return None

    def succeed(self, request_id: str, payload: bytes) -> bool:
        return self.invocation.settle(Outcome(payload))

    def fail(self, request_id: str, payload: bytes) -> bool:
        return self.invocation.settle(Outcome(payload, failed=True))

    def begin_stream(self, request_id: str) -> Stream | None:
        return self.invocation.begin_stream()

    def fail_to_start(self, payload: bytes) -> None:
        raise AssertionError(payload)


def test_a_stream_over_lambdas_limit_fails_and_its_process_is_cut_off() -> None:
    environment = OneInvocation()
    api = RuntimeApi(environment, "test", max_stream_bytes=10)
    api.start()
    path = "/2018-06-01/runtime/invocation/1/response"
    connection = http.client.HTTPConnection(api.address, timeout=PATIENCE)
    with contextlib.closing(connection):
        connection.request("POST", path, iter([b"12345"] * 3), {RESPONSE_MODE: "streaming"})
        with pytest.raises(ConnectionError):
            connection.getresponse()
    api.close()

    outcome = environment.invocation.wait(PATIENCE)
    assert outcome is not None
    assert outcome.failed
    assert json.loads(outcome.payload)["errorType"] == "Function.ResponseSizeTooLarge"


def test_a_buffered_route_cannot_send_what_a_function_streams(gateway: Gateway) -> None:
    assert gateway.call("/whole")[0] == 502
    assert gateway.call("/whole?do=buffered") == (200, b"whole")


def test_whoever_invokes_without_taking_a_stream_gets_its_bytes_in_one_piece(pool_of: PoolOf) -> None:
    pool = pool_of(STREAM)
    plain, failing = Invocation(b"{}", "Root=1"), Invocation(b'{"end": "raise"}', "Root=1")
    for invocation in (plain, failing):
        pool.submit(invocation)

    answer, error = plain.wait(PATIENCE), failing.wait(PATIENCE)
    assert answer is not None
    assert answer.payload.endswith(bytes(8) + b"piece 0\n")
    assert error is not None
    assert error.failed
    assert b"LookupError" in error.payload
