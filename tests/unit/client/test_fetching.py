"""Keys and cards fetched: from where, how much, and what is not followed."""

import json
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from a2a_serverless.client.card_verification import KeysOutOfReachError
from a2a_serverless.client.fetching import MOST_BYTES, AllowedKeys, UnfetchedError, fetch, fetched_keys
from tests.unit.client.signing import jwk

KEYS = json.dumps({"keys": [jwk("ES256")]}).encode()


class Place:
    """A server on this machine that answers every request alike."""

    def __init__(self) -> None:
        self.answer: tuple[int, dict[str, str], bytes] = (200, {}, KEYS)
        self.asked: list[str] = []
        place = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                place.asked.append(self.path)
                status, headers, body = place.answer
                self.send_response(status)
                for name, value in {"Content-Length": str(len(body)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                """Nobody reads it."""

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.host = f"127.0.0.1:{self.server.server_port}"
        self.url = f"http://{self.host}/keys"


@pytest.fixture
def place() -> Iterator[Place]:
    made = Place()
    thread = threading.Thread(target=made.server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield made
    made.server.shutdown()
    thread.join()
    made.server.server_close()


def test_keys_are_those_that_lie_there(place: Place) -> None:
    assert [key.kid for key in fetched_keys(place.url)] == ["key-1"]


def test_an_address_in_a_signature_is_followed_on_hosts_that_are_allowed_and_once(place: Place) -> None:
    allowed = AllowedKeys([place.host])

    for _ in range(2):
        assert [key.kid for key in allowed(place.url) or ()] == ["key-1"]

    assert place.asked == ["/keys"]


@pytest.mark.parametrize(
    ("hosts", "jku"),
    [
        ([], "https://agent.example/jwks.json"),
        (["agent.example"], "https://evil.example/jwks.json"),
        (["agent.example"], "https://agent.example.evil.example/jwks.json"),
        (["agent.example"], "https://evil.example/agent.example"),
        (["agent.example"], "https://agent.example@evil.example/"),
        (["agent.example"], "https://evil.example@agent.example/"),
        (["agent.example"], "https://agent.example:8443/jwks.json"),
        (["agent.example"], "http://agent.example/jwks.json"),
        (["agent.example"], "ftp://agent.example/jwks.json"),
        (["agent.example"], "https://agent.example:port/jwks.json"),
        (["agent.example"], "https://[agent.example/jwks.json"),
        (["agent.example"], "//agent.example/jwks.json"),
        (["agent.example"], ""),
        (["not a host/", "agent example:x"], "https://agent.example/jwks.json"),
    ],
)
def test_no_other_address_is_followed(hosts: list[str], jku: str) -> None:
    assert AllowedKeys(hosts)(jku) is None


@pytest.mark.parametrize(
    ("host", "jku"),
    [
        ("agent.example", "https://AGENT.example/a"),
        ("Agent.Example", "https://agent.example:443/a"),
        ("agent.example:8443", "https://agent.example:8443/a"),
    ],
)
def test_a_host_is_itself_however_it_is_spelled(host: str, jku: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("a2a_serverless.client.fetching.fetched_keys", lambda _: [])

    assert AllowedKeys([host])(jku) == []


@pytest.mark.parametrize("url", ["http://agent.example/jwks.json", "ftp://127.0.0.1/", "", "https://"])
def test_keys_come_by_https_unless_they_are_on_this_machine(url: str) -> None:
    with pytest.raises(KeysOutOfReachError, match="https"):
        fetched_keys(url)


def test_a_redirect_is_not_followed(place: Place) -> None:
    place.answer = (302, {"Location": place.url + "/elsewhere"}, b"")

    with pytest.raises(UnfetchedError, match="302"):
        fetch(place.url)
    assert place.asked == ["/keys"]


@pytest.mark.parametrize(
    ("body", "words"), [(b"keys", "not JSON"), (b"{}", "no JWK set"), (b"[" * 5000, "not JSON")]
)
def test_what_is_no_key_set_is_none(place: Place, body: bytes, words: str) -> None:
    place.answer = (200, {}, body)

    with pytest.raises(KeysOutOfReachError, match=words):
        fetched_keys(place.url)


def test_what_is_too_long_is_not_read_to_its_end(place: Place) -> None:
    place.answer = (200, {}, b"x" * (MOST_BYTES + 1))

    with pytest.raises(UnfetchedError, match="too long"):
        fetch(place.url)


def test_where_nobody_answers_there_is_nothing() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/keys"

    with pytest.raises(KeysOutOfReachError, match="no answer") as failed:
        fetched_keys(url)
    assert url not in str(failed.value)


def test_an_answer_that_breaks_off_is_none(place: Place) -> None:
    place.answer = (200, {"Content-Length": str(len(KEYS) + 1)}, KEYS)

    with pytest.raises(UnfetchedError, match="no answer"):
        fetch(place.url)
