"""The HTTP/1.1 server under the gateway, the Lambda API and moto (RFC 9112)."""

import contextlib
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

    def start(handler: Handler, max_body: int = 1000, arrival_seconds: float | None = None) -> Server:
        server = Server(handler, listen(), name="test", max_body=max_body, arrival_seconds=arrival_seconds)
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
            b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 3\r\n"
            b"Connection: close\r\n\r\nabc"
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


GET, POST = b"GET / HTTP/1.1\r\nHost: x\r\n", b"POST / HTTP/1.1\r\nHost: x\r\n"


@pytest.mark.parametrize(
    "bytes_sent",
    [
        b"nonsense\r\n\r\n",
        b"GET / HTTP/2\r\n\r\n",
        b"GET  / HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /\x00 HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /\xe4 HTTP/1.1\r\nHost: x\r\n\r\n",
        b"G(T / HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET ftp://x/ HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET http:/x HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET http://[x/ HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET http://a@x/ HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET x HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x y\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a@x\r\n\r\n",
        GET + b"Host: x\r\n\r\n",
        GET + b"no colon\r\n\r\n",
        GET + b"space : before\r\n\r\n",
        GET + b": no name\r\n\r\n",
        GET + b"n\x00me: x\r\n\r\n",
        GET + b"X: 1\r\n folded: 2\r\n\r\n",
        GET + b"X: 1\r\n\tfolded\r\n\r\n",
        GET + b"X: a\x00b\r\n\r\n",
        GET + b"X: a\rY: b\r\n\r\n",
        GET + b"X: a\x1fb\r\n\r\n",
        POST + b"Content-Length: -1\r\n\r\n",
        POST + b"Content-Length: +1\r\n\r\na",
        POST + b"Content-Length: 3\r\ncontent-length: 2\r\n\r\nabc",
        POST + b"Content-Length: 3, 3\r\n\r\nabc",
        POST + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n",
        POST + b"Transfer-Encoding: chunked\r\n\r\nnot hex\r\n",
        POST + b"Transfer-Encoding: chunked\r\n\r\n-1\r\n",
        POST + b"Transfer-Encoding: chunked\r\n\r\n0x1\r\na\r\n0\r\n\r\n",
        POST + b"Transfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n",
        POST + b"Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n",
        POST + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        POST + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        POST + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
        POST + b"Transfer-Encoding: identity\r\nContent-Length: 3\r\n\r\nabc",
        b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ],
)
def test_bytes_that_are_no_request_are_answered_400_once_and_nothing_of_them_reaches_anybody(
    serving: Serve, bytes_sent: bytes
) -> None:
    reached: list[Request] = []

    def remember(request: Request) -> Response:
        reached.append(request)
        return Response()

    with connect(serving(remember)) as client:
        client.sendall(bytes_sent + GET + b"\r\n")
        answer = b"".join(iter(lambda: client.recv(4096), b""))

    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.count(b"HTTP/1.1") == 1
    assert reached == []


@pytest.mark.parametrize(
    ("bytes_sent", "status"),
    [
        (b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n", b"414"),
        (GET + b"X: a\r\n" * 300 + b"\r\n", b"431"),
        (GET + b"X: " + b"a" * 70_000 + b"\r\n\r\n", b"400"),
    ],
)
def test_a_head_that_goes_on_and_on_is_refused(serving: Serve, bytes_sent: bytes, status: bytes) -> None:
    with connect(serving(echo)) as client:
        client.sendall(bytes_sent)
        answer = b"".join(iter(lambda: client.recv(4096), b""))

    assert answer.startswith(b"HTTP/1.1 " + status)


@pytest.mark.parametrize(
    "begun",
    [b"GET", GET, POST + b"Content-Length: 9\r\n\r\nab", POST + b"Transfer-Encoding: chunked\r\n\r\n9"],
)
def test_a_request_that_does_not_arrive_is_given_up_however_it_drips(serving: Serve, begun: bytes) -> None:
    with connect(serving(echo, arrival_seconds=0.3)) as client:
        client.sendall(begun)
        answer = b""
        # Each byte comes well within the time, all of them do not.
        for byte in b"c" * 100:
            client.settimeout(0.05)
            with contextlib.suppress(TimeoutError, ConnectionError):
                answer += client.recv(4096) or b"."
            with contextlib.suppress(ConnectionError):
                client.sendall(bytes([byte]))
            if answer:
                break

    assert answer.startswith(b"HTTP/1.1 408 ")


def test_a_connection_may_be_idle_for_longer_than_a_request_may_arrive(serving: Serve) -> None:
    with connect(serving(echo, arrival_seconds=0.2)) as client:
        for _ in range(2):
            client.sendall(b"GET /there HTTP/1.1\r\nHost: x\r\n\r\n")
            assert read_until(client, b"/there").startswith(b"HTTP/1.1 200 ")
            client.settimeout(0.4)
            with pytest.raises(TimeoutError):
                client.recv(1)
            client.settimeout(PATIENCE)


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
