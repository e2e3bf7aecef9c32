"""POSTs to real receivers on loopback: where they go, what they carry, and that nothing misleads them."""

import socket
import ssl
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import timedelta
from itertools import repeat
from time import monotonic

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from a2a_serverless.adapters.http_answers import BODY_LIMIT
from a2a_serverless.adapters.https_posts import HttpsPosts
from a2a_serverless.ports.webhooks import WebhookAnswer, WebhookRequest
from tests.fakes.ports import FakeClock
from tests.integration.webhooks.certificates import Authority
from tests.integration.webhooks.receivers import (
    GRACE,
    Line,
    Receiver,
    Script,
    answering,
    one_by_one,
    receiving,
)

HOST = "hooks.example.com"
HERE = "127.0.0.1"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
SHORT = 0.3
"""Seconds that a test gives a receiver that will not make it."""


def request_to(receiver: Receiver, *, timeout: float = GRACE, **changes: object) -> WebhookRequest:
    """A small request to the receiver, whose name nobody could resolve."""
    scheme = "https" if receiver.tls else "http"
    url = f"{scheme}://{HOST}:{receiver.port}/inbox"
    request = WebhookRequest(url, HERE, {"Content-Type": "application/a2a+json"}, b"{}", timeout)
    return replace(request, **changes)  # type: ignore[arg-type]


def answer_of(script: Script, *, timeout: float = GRACE, tls: ssl.SSLContext | None = None) -> WebhookAnswer:
    """What a POST to such a receiver comes to."""
    with receiving(script, tls=tls) as receiver:
        return HttpsPosts().post(request_to(receiver, timeout=timeout))


@pytest.fixture
def tls(scheme: str, trusted: Authority) -> ssl.SSLContext | None:
    """How the receiver speaks TLS, if it does."""
    return trusted.serve(HOST) if scheme == "https" else None


# --- where it goes and what it carries ------------------------------------------------


def test_the_request_goes_to_the_address_and_names_the_host(tls: ssl.SSLContext | None) -> None:
    with receiving(answering(OK), tls=tls) as receiver:
        asked = request_to(receiver)
        asked = replace(
            asked,
            url=f"{asked.url}?a=1&b=%20",
            headers={"Content-Type": "application/a2a+json", "X-A2A-Notification-Token": "tøken"},
            body='{"ä": 1}'.encode(),
        )

        assert HttpsPosts().post(asked) == WebhookAnswer(200)

    assert receiver.requests == [
        f"POST /inbox?a=1&b=%20 HTTP/1.1\r\nHost: {HOST}:{receiver.port}\r\n"
        "Content-Type: application/a2a+json\r\nX-A2A-Notification-Token: tøken\r\n"
        'Content-Length: 9\r\nConnection: close\r\n\r\n{"ä": 1}'.encode()
    ]


def test_the_receiver_is_told_by_sni_which_host_is_meant(trusted: Authority) -> None:
    with receiving(answering(OK), tls=trusted.serve(HOST)) as receiver:
        HttpsPosts().post(request_to(receiver))

    assert receiver.names == [HOST]


@pytest.mark.parametrize(("address", "url"), [(HERE, f"https://{HERE}"), ("::1", "https://[::1]")])
def test_an_address_in_the_url_is_held_against_the_certificate(
    trusted: Authority, address: str, url: str
) -> None:
    with receiving(answering(OK), tls=trusted.serve(address), address=address) as receiver:
        asked = request_to(receiver, url=f"{url}:{receiver.port}/", address=address)

        assert HttpsPosts().post(asked) == WebhookAnswer(200)

    assert receiver.names == [None]
    assert f"Host: {url.removeprefix('https://')}:{receiver.port}\r\n".encode() in receiver.requests[0]


@pytest.mark.parametrize("address", ["localhost", HOST, "127.1", "2130706433", "", "[::1]"])
def test_a_name_is_never_resolved(address: str) -> None:
    with receiving(answering(OK)) as receiver, pytest.raises(ValueError, match="does not appear to be"):
        HttpsPosts().post(request_to(receiver, address=address))

    assert receiver.requests == []


