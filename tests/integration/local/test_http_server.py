"""The HTTP/1.1 server under the gateway, the Lambda API and moto (RFC 9112)."""

import http.client
import queue
import socket
from collections.abc import Callable, Iterator

import pytest

from infra.local.http import Server, listen
from infra.local.wire import Hangup, Request, Response

PATIENCE = 5
Handler = Callable[[Request], Response]
Serve = Callable[..., Server]


@pytest.fixture
def serving() -> Iterator[Serve]:
    servers: list[Server] = []

    def start(handler: Handler, max_body: int = 1000) -> Server:
        server = Server(handler, listen(), name="test", max_body=max_body)
        server.start()
        servers.append(server)
        return server

    yield start
    for server in servers:
        server.close()


def connect(server: Server) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE)


def read_until(connection: socket.socket, end: bytes) -> bytes:
    read = b""
    while not read.endswith(end):
        byte = connection.recv(1)
        assert byte, f"the connection ended after {read!r}"
        read += byte
    return read


def echo(request: Request) -> Response:
    return Response(200, (("Content-Type", "text/plain"),), request.body or request.target.encode())


def test_one_connection_carries_many_requests(serving: Serve) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", serving(echo).port, timeout=PATIENCE)
    bodies = []
    for number in range(3):
        connection.request("POST", "/", b"%d" % number)
        used = connection.sock
        bodies.append((connection.getresponse().read(), used is connection.sock))
    connection.close()

    assert bodies == [(b"0", True), (b"1", True), (b"2", True)]


def test_a_length_that_is_said_twice_alike_is_one_length(serving: Serve) -> None:
    with connect(serving(echo)) as client:
        client.sendall(
            b"POST / HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc"
        )
        answer = b"".join(iter(lambda: client.recv(4096), b""))

    assert answer.startswith(b"HTTP/1.1 200 ")
    assert answer.endswith(b"\r\n\r\nabc")


@pytest.mark.parametrize(
    ("target", "seen"),
    [
        ("http://agent.example:81/a%2Fb/?q=1&r", "agent.example:81 /a%2Fb/?q=1&r"),
        ("HTTP://agent.example", "agent.example /"),
        ("http://agent.example?q", "agent.example /?q"),
        ("/a//b", "x /a//b"),
        ("//a", "x //a"),
        ("*", "x *"),
    ],
)
def test_a_target_in_absolute_form_means_the_path_and_the_host_it_names(
    serving: Serve, target: str, seen: str
) -> None:
    server = serving(lambda request: Response(200, (), f"{request.header('host')} {request.target}".encode()))
    with connect(server) as client:
        client.sendall(f"GET {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        answer = b"".join(iter(lambda: client.recv(4096), b""))

    assert answer.rpartition(b"\r\n\r\n")[2] == seen.encode()


def test_a_chunked_request_body_arrives_whole(serving: Serve) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", serving(echo).port, timeout=PATIENCE)
    connection.request("POST", "/", iter([b"one", b"two"]), encode_chunked=True)
    body = connection.getresponse().read()
    connection.close()

    assert body == b"onetwo"


def test_a_client_that_asks_first_is_told_to_go_on(serving: Serve) -> None:
    with connect(serving(echo)) as client:
        client.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n")
        assert read_until(client, b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        client.sendall(b"ok")
        assert read_until(client, b"ok").startswith(b"HTTP/1.1 200 OK\r\n")


def test_the_answer_to_head_says_how_long_the_body_would_be_and_sends_none(serving: Serve) -> None:
    with connect(serving(echo)) as client:
        client.sendall(b"HEAD /12345 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        answer = b"".join(iter(lambda: client.recv(4096), b""))

    assert b"Content-Length: 6\r\n" in answer
    assert answer.endswith(b"\r\n\r\n")


@pytest.mark.parametrize(
    "framing", [b"Content-Length: 1001\r\n\r\n", b"Transfer-Encoding: chunked\r\n\r\n3e9\r\n"]
)
def test_a_body_over_the_limit_is_refused_and_the_client_gets_to_read_why(
    serving: Serve, framing: bytes
) -> None:
    with connect(serving(echo)) as client:
        client.sendall(b"POST / HTTP/1.1\r\nHost: x\r\n" + framing + b"x" * 1001)
        client.shutdown(socket.SHUT_WR)
        answer = b"".join(iter(lambda: client.recv(4096), b""))

    assert answer.startswith(b"HTTP/1.1 413 ")


@pytest.mark.parametrize(
    "bytes_sent",
    [
        b"nonsense\r\n\r\n",
        b"GET / HTTP/2\r\n\r\n",
        b"GET / HTTP/1.1\r\nno colon\r\n\r\n",
        b"GET / HTTP/1.1\r\nspace : before\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 3\r\ncontent-length: 2\r\n\r\nabc",
        b"POST / HTTP/1.1\r\nContent-Length: 3, 3\r\n\r\nabc",
        b"GET ftp://x/ HTTP/1.1\r\n\r\n",
        b"GET http:/x HTTP/1.1\r\n\r\n",
        b"GET http://[x/ HTTP/1.1\r\n\r\n",
        b"GET x HTTP/1.1\r\n\r\n",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nnot hex\r\n",
    ],
)
def test_bytes_that_are_no_request_are_answered_400(serving: Serve, bytes_sent: bytes) -> None:
    with connect(serving(echo)) as client:
        client.sendall(bytes_sent)
        answer = b"".join(iter(lambda: client.recv(4096), b""))

    assert answer.startswith(b"HTTP/1.1 400 ")


def test_a_streamed_answer_leaves_piece_by_piece(serving: Serve) -> None:
    permissions: queue.SimpleQueue[None] = queue.SimpleQueue()

    def pieces() -> Iterator[bytes]:
        for number in range(2):
            permissions.get(timeout=PATIENCE)
            yield b"%d" % number

    with connect(serving(lambda _: Response(200, (), pieces()))) as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert b"Transfer-Encoding: chunked\r\n" in read_until(client, b"\r\n\r\n")
        for number in range(2):
            permissions.put(None)
            assert read_until(client, b"1\r\n%d\r\n" % number) == b"1\r\n%d\r\n" % number
        assert read_until(client, b"0\r\n\r\n") == b"0\r\n\r\n"


def test_a_handler_that_raises_is_an_internal_error_and_the_connection_goes_on(
    serving: Serve, capfd: pytest.CaptureFixture[str]
) -> None:
    def faulty(request: Request) -> Response:
        return Response(200, (), b"%d" % (1 // len(request.body)))

    connection = http.client.HTTPConnection("127.0.0.1", serving(faulty).port, timeout=PATIENCE)
    statuses = []
    for body in (b"", b"1"):
        connection.request("POST", "/", body)
        response = connection.getresponse()
        response.read()
        statuses.append(response.status)
    connection.close()

    assert statuses == [500, 200]
    assert "ZeroDivisionError" in capfd.readouterr().err


def test_a_handler_without_an_answer_closes_the_connection(serving: Serve) -> None:
    def silent(_: Request) -> Response:
        raise Hangup

    with connect(serving(silent)) as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert client.recv(1) == b""
