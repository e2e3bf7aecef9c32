"""Attacks on a whole deployment over real sockets: each ends in a refusal that tells nothing.

After all of them the deployment serves as before, and no function has logged a fault.
"""

import json
import re
import socket
import statistics
import threading
import time
from base64 import b64encode
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from a2a_serverless.bindings.http import MAX_BODY
from tests.e2e.attackers import (
    Answer,
    Forger,
    access_document,
    answers,
    connection,
    exchange,
    request,
)
from tests.e2e.conftest import WORKSHOP
from tests.e2e.stack import PATIENCE, LocalStack, running

ALICE, BOB = ("Authorization: Bearer alice-token", "Authorization: Bearer bob-token")
VERSION = "A2A-Version: 1.0"
JSON = "Content-Type: application/json"
PAGE = bytes(range(128)) * 4096
"""Half a megabyte that says to be a page."""

STRANGER = b'{"error":"Unauthorized"}'
SOON = 20
"""Seconds in which somebody else is served while others attack; far more than it takes."""


@pytest.fixture(scope="module")
def forger() -> Forger:
    return Forger()


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory, forger: Forger) -> Iterator[LocalStack]:
    """A deployment that knows a few callers, which has logged no fault when all attacks are over."""
    folder = tmp_path_factory.mktemp("guarded")
    document = folder / "access.json"
    document.write_text(json.dumps(access_document(forger)))
    with running(folder, *WORKSHOP, "--credentials", str(document)) as stack:
        yield stack
        assert served(stack)
        assert [line for log in folder.glob("*.log") for line in faults(log)] == []


def faults(log: Path) -> list[str]:
    """What a function has logged that is an error."""
    lines = log.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if '"level":"ERROR"' in line or "Traceback" in line]


def served(stack: LocalStack) -> bool:
    """Whether somebody who may call is answered soon."""
    (answer,) = exchange(stack.url, request("GET", "/tasks?pageSize=1", ALICE, VERSION), patience=SOON)
    return answer.status == 200


def one(stack: LocalStack, *sent: Any, **more: Any) -> Answer:
    """The only answer to one request."""
    (answer,) = exchange(stack.url, request(*sent, **more))
    return answer


def post(stack: LocalStack, path: str, body: object, *headers: str) -> Answer:
    """The answer to Alice's request, or to whoever the headers say it is."""
    sent = body if isinstance(body, bytes) else json.dumps(body).encode()
    return one(stack, "POST", path, *(headers or (ALICE,)), VERSION, JSON, body=sent)


def message(text: str = "echo", **fields: Any) -> dict[str, Any]:
    return {"message": {"messageId": str(uuid4()), "role": "ROLE_USER", "parts": [{"text": text}], **fields}}


@pytest.fixture(scope="module")
def hers(guarded: LocalStack) -> dict[str, Any]:
    """A task of Alice's with content that has an address of its own."""
    raw = {
        "raw": b64encode(PAGE).decode(),
        "mediaType": "text/html",
        "filename": 'a"\r\nX-Injected: 1\r\n\r\n<b>',
    }
    answer = post(guarded, "/message:send", message(parts=[raw]))
    task: dict[str, Any] = json.loads(answer.body)["task"]
    assert task["status"]["state"] == "TASK_STATE_COMPLETED"
    return task


# --- who one is ------------------------------------------------


def bearing(token: str) -> str:
    return f"Authorization: Bearer {token}"


def test_a_token_opens_the_door_only_as_its_issuer_made_it(guarded: LocalStack, forger: Forger) -> None:
    with socket.create_server(("127.0.0.1", 0)) as elsewhere:
        address = f"http://127.0.0.1:{elsewhere.getsockname()[1]}"
        told = {
            name: one(guarded, "GET", "/tasks", bearing(token), VERSION).told
            for name, token in forger.forgeries(address).items()
        }
        elsewhere.settimeout(0)
        with pytest.raises(BlockingIOError):
            elsewhere.accept()

    assert one(guarded, "GET", "/tasks", bearing(forger.good()), VERSION).status == 200
    refused = one(guarded, "GET", "/tasks", VERSION).told
    assert refused[::2] == (401, STRANGER)
    assert {name: answer for name, answer in told.items() if answer != refused} == {}


BASIC = f"Authorization: Basic {b64encode(b'alice:password').decode()}"
KEY = "X-API-Key: alice-key"