def test_a_big_body_arrives_whole(tls: ssl.SSLContext | None) -> None:
    body = bytes(range(256)) * 8192

    with receiving(answering(OK), tls=tls) as receiver:
        assert HttpsPosts().post(request_to(receiver, body=body)) == WebhookAnswer(200)

    assert receiver.requests[0].partition(b"\r\n\r\n")[2] == body


def test_no_proxy_is_asked(tls: ssl.SSLContext | None, monkeypatch: pytest.MonkeyPatch) -> None:
    with receiving(answering(OK)) as proxy, receiving(answering(OK), tls=tls) as receiver:
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
            monkeypatch.setenv(name, f"http://{HERE}:{proxy.port}")

        assert HttpsPosts().post(request_to(receiver)) == WebhookAnswer(200)

    assert len(receiver.requests) == 1
    assert proxy.requests == []


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_an_answer_like_any_other(status: int, tls: ssl.SSLContext | None) -> None:
    with receiving(answering(OK)) as inside:
        moved = f"HTTP/1.1 {status} Moved\r\nLocation: http://127.0.0.1:{inside.port}/\r\n\r\n".encode()

        with receiving(answering(moved), tls=tls) as receiver:
            assert HttpsPosts().post(request_to(receiver)) == WebhookAnswer(status)

    assert receiver.connections == 1
    assert inside.connections == 0


def test_no_connection_is_kept_even_if_the_receiver_would(tls: ssl.SSLContext | None) -> None:
    def keep_alive(line: Line) -> None:
        line.hear()
        line.say(b"HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok")
        line.until_gone()

    posts = HttpsPosts()
    with receiving(keep_alive, tls=tls) as receiver:
        assert [posts.post(request_to(receiver)).status for _ in range(3)] == [200] * 3

    assert receiver.connections == 3


def test_many_threads_post_at_once(trusted: Authority) -> None:
    posts = HttpsPosts()
    with receiving(answering(OK), tls=trusted.serve(HOST)) as receiver, ThreadPoolExecutor(16) as threads:
        bodies = [str(number).encode() for number in range(48)]
        answers = list(threads.map(lambda body: posts.post(request_to(receiver, body=body)), bodies))

    assert answers == [WebhookAnswer(200)] * len(bodies)
    assert sorted(each.partition(b"\r\n\r\n")[2] for each in receiver.requests) == sorted(bodies)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("X-A2A-Notification-Token", "a\r\nX-Injected: 1"),
        ("X-A2A-Notification-Token", "a\nb"),
        ("X-A2A-Notification-Token", "a\rb"),
        ("X-A2A-Notification-Token", "a\x00"),
        ("X-A2A-Notification-Token", "a\x7f"),
        ("X-A2A-Notification-Token", "\ud800"),
        ("X-Injected: 1\r\nX", "a"),
        ("X Y", "a"),
        ("X:", "a"),
        ("", "a"),
        ("Töken", "a"),
        ("Host", "other.example.com"),
        ("content-length", "0"),
        ("Transfer-Encoding", "chunked"),
        ("CONNECTION", "keep-alive"),
    ],
)
def test_a_header_that_would_change_the_request_is_our_own_fault(name: str, value: str) -> None:
    with receiving(answering(OK)) as receiver, pytest.raises(ValueError) as refused:  # noqa: PT011
        HttpsPosts().post(request_to(receiver, headers={name: value}))

    assert value == "a" or value not in str(refused.value)
    assert receiver.requests == []


# --- whom it believes ------------------------------------------------


def test_an_unknown_authority_is_not_believed(authority: Authority) -> None:
    answer = answer_of(answering(OK), tls=authority.serve(HOST))

    assert answer == WebhookAnswer(None, problem="TLS: certificate not trusted")


