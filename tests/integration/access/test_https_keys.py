"""Key sets fetched over real connections, from issuers of every temper."""

import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from a2a_serverless.adapters import https_keys
from a2a_serverless.adapters.https_keys import MOST_BYTES, HttpsKeys, UnfetchedError
from a2a_serverless.ports.access import TrustedIssuer
from tests.integration.webhooks.certificates import Authority

KEYS = [{"kty": "RSA", "kid": "one"}]
JWKS = json.dumps({"keys": KEYS}).encode()

Answer = Callable[[BaseHTTPRequestHandler], None]


class Issuer:
    """An issuer on loopback that answers by path as a test says."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.answers: dict[str, Answer] = {}
        self.asked: list[str] = []
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                issuer.asked.append(self.path)
                issuer.answers.get(self.path, missing)(self)

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        if tls is not None:
            self.server.socket = tls.wrap_socket(self.server.socket, server_side=True)
        self.url = f"http{'s' if tls else ''}://127.0.0.1:{self.server.server_address[1]}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True)

    def trusted(self, **changed: Any) -> TrustedIssuer:
        """Us, trusting it by discovery."""
        return replace(TrustedIssuer(self.url, ("agent",), ("RS256",)), **changed)

    def configured(self, **said: Any) -> None:
        """Say where its keys are."""
        body = {"issuer": self.url, "jwks_uri": f"{self.url}/keys", **said}
        self.answers["/.well-known/openid-configuration"] = text(json.dumps(body).encode())


def text(body: bytes, status: int = 200, **headers: str) -> Answer:
    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(status)
        for name, value in headers.items():
            request.send_header(name.replace("_", "-"), value)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)

    return answer


missing = text(b"", 404)


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    yield from running(Issuer())


def running(issuer: Issuer) -> Iterator[Issuer]:
    issuer.thread.start()
    try:
        yield issuer
    finally:
        issuer.server.shutdown()
        issuer.server.server_close()
        issuer.thread.join()


@pytest.fixture
def web() -> HttpsKeys:
    return HttpsKeys(loopback=True)


def test_keys_are_found_by_the_issuers_configuration(issuer: Issuer, web: HttpsKeys) -> None:
    issuer.configured()
    issuer.answers["/keys"] = text(JWKS)

    assert web.fetch(issuer.trusted()) == KEYS
    assert issuer.asked == ["/.well-known/openid-configuration", "/keys"]


def test_an_address_of_keys_needs_no_configuration(issuer: Issuer, web: HttpsKeys) -> None:
    issuer.answers["/jwks?v=1"] = text(JWKS)

    assert web.fetch(issuer.trusted(issuer="anybody", jwks_uri=f"{issuer.url}/jwks?v=1")) == KEYS


def test_an_issuer_with_a_path_has_its_configuration_below_it(issuer: Issuer, web: HttpsKeys) -> None:
    tenant = f"{issuer.url}/tenant/v2.0"
    body = json.dumps({"issuer": tenant, "jwks_uri": f"{issuer.url}/keys"}).encode()
    issuer.answers["/tenant/v2.0/.well-known/openid-configuration"] = text(body)
    issuer.answers["/keys"] = text(JWKS)

    assert web.fetch(issuer.trusted(issuer=tenant)) == KEYS


def test_what_is_no_key_in_a_set_is_left_out_and_sets_end_somewhere(issuer: Issuer, web: HttpsKeys) -> None:
    issuer.answers["/keys"] = text(json.dumps({"keys": ["x", None, *KEYS * 200]}).encode())

    assert web.fetch(issuer.trusted(jwks_uri=f"{issuer.url}/keys")) == KEYS * 98


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (text(JWKS, 404), "status 404"),
        (text(JWKS, 500), "status 500"),
        (text(JWKS, 301, Location="/elsewhere"), "status 301"),
        (text(JWKS, 304), "status 304"),
        (text(b"not json"), "not JSON"),
        (text(b"[" * 100_000), "not JSON"),
        (text(b"\xff"), "not JSON"),
        (text(b"[]"), "not an object"),
        (text(b'{"keys":{}}'), "not a key set"),
        (text(b"{}"), "not a key set"),
        (text(b" " * (MOST_BYTES + 1)), "too long"),
        (text(JWKS, Content_Encoding="gzip"), "compressed"),
        (lambda request: request.wfile.write(b"nonsense\r\n\r\n"), "ProtocolError"),
        (lambda _: None, "ProtocolError"),
    ],
)
def test_an_answer_that_is_no_key_set_is_none(
    issuer: Issuer, web: HttpsKeys, answer: Answer, why: str
) -> None:
    issuer.answers["/keys"] = answer
    issuer.answers["/elsewhere"] = text(JWKS)

    with pytest.raises(UnfetchedError, match=why):
        web.fetch(issuer.trusted(jwks_uri=f"{issuer.url}/keys"))
    assert "/elsewhere" not in issuer.asked


@pytest.mark.parametrize(
    "said",
    [
        {"issuer": "https://evil.example"},
        {"issuer": None},
        {"jwks_uri": None},
        {"jwks_uri": ["x"]},
        {"jwks_uri": "file:///etc/passwd"},
        {"jwks_uri": "http://169.254.169.254/latest/meta-data"},
        {"jwks_uri": "http://keys.example/"},
        {"jwks_uri": "https://user:secret@127.0.0.1/"},
    ],
)
def test_a_configuration_that_is_anothers_or_leads_astray_is_not_followed(
    issuer: Issuer, web: HttpsKeys, said: dict[str, Any]
) -> None:
    issuer.configured(**said)

    with pytest.raises(UnfetchedError):
        web.fetch(issuer.trusted())
    assert issuer.asked == ["/.well-known/openid-configuration"]


def test_a_slow_issuer_is_not_waited_for(
    issuer: Issuer, web: HttpsKeys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(https_keys, "READ_SECONDS", 0.05)
    answered = threading.Event()
    issuer.answers["/keys"] = lambda _: answered.wait(10) and None

    with pytest.raises(UnfetchedError, match="ReadTimeoutError"):
        web.fetch(issuer.trusted(jwks_uri=f"{issuer.url}/keys"))
    answered.set()


def test_an_issuer_that_drips_is_not_waited_for(
    issuer: Issuer, web: HttpsKeys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(https_keys, "SECONDS", 0.0)
    issuer.answers["/keys"] = text(JWKS)

    with pytest.raises(UnfetchedError, match="too slow"):
        web.fetch(issuer.trusted(jwks_uri=f"{issuer.url}/keys"))


def test_an_issuer_that_is_not_there_has_no_keys(web: HttpsKeys) -> None:
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))

        with pytest.raises(UnfetchedError, match="NewConnectionError"):
            web.fetch(TrustedIssuer(f"http://127.0.0.1:{deaf.getsockname()[1]}", ("agent",), ("RS256",)))


def test_without_being_told_so_nothing_of_this_machine_is_asked(issuer: Issuer) -> None:
    issuer.configured()

    with pytest.raises(UnfetchedError, match="not an address"):
        HttpsKeys().fetch(issuer.trusted())
    assert issuer.asked == []


def test_a_certificate_is_checked(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    trusting = ssl.create_default_context(cafile=str(authority.file))
    for issuer in running(Issuer(authority.serve("127.0.0.1"))):
        issuer.answers["/keys"] = text(JWKS)
        trusted = issuer.trusted(jwks_uri=f"{issuer.url}/keys")

        assert HttpsKeys(tls=trusting).fetch(trusted) == KEYS
        with pytest.raises(UnfetchedError, match="SSLError"):
            HttpsKeys().fetch(trusted)
    for issuer in running(Issuer(authority.serve("other.example"))):
        with pytest.raises(UnfetchedError, match="SSLError"):
            HttpsKeys(tls=trusting).fetch(issuer.trusted(jwks_uri=f"{issuer.url}/keys"))