NOT_CREDENTIALS: Mapping[str, tuple[str, ...]] = {
    "none": (),
    "twice the same": (ALICE, ALICE),
    "two people's": (ALICE, BOB),
    "two people's in one": (f"{ALICE}, Bearer bob-token",),
    "two people's by two schemes": (BOB, KEY),
    "right and wrong": (ALICE, "X-API-Key: wrong"),
    "two keys": (KEY, "X-API-Key: other"),
    "two spellings": (ALICE, "authorization: Bearer bob-token"),
    "a scheme within a scheme": ("Authorization: Bearer Bearer alice-token",),
    "a tab": ("Authorization: Bearer\talice-token",),
    "for a proxy": ("Proxy-Authorization: Bearer alice-token",),
    "with an underscore": ("X_API_Key: alice-key",),
    "as a cookie": ("Cookie: Authorization=Bearer alice-token; X-API-Key=alice-key",),
    "forwarded": ("X-Forwarded-User: alice", "X-Remote-User: alice", "X-Amzn-Oidc-Identity: alice"),
    "another case": ("Authorization: Bearer ALICE-TOKEN",),
    "not ASCII": ("Authorization: Bearer alice-token\xff",),
    "no colon": ("Authorization: Basic YWxpY2U=",),
    "broken": ("Authorization: Basic %%%",),
    "a wrong password": (f"Authorization: Basic {b64encode(b'alice:wrong').decode()}",),
    "nobody's name": (f"Authorization: Basic {b64encode(b'nobody:password').decode()}",),
    "the hash": ("Authorization: Bearer 0d3d2c1f5a0e1b2c3d4e5f60718293a4b5c6d7e8f90123456789abcdef012345",),
}

DOORS = (
    ("POST", "/", b'{"jsonrpc":"2.0","id":1,"method":"ListTasks"}'),
    ("POST", "/", b"[" * 1000),
    ("GET", "/tasks?access_token=alice-token&key=alice-key", b""),
    ("GET", "/tasks/x", b""),
    ("POST", "/message:send", b""),
    ("GET", "/artifacts/x/y/0", b""),
    ("GET", "/extendedAgentCard", b""),
    ("DELETE", "/nowhere/at/all", b""),
    ("GET", "/acme/tasks", b""),
)


@pytest.mark.parametrize("headers", NOT_CREDENTIALS.values(), ids=NOT_CREDENTIALS)
def test_whoever_does_not_prove_who_they_are_hears_the_same_at_every_door(
    guarded: LocalStack, headers: tuple[str, ...]
) -> None:
    told = [one(guarded, verb, path, *headers, VERSION, body=body).told for verb, path, body in DOORS]

    assert told[0][::2] == (401, STRANGER)
    assert [answer for answer in told if answer != told[0]] == []


@pytest.mark.parametrize("headers", [(ALICE,), (BASIC,), (KEY,), (ALICE, KEY)])
def test_one_person_is_let_in_by_each_of_their_credentials(
    guarded: LocalStack, hers: Mapping[str, Any], headers: tuple[str, ...]
) -> None:
    assert one(guarded, "GET", f"/tasks/{hers['id']}", *headers, VERSION).status == 200


# --- where a request ends ------------------------------------------------

HEAD = "POST /message:send HTTP/1.1\r\nHost: agent\r\n"
CONCEALED = request("POST", "/message:send", ALICE, VERSION, JSON, body=json.dumps(message()).encode())

TWO_READINGS = {
    "length, then chunks": f"{HEAD}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "chunks, then length": f"{HEAD}Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
    "two lengths": f"{HEAD}Content-Length: 0\r\nContent-Length: 900\r\n\r\n",
    "two lengths in one": f"{HEAD}Content-Length: 0, 900\r\n\r\n",
    "chunks by another name": f"{HEAD}Transfer-Encoding: xchunked\r\n\r\n",
    "chunks in quotes": f'{HEAD}Transfer-Encoding: "chunked"\r\n\r\n',
    "chunks twice": f"{HEAD}Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
    "a space before the colon": f"{HEAD}Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
    "a folded line": f"{HEAD}Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n",
    "a negative length": f"{HEAD}Content-Length: -1\r\n\r\n",
    "a length with a sign": f"{HEAD}Content-Length: +0\r\n\r\n",
    "a chunk with a sign": f"{HEAD}Transfer-Encoding: chunked\r\n\r\n+0\r\n\r\n",
    "a chunk that is longer than it says": f"{HEAD}Transfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n",
    "two hosts": f"{HEAD}Host: elsewhere\r\n\r\n",
    "a carriage return in a value": f"{HEAD}X: a\rTransfer-Encoding: chunked\r\n\r\n",
    "a NUL in a value": f"{HEAD}Authorization: Bearer alice-token\0\r\n\r\n",
    "a NUL in a name": f"{HEAD}Content-Length\0: 900\r\n\r\n",
    "a space in the target": "GET /tasks /x HTTP/1.1\r\nHost: agent\r\n\r\n",
}