@pytest.mark.parametrize(
    ("host", "problem"),
    [
        ("other.example.com", "TLS: certificate for another name"),
        ("example.com", "TLS: certificate for another name"),
        ("*.other.com", "TLS: certificate for another name"),
        (HERE, "TLS: certificate for another name"),
    ],
)
def test_a_certificate_for_somebody_else_is_not_believed(trusted: Authority, host: str, problem: str) -> None:
    answer = answer_of(answering(OK), tls=trusted.serve(host))

    assert answer == WebhookAnswer(None, problem=problem)


def test_a_certificate_for_a_name_is_not_one_for_the_address(trusted: Authority) -> None:
    with receiving(answering(OK), tls=trusted.serve(HOST)) as receiver:
        asked = request_to(receiver, url=f"https://{HERE}:{receiver.port}/")

        answer = HttpsPosts().post(asked)

    assert answer == WebhookAnswer(None, problem="TLS: certificate for another address")
    assert receiver.requests == []


@pytest.mark.parametrize(
    ("age", "problem"),
    [
        (timedelta(days=31), "TLS: certificate expired"),
        (-timedelta(days=1), "TLS: certificate not valid yet"),
    ],
)
def test_a_certificate_counts_only_in_its_time(trusted: Authority, age: timedelta, problem: str) -> None:
    answer = answer_of(answering(OK), tls=trusted.serve(HOST, age=age))

    assert answer == WebhookAnswer(None, problem=problem)


def test_a_wildcard_certificate_covers_the_host(trusted: Authority) -> None:
    assert answer_of(answering(OK), tls=trusted.serve("*.example.com")) == WebhookAnswer(200)


def test_tls_before_1_2_is_not_spoken(trusted: Authority) -> None:
    old = trusted.serve(HOST)
    with pytest.deprecated_call():
        old.minimum_version = ssl.TLSVersion.TLSv1
    with pytest.deprecated_call():
        old.maximum_version = ssl.TLSVersion.TLSv1_1
    old.set_ciphers("DEFAULT:@SECLEVEL=0")

    assert answer_of(answering(OK), tls=old) == WebhookAnswer(None, problem="TLS: handshake failed")


def test_a_receiver_that_speaks_no_tls_is_given_no_second_chance(trusted: Authority) -> None:
    def plain(line: Line) -> None:
        line.connection.recv(65536)
        line.say(b"HTTP/1.1 400 This is plain HTTP\r\n\r\n")

    with receiving(plain) as receiver:
        answer = HttpsPosts().post(request_to(receiver, url=f"https://{HOST}:{receiver.port}/"))

    assert answer == WebhookAnswer(None, problem="TLS: handshake failed")
    assert receiver.connections == 1


# --- how long it bears ------------------------------------------------


@contextmanager
def in_time() -> Iterator[None]:
    """What is done within took about as long as was allowed, not as long as the receiver went on."""
    begun = monotonic()
    yield
    assert monotonic() - begun < GRACE / 2


def silent(line: Line) -> None:
    line.hear()
    line.until_gone()


def deaf(line: Line) -> None:
    line.closing.wait(GRACE)


def dripping(head: bytes, pieces: Callable[[], Iterator[bytes]]) -> Script:
    def script(line: Line) -> None:
        line.hear()
        line.say(head)
        line.drip(pieces())

    return script


SLOW = {
    "silent": silent,
    "status line": dripping(b"", lambda: one_by_one(b"HTTP/1.1 200 OKKKKKKKKKKKKKK")),
    "headers": dripping(b"HTTP/1.1 200 OK\r\n", lambda: repeat(b"X-Drip: 1\r\n")),
    "one header": dripping(b"HTTP/1.1 200 OK\r\nX-Drip: ", lambda: repeat(b"1")),
    "informational answers": dripping(b"", lambda: repeat(b"HTTP/1.1 102 Processing\r\n\r\n")),
}


