"""What a caller is told of a connection that comes to nothing."""

import asyncio
import socket
import ssl
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest

from a2a_serverless.client import Options, Retries, Timeouts, UnreachableError, discover
from a2a_serverless.client.breaking import NO_ANSWER, what_broke
from a2a_serverless.client.connection import made_by_environment
from a2a_serverless.client.fetching import UnfetchedError, fetch

ONCE = Options(retries=Retries(attempts=1), timeouts=Timeouts(connect=5, first_byte=5))


def told(url: str) -> str:
    with pytest.raises(UnreachableError) as error:
        asyncio.run(discover(url, options=ONCE))
    return str(error.value)


@contextmanager
def answering(said: bytes) -> Iterator[int]:
    """A server that says the same to everybody and hangs up; its port."""

    def serve() -> None:
        while True:
            try:
                line, _ = listening.accept()
            except OSError:
                return
            with line:
                line.recv(65536)
                line.sendall(said)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        serving = threading.Thread(target=serve)
        serving.start()
        try:
            yield listening.getsockname()[1]
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            serving.join()


def test_a_port_where_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    assert told(f"http://127.0.0.1:{port}") == "the connection failed: nobody listens there"


def test_a_name_that_nobody_has() -> None:
    assert told("http://agent.invalid") == "the connection failed: its name is not known"


@pytest.mark.parametrize("said", [b"", b"220 mail.example ESMTP\r\n", b"HTTP/1.1 200 OK\r\nContent-"])
def test_somebody_who_hangs_up_or_speaks_something_else(said: bytes) -> None:
    with answering(said) as port:
        assert told(f"http://127.0.0.1:{port}") == (
            "the connection failed: what answers hung up, or does not speak HTTP"
        )


def test_keys_whose_server_hangs_up() -> None:
    with answering(b"") as port, pytest.raises(UnfetchedError) as error:
        fetch(f"http://127.0.0.1:{port}/jwks.json")
    assert str(error.value) == "there is no answer: it was cut off"


def test_somebody_without_tls() -> None:
    with answering(b"HTTP/1.1 400 Bad Request\r\n\r\n") as port:
        assert told(f"https://127.0.0.1:{port}") == "the connection failed: it does not speak TLS as we do"


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        (
            "ALL_PROXY",
            "socks5://127.0.0.1:1",
            "the environment names a SOCKS proxy, which needs httpx[socks]",
        ),
        ("ALL_PROXY", "ftp://proxy.example", "the environment names a proxy that cannot be used"),
        ("ALL_PROXY", "http://[::1", "the environment names a proxy that cannot be used"),
        ("SSLKEYLOGFILE", "/no/such/place", "SSL_CERT_FILE, SSL_CERT_DIR or SSLKEYLOGFILE"),
    ],
)
def test_what_the_environment_names_and_nobody_can_use(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, words: str
) -> None:
    monkeypatch.setenv(name, value)
    monkeypatch.setitem(sys.modules, "socksio", None)  # who has it installed can use the first

    with pytest.raises(UnreachableError) as error, made_by_environment():
        httpx.AsyncClient(verify=httpx.create_ssl_context())

    assert words in str(error.value)
    assert value not in str(error.value)


def test_what_nobody_has_words_for_is_told_without_its_own() -> None:
    assert what_broke(RuntimeError("of /secret/path")) == NO_ANSWER


def test_a_certificate_that_nobody_trusts_is_told_by_the_reason() -> None:
    refused = ssl.SSLCertVerificationError(1, "[SSL] certificate verify failed")
    refused.verify_message = "self-signed certificate"
    error = httpx.ConnectError("[SSL] certificate verify failed (_ssl.c:1006)")
    error.__cause__ = ExceptionGroup("attempts", [refused])

    assert what_broke(error) == "its certificate is not trusted: self-signed certificate"