@pytest.mark.parametrize("sent", TWO_READINGS.values(), ids=TWO_READINGS)
def test_what_could_be_read_as_two_requests_is_none(guarded: LocalStack, sent: str) -> None:
    before = total(guarded)

    told = exchange(guarded.url, sent.encode("latin-1") + CONCEALED)

    assert [answer.status for answer in told] == [400]
    assert total(guarded) == before


def total(stack: LocalStack) -> int:
    """How many tasks Alice has."""
    found: int = json.loads(one(stack, "GET", "/tasks", ALICE, VERSION).body)["totalSize"]
    return found


def test_requests_that_follow_each_other_are_each_answered_for_who_sent_them(guarded: LocalStack) -> None:
    first, second = (
        request("GET", "/tasks", *credentials, VERSION).replace(b"Connection: close\r\n", b"")
        for credentials in ((ALICE,), ())
    )

    told = exchange(guarded.url, first + second + request("GET", "/tasks", BOB, VERSION))

    assert [answer.status for answer in told] == [200, 401, 200]


INJECTED = "%0d%0aX-Injected:%201"


@pytest.mark.parametrize(
    ("verb", "path", "headers"),
    [
        ("GET", f"/tasks/{INJECTED}", ()),
        ("GET", f"/tasks?pageToken={INJECTED}", ()),
        ("GET", f"/{INJECTED}/tasks", ()),
        ("GET", f"/artifacts/x/{INJECTED}/0", ()),
        ("GET", f"/tasks/x:subscribe?lastEventId={INJECTED}", ()),
        ("GET", "/tasks/x:subscribe", ("Last-Event-ID: 1%0d%0aX-Injected: 1",)),
        ("GET", f"/.well-known/agent-card.json?{INJECTED}", (f"If-None-Match: {INJECTED}",)),
        ("GET", "/tasks", ("A2A-Extensions: https://evil.example/%0d%0aX-Injected: 1",)),
        ("GET", "/tasks", ("Accept: application/json%0d%0aX-Injected: 1",)),
        ("OPTIONS", "/tasks", ("Access-Control-Request-Headers: X-Injected",)),
        ("GET", "/tasks", ("Origin: https://evil.example", "Connection: X-Injected")),
    ],
)
def test_nothing_that_is_sent_becomes_a_header_of_the_answer(
    guarded: LocalStack, verb: str, path: str, headers: tuple[str, ...]
) -> None:
    answer = one(guarded, verb, path, ALICE, VERSION, *headers)

    assert answer.status < 500
    assert "injected" not in str(answer.headers).lower()
    assert "evil" not in str(answer.headers)


def test_the_name_of_a_file_becomes_one_harmless_header(guarded: LocalStack, hers: Mapping[str, Any]) -> None:
    (part,) = hers["artifacts"][0]["parts"]

    answer = one(guarded, "GET", part["url"].removeprefix(guarded.url), ALICE)

    assert (answer.status, answer.body) == (200, PAGE)
    assert answer.header("x-injected") == ""
    assert answer.header("content-disposition").startswith(
        'attachment; filename="a___X-Injected: 1____<b>"; '
    )
    assert answer.header("content-security-policy") == "sandbox"
    assert answer.header("x-content-type-options") == "nosniff"
    assert answer.header("cache-control") == "private, no-cache"


# --- under which name ------------------------------------------------

CARD = "/.well-known/agent-card.json"
MISLEADING = (
    "X-Forwarded-Host: evil.example",
    "X-Forwarded-Proto: gopher",
    "X-Forwarded-Prefix: /evil",
    "X-Host: evil.example",
    "Forwarded: host=evil.example;proto=http",
    "X-Original-URL: /health",
    "X-Rewrite-URL: /health",
    "Origin: https://evil.example",
    "Referer: https://evil.example/",
    "Accept: text/html",
    "Accept-Language: xx",
    "Accept-Encoding: br",
    "Range: bytes=0-1",
    "A2A-Version: 9.9",
    "A2A-Extensions: https://evil.example/",
    "Cookie: a=b",
)