@pytest.mark.parametrize("script", SLOW.values(), ids=SLOW)
def test_a_receiver_that_does_not_come_to_a_status_is_left_in_time(
    script: Script, tls: ssl.SSLContext | None
) -> None:
    with in_time():
        answer = answer_of(script, timeout=SHORT, tls=tls)

    assert answer == WebhookAnswer(None, problem="timed out")


def test_a_receiver_that_does_not_read_is_left_in_time(tls: ssl.SSLContext | None) -> None:
    with receiving(deaf, tls=tls) as receiver, in_time():
        answer = HttpsPosts().post(request_to(receiver, timeout=SHORT, body=bytes(32 * 1024 * 1024)))
        receiver.closing.set()

    assert answer == WebhookAnswer(None, problem="timed out")


@pytest.mark.parametrize(
    "first", [b"", b"\x16\x03\x03\x00\x7a\x02\x00\x00\x76\x03\x03"], ids=["none", "some"]
)
def test_a_handshake_that_drips_is_left_in_time(trusted: Authority, first: bytes) -> None:
    def drip(line: Line) -> None:
        line.say(first)
        line.drip(repeat(b"\x00") if first else iter(lambda: b"", None))

    with receiving(drip) as receiver, in_time():
        asked = request_to(receiver, timeout=SHORT, url=f"https://{HOST}:{receiver.port}/")

        assert HttpsPosts().post(asked) == WebhookAnswer(None, problem="timed out")


def test_a_receiver_that_takes_no_connection_is_left_in_time() -> None:
    with ExitStack() as stack:
        listening = stack.enter_context(socket.create_server((HERE, 0), backlog=0))
        for _ in range(4):  # one waits to be accepted, the others find no room
            waiting = stack.enter_context(socket.socket())
            waiting.settimeout(0)
            waiting.connect_ex(listening.getsockname())
        url = f"http://{HOST}:{listening.getsockname()[1]}/"

        with in_time():
            answer = HttpsPosts().post(WebhookRequest(url, HERE, {}, b"", SHORT))

    assert answer == WebhookAnswer(None, problem="timed out")


def test_a_body_that_drips_takes_nothing_from_the_status(tls: ssl.SSLContext | None) -> None:
    endless = dripping(b"HTTP/1.1 202 Accepted\r\n\r\n", lambda: repeat(b"."))

    with in_time():
        assert answer_of(endless, timeout=SHORT, tls=tls) == WebhookAnswer(202)


@pytest.mark.parametrize(
    ("head", "piece"),
    [
        (b"", bytes(BODY_LIMIT)),
        (b"Content-Length: 99999999999999999999\r\n", bytes(BODY_LIMIT)),
        (b"Transfer-Encoding: chunked\r\n", b"10000\r\n" + bytes(0x10000) + b"\r\n"),
        (b"Transfer-Encoding: chunked\r\n", b"1\r\n.\r\n" * 10_000),
    ],
    ids=["until the end", "a length", "big chunks", "small chunks"],
)
def test_a_huge_body_is_left_unread(head: bytes, piece: bytes, tls: ssl.SSLContext | None) -> None:
    said = 0

    def huge(line: Line) -> None:
        nonlocal said
        line.hear()
        line.say(b"HTTP/1.1 200 OK\r\n" + head + b"\r\n")
        while True:
            line.say(piece)
            said += len(piece)

    with in_time():
        assert answer_of(huge, tls=tls) == WebhookAnswer(200)
    assert said < 32 * 1024 * 1024  # what lay in the system's buffers


def test_time_runs_out_before_the_first_byte() -> None:
    with receiving(answering(OK)) as receiver:
        answer = HttpsPosts().post(request_to(receiver, timeout=0.0))

    assert answer == WebhookAnswer(None, problem="timed out")
    assert receiver.requests == []


# --- what counts as an answer ------------------------------------------------