@pytest.mark.parametrize("path", [CARD, "/health"])
def test_nothing_that_a_cache_does_not_look_at_changes_what_everybody_is_shown(
    guarded: LocalStack, path: str
) -> None:
    plain = one(guarded, "GET", path).told

    asked = [
        one(guarded, "GET", path, host="evil.example"),
        one(guarded, "GET", f"http://evil.example{path}"),
        one(guarded, "GET", f"{path}?host=evil.example&callback=alert&__proto__[a]=1"),
        *(one(guarded, "GET", path, header) for header in MISLEADING),
        *(one(guarded, "GET", path, header) for header in (ALICE, BOB, "Authorization: Bearer wrong")),
    ]

    assert plain[0] == 200
    assert [answer.told for answer in asked if answer.told != plain] == []


def test_an_address_in_an_answer_is_the_deployments_own(guarded: LocalStack, hers: Mapping[str, Any]) -> None:
    asked = request("GET", f"/tasks/{hers['id']}", ALICE, VERSION, *MISLEADING[:6], host="evil.example")
    (answer,) = exchange(guarded.url, asked)

    assert json.loads(answer.body) == hers
    assert b"evil" not in answer.body


def test_what_one_caller_is_told_no_cache_keeps_for_another(
    guarded: LocalStack, hers: Mapping[str, Any]
) -> None:
    """Most caches know what `Authorization` means to them; a key in a header of its own they do not know."""
    told = [
        one(guarded, "GET", path, *headers, VERSION)
        for path in ("/tasks", f"/tasks/{hers['id']}", "/tasks/none", "/nowhere")
        for headers in ((KEY,), ())
    ]

    assert {answer.status for answer in told} == {200, 401, 404}
    assert {answer.header("cache-control") for answer in told} == {"no-store"}


def test_a_page_of_another_origin_may_ask_and_never_as_who_has_cookies_here(guarded: LocalStack) -> None:
    asking = ("Origin: https://evil.example", "Access-Control-Request-Method: POST")

    told = [
        one(guarded, verb, path, ALICE, VERSION, *asking)
        for verb, path in (
            ("GET", CARD),
            ("GET", "/tasks"),
            ("OPTIONS", "/tasks"),
            ("OPTIONS", "/"),
            ("GET", "/x"),
        )
    ]

    for answer in told:
        assert answer.header("access-control-allow-origin") == "*"
        assert answer.header("access-control-allow-credentials") == ""
        assert answer.header("set-cookie") == ""


@pytest.mark.parametrize(
    "target",
    [
        "//evil.example",
        "//evil.example/tasks",
        "/%2f%2fevil.example",
        "/\\evil.example",
        "/https://evil.example/",
        "/tasks/",
        "/tasks//evil.example/",
        "/?next=https://evil.example",
        "/tasks?redirect_uri=https://evil.example",
        f"{CARD}?url=//evil.example",
        f"{CARD}//",
        "/health/../..//evil.example",
    ],
)
def test_nobody_is_sent_elsewhere(guarded: LocalStack, target: str) -> None:
    answer = one(guarded, "GET", target, ALICE, VERSION)

    assert not 300 <= answer.status < 400
    assert answer.status < 500
    assert answer.header("location") == ""


# --- what is asked for ------------------------------------------------


@pytest.mark.parametrize(
    "step",
    [
        "../..",
        "%2e%2e/%2e%2e",
        "..%2f..%2f",
        "%252e%252e%252f",
        "..%5c..%5c",
        "%c0%ae%c0%ae%c0%af",
        "%00",
        "..;",
        "%2fetc%2fpasswd",
        "content",
        "echo/..",
        "echo/0/..",
        "echo/%30%00",
        "echo/-1",
        "echo/00",
        "echo/1e0",
        "history/../status/message",
        "x" * 4000,
    ],
)
def test_no_way_through_the_artifacts_leads_out_of_them(
    guarded: LocalStack, hers: Mapping[str, Any], step: str
) -> None:
    for path in (f"/artifacts/{hers['id']}/{step}", f"/artifacts/{step}/{hers['id']}/echo/0"):
        for place in (path, f"{path}/0"):
            mine, others = (one(guarded, "GET", place, who, VERSION) for who in (ALICE, BOB))

            assert (mine.status, others.status) in ((400, 400), (404, 404)), place
            assert mine.told == others.told


@pytest.mark.parametrize(
    "headers",
    [
        ("X-HTTP-Method-Override: DELETE",),
        ("X-HTTP-Method: DELETE",),
        ("X-Method-Override: POST",),
    ],
)
def test_the_verb_of_a_request_is_the_one_it_was_made_with(
    guarded: LocalStack, hers: Mapping[str, Any], headers: tuple[str, ...]
) -> None:
    path = f"/tasks/{hers['id']}"

    read = one(guarded, "GET", f"{path}?_method=DELETE", ALICE, VERSION, *headers)
    canceled = one(guarded, "GET", f"{path}:cancel?_method=POST", ALICE, VERSION, *headers)

    assert (read.status, json.loads(read.body)) == (200, hers)
    assert canceled.status == 405


@pytest.mark.parametrize("verb", ["TRACE", "CONNECT", "PUT", "PATCH", "PROPFIND", "X" * 100])
def test_a_verb_that_nothing_takes_is_refused_and_echoes_nothing(guarded: LocalStack, verb: str) -> None:
    for path in ("/", "/tasks", CARD, "/health", "/nowhere"):
        answer = one(guarded, verb, path, ALICE, VERSION, "X-Secret: shown-to-nobody")

        assert answer.status in (403, 404, 405), path
        assert b"shown-to-nobody" not in answer.body


@pytest.mark.parametrize("upgrade", ["websocket", "h2c", "TLS/1.2, HTTP/1.1"])
def test_no_other_protocol_is_spoken(guarded: LocalStack, upgrade: str) -> None:
    answer = one(
        guarded, "GET", "/tasks", ALICE, VERSION, f"Upgrade: {upgrade}", "HTTP2-Settings: AAMAAABkAAQ"
    )

    assert answer.status == 200
    assert answer.header("upgrade") == ""


# --- too much ------------------------------------------------

MEGABYTE = 1024 * 1024


@pytest.mark.parametrize("path", ["/", "/message:send"])
@pytest.mark.parametrize("size", [MAX_BODY, 7 * MEGABYTE, 11 * MEGABYTE])
def test_a_body_over_the_limit_is_refused_whatever_is_in_it(
    guarded: LocalStack, path: str, size: int
) -> None:
    answer = post(guarded, path, b'{"x":"' + b"x" * size + b'"}')

    assert answer.status == 413
    assert served(guarded)


def test_a_body_that_is_only_announced_is_refused_at_once(guarded: LocalStack) -> None:
    head = request("POST", "/", ALICE, VERSION, JSON, f"Content-Length: {10**15}")

    with connection(guarded.url, SOON) as line:
        line.sendall(head)
        (answer,) = answers(line)

    assert answer.status == 413


@pytest.mark.parametrize(
    ("target", "header", "status"),
    [
        ("/tasks", f"X: {'x' * 11_000}", 431),
        (f"/tasks?x={'x' * 11_000}", "X: x", 431),
        (f"/tasks?x={'x' * 70_000}", "X: x", 414),
        ("/tasks", "\r\n".join(["X: x"] * 250), 431),
        ("/tasks", bearing("x" * 9_000), 401),
    ],
)
def test_a_head_over_the_limit_is_refused(guarded: LocalStack, target: str, header: str, status: int) -> None:
    assert one(guarded, "GET", target, VERSION, header).status == status
    assert served(guarded)


DEEP = 50_000
NESTED = {
    "lists": b"[" * DEEP + b"]" * DEEP,
    "lists without an end": b"[" * DEEP,
    "objects": b'{"a":' * DEEP + b"1" + b"}" * DEEP,
    "both": b'[{"a":' * DEEP + b"1" + b"}]" * DEEP,
    "a long number": b"1" * 100_000,
    "a great number": b"1e99999",
    "a small number": b"-1e-99999",
    "not a number": b"NaN",
    "half a surrogate": b'"\\ud800"',
    "not UTF-8": b'"\xff\xfe"',
    "many members": b"{" + b",".join(b'"%d":0' % number for number in range(50_000)) + b"}",
    "many alike": b"{" + b",".join([b'"a":0'] * 50_000) + b"}",
}
MESSAGE = b'{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}],%s}}'
PLACES = {
    "all of it": b"%s",
    "params": b'{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":%s}',
    "message": b'{"message":%s}',
    "data": MESSAGE.replace(b'"text":"x"', b'"data":%s').replace(b",%s", b""),
    "metadata": MESSAGE.replace(b"%s", b'"metadata":{"a":%s}'),
}