ANSWERS = {
    "no reason": (b"HTTP/1.1 204\r\n\r\n", 204),
    "HTTP/1.0": (b"HTTP/1.0 200 OK\r\n\r\nfine", 200),
    "bare line feeds": (b"HTTP/1.1 200 OK\nContent-Length: 0\n\n", 200),
    "teapot": (b"HTTP/1.1 418 I'm a teapot\r\n\r\n", 418),
    "hundreds of headers": (b"HTTP/1.1 200 OK\r\n" + b"X: 1\r\n" * 300 + b"\r\n", 200),
    "headers without a colon": (b"HTTP/1.1 200 OK\r\nfolded\r\n : 1\r\n\r\n", 200),
    "out of the list": (b"HTTP/1.1 599 \xff\xfe\r\n\r\n", 599),
    "chunks": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", 200),
    "bad chunks": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nok\r\n", 200),
    "a chunk beyond all bounds": (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: x\r\n\r\n" + b"f" * 9000 + b"\r\n",
        200,
    ),
    "a length beyond all bounds": (b"HTTP/1.1 200 OK\r\nContent-Length: " + b"9" * 9000 + b"\r\n\r\n", 200),
    "negative chunk": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\nok\r\n", 200),
    "negative length": (b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", 200),
    "no number": (b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n", 200),
    "body cut off": (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort", 200),
    "continue": (b"HTTP/1.1 100 Continue\r\n\r\n" + OK, 200),
    "early hints": (b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + OK, 200),
    "several": (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 P\r\n\r\nHTTP/1.1 500 No\r\n\r\n", 500),
    "an upgrade": (b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n\x00\x00", 101),
}


@pytest.mark.parametrize(("said", "status"), ANSWERS.values(), ids=ANSWERS)
def test_the_status_is_the_answers(said: bytes, status: int, tls: ssl.SSLContext | None) -> None:
    assert answer_of(answering(said), tls=tls) == WebhookAnswer(status)


NO_ANSWERS = {
    "nothing": (b"", "closed without an answer"),
    "half a status line": (b"HTTP/1.1 20", "closed without an answer"),
    "no end of the headers": (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n", "closed without an answer"),
    "nothing after the interim": (b"HTTP/1.1 100 Continue\r\n\r\n", "closed without an answer"),
    "SSH": (b"SSH-2.0-OpenSSH_9.6\r\n", "not an HTTP answer"),
    "SMTP": (b"220 mail.example.com ESMTP\r\n", "not an HTTP answer"),
    "HTTP/2": (b"\x00\x00\x12\x04\x00\x00\x00\x00\x00\r\n", "not an HTTP answer"),
    "HTTP/0.9": (b"<html>hello</html>\r\n", "not an HTTP answer"),
    "another HTTP": (b"HTTP/3.0 200 OK\r\n\r\n", "not an HTTP answer"),
    "status in words": (b"HTTP/1.1 fine OK\r\n\r\n", "not an HTTP answer"),
    "status too low": (b"HTTP/1.1 99 OK\r\n\r\n", "not an HTTP answer"),
    "nothing but line breaks": (b"\r\n" * 100, "not an HTTP answer"),
    "status too high": (b"HTTP/1.1 1000 OK\r\n\r\n", "not an HTTP answer"),
    "many headers": (b"HTTP/1.1 200 OK\r\n" + b"X: 1\r\n" * 20_000 + b"\r\n", "answer's headers too long"),
    "huge headers": (b"HTTP/1.1 200 OK\r\nX: " + bytes(100_000), "answer's headers too long"),
    "a huge status line": (b"HTTP/1.1 200 " + b"O" * 100_000, "answer's headers too long"),
    "endless interims": (b"HTTP/1.1 100 Continue\r\n\r\n" * 2000, "answer's headers too long"),
}


@pytest.mark.parametrize(("said", "problem"), NO_ANSWERS.values(), ids=NO_ANSWERS)
def test_what_is_no_answer_is_called_by_its_name(
    said: bytes, problem: str, tls: ssl.SSLContext | None
) -> None:
    assert answer_of(answering(said), tls=tls) == WebhookAnswer(None, problem=problem)


def reset(line: Line) -> None:
    line.hear()
    line.reset()


def test_a_reset_is_told_apart_and_nothing_is_repeated() -> None:
    with receiving(reset) as receiver:
        assert HttpsPosts().post(request_to(receiver)) == WebhookAnswer(None, problem="connection reset")

    assert receiver.connections == 1


def test_a_reset_below_tls_is_no_answer_either(trusted: Authority) -> None:
    answer = answer_of(reset, tls=trusted.serve(HOST))

    # The TLS library tells a reset from an ordinary end in some of its releases only.
    assert answer.status is None
    assert answer.problem in ("connection reset", "closed without an answer")


def test_nobody_listening_is_told_apart() -> None:
    with socket.create_server((HERE, 0)) as listening:
        url = f"http://{HOST}:{listening.getsockname()[1]}/"

    answer = HttpsPosts().post(WebhookRequest(url, HERE, {}, b"", GRACE))

    assert answer == WebhookAnswer(None, problem="connection refused")


def test_an_address_that_cannot_be_reached_is_told_apart() -> None:
    answer = HttpsPosts().post(WebhookRequest(f"http://{HOST}/", "255.255.255.255", {}, b"", GRACE))

    assert answer == WebhookAnswer(None, problem="not reachable")


def test_a_refusal_before_the_whole_request_was_read_is_heard() -> None:
    def refuse(line: Line) -> None:
        line.connection.recv(1024)
        line.say(b"HTTP/1.1 413 Too Large\r\nRetry-After: 5\r\n\r\n")
        line.connection.shutdown(socket.SHUT_RDWR)

    with receiving(refuse) as receiver:
        answer = HttpsPosts().post(request_to(receiver, body=bytes(32 * 1024 * 1024)))

    assert answer == WebhookAnswer(413, retry_after=5.0)


@settings(max_examples=100, deadline=None)
@given(said=st.one_of(st.binary(), st.binary().map(lambda rest: b"HTTP/1.1 200 OK\r\n" + rest)))
@example(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\n")
@example(b"HTTP/1.1 200 OK\r\nRetry-After: \xff\r\n\r\n")
def test_nothing_that_is_said_raises(said: bytes) -> None:
    answer = answer_of(answering(said))

    assert (answer.status is None) == bool(answer.problem)


# --- when to come again ------------------------------------------------

NOW = FakeClock().now()
LATER, EARLIER = NOW + timedelta(hours=1), NOW - timedelta(hours=1)
HTTP_DATE = "%a, %d %b %Y %H:%M:%S GMT"


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("0", 0.0),
        ("7", 7.0),
        ("  120  ", 120.0),
        ("86401", 86_400.0),
        ("9" * 500, 86_400.0),
        (LATER.strftime(HTTP_DATE), 3600.0),
        (LATER.strftime("%A, %d-%b-%y %H:%M:%S GMT"), 3600.0),
        (LATER.strftime("%a %b %d %H:%M:%S %Y"), 3600.0),
        (EARLIER.strftime(HTTP_DATE), 0.0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 86_400.0),
        ("", None),
        ("-5", None),
        ("1.5", None),
        ("soon", None),
        ("٣", None),
        ("Fri, 99 Foo 2026 99:99:99 GMT", None),
        ("Fri, 31 Dec 2026 23:59:59 +99999999999999999999", None),
        ("Fri, 31 Dec 99999 23:59:59 GMT", None),
    ],
)
def test_retry_after_is_a_number_of_seconds_or_a_date(said: str, seconds: float | None) -> None:
    answer = f"HTTP/1.1 503 Later\r\nRetry-After: {said}\r\nContent-Length: 0\r\n\r\n".encode()

    with receiving(answering(answer)) as receiver:
        assert HttpsPosts(FakeClock()).post(request_to(receiver)) == WebhookAnswer(503, retry_after=seconds)