@pytest.mark.parametrize("place", PLACES)
def test_json_that_no_reader_should_follow_is_refused_soon(guarded: LocalStack, place: str) -> None:
    for nested in NESTED.values():
        for path in ("/", "/message:send"):
            began = time.monotonic()
            answer = post(guarded, path, PLACES[place].replace(b"%s", nested))

            assert answer.status in (200, 400, 413), nested[:20]
            assert time.monotonic() - began < SOON
            assert answer.body.isascii() or answer.body.decode()


def test_whoever_sends_a_byte_now_and_then_keeps_nobody_waiting(
    guarded: LocalStack, hers: Mapping[str, Any]
) -> None:
    with ExitStack() as lines:
        dripping = [lines.enter_context(connection(guarded.url)) for _ in range(60)]
        for number, line in enumerate(dripping):
            head = request("POST", "/", ALICE, JSON, "Content-Length: 100000")
            line.sendall(head[:40] if number % 2 else head)
        waits = []
        for _ in range(5):
            for line in dripping:
                line.sendall(b"x")
            began = time.monotonic()
            assert one(guarded, "GET", f"/tasks/{hers['id']}", ALICE, VERSION).status == 200
            waits.append(time.monotonic() - began)

    assert max(waits) < SOON


def test_whoever_reads_nothing_of_a_stream_keeps_nobody_waiting(guarded: LocalStack) -> None:
    sent = json.dumps(message("count 2000")).encode()
    with ExitStack() as lines:
        for _ in range(4):
            line = lines.enter_context(connection(guarded.url))
            line.sendall(request("POST", "/message:stream", ALICE, VERSION, JSON, body=sent))

        assert served(guarded)


# --- what can be found out ------------------------------------------------

RANDOM = 1_000


def test_ids_that_are_guessed_tell_nothing(
    guarded: LocalStack, hers: Mapping[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    told: set[tuple[Any, ...]] = set()
    seconds: dict[str, list[float]] = {"unknown": [], "foreign": []}
    lock = threading.Lock()

    def guess(numbers: range) -> None:
        with httpx.Client(base_url=guarded.url, headers=dict([BOB.split(": ")]), timeout=PATIENCE) as bob:
            for number in numbers:
                kind, task_id = ("foreign", hers["id"]) if number % 5 == 0 else ("unknown", str(uuid4()))
                began = time.perf_counter()
                answer = bob.get(f"/tasks/{task_id}", headers={"A2A-Version": "1.0"})
                took = time.perf_counter() - began
                kept = sorted(each for each in answer.headers.items() if not each[0].startswith("x-amzn-"))
                with lock:
                    told.add((answer.status_code, tuple(kept), answer.content))
                    seconds[kind].append(took)

    with ThreadPoolExecutor(4) as guessing:
        list(guessing.map(guess, [range(start, RANDOM, 4) for start in range(4)]))

    ((status, _, body),) = told
    assert (status, b"TASK_NOT_FOUND" in body) == (404, True)
    # How long it took is shown and not judged: it says as much about this machine. That the table is asked
    # the same about both kinds is what `integration/functions/test_foreign_tasks.py` proves.
    with capsys.disabled():
        for kind, times in seconds.items():
            middle, late = statistics.median(times) * 1000, statistics.quantiles(times, n=20)[-1] * 1000
            print(f"\n{len(times)} {kind} tasks: median {middle:.1f} ms, p95 {late:.1f} ms", end="")


LEAKS = re.compile(
    rb"Traceback|File \"|/work/|/home/|/tmp/|site-packages|\.py\b|arn:aws|botocore|pydantic|a2a_serverless|"
    rb"0x[0-9a-f]{6,}|alice-token|alice-key|password|TasksTable"
)


PATHS = ("/", "/message:send", "/message:stream", "/tasks", "/tasks/x/pushNotificationConfigs")
BODIES = (
    *(b"", b"\0", b"null", b"[]", b'"x"', b"{", b'{"message":1}'),
    b'{"jsonrpc":"2.0","id":1,"method":"__init__"}',
)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("body", BODIES)
def test_a_refusal_says_nothing_of_what_is_behind_it(guarded: LocalStack, path: str, body: bytes) -> None:
    for headers in ((ALICE, VERSION, JSON), (ALICE, JSON), (ALICE, VERSION, "Content-Type: text/xml")):
        answer = one(guarded, "POST", path, *headers, body=body)

        assert answer.status < 500
        assert LEAKS.search(answer.body) is None
        assert LEAKS.search(str(answer.headers).encode()) is None
        assert answer.header("server") == ""
