"""Requests that are almost right: every operation over both bindings, changed in one place or several.

Which request it is follows from a seed and a number alone, given what there is to ask about.
"""

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from a2a_serverless.protocol.operations import OPERATIONS, Operation
from tests.e2e.fuzz import odd

BINDINGS = ("JSONRPC", "HTTP+JSON")

OTHER_ROUTES = (
    "/artifacts/{task}/artifact/0",
    "/artifacts/{task}/history/0/0",
    "/artifacts/{task}/status/message/0",
    "/acme/artifacts/{task}/artifact/0",
    "/.well-known/agent-card.json",
    "/.well-known/jwks.json",
    "/health",
)


@dataclass(frozen=True)
class Known:
    """What there is to ask about: tasks of one's own and of somebody else, and where webhooks are taken."""

    tasks: Sequence[str]
    foreign: Sequence[str]
    contexts: Sequence[str]
    receiver: str
    credential: str


@dataclass(frozen=True)
class Sent:
    """One request, and what it was before it was changed."""

    name: str
    method: str
    target: str
    headers: Sequence[tuple[str, str]]
    body: bytes
    raw: bytes | None = None
    """The bytes to be sent instead, where they are no longer a request of these parts."""

    @property
    def authorized(self) -> bool:
        """Whether it shows the credential it was given, once."""
        shown = [value for name, value in self.headers if name.lower() in ("authorization", "x-api-key")]
        return self.raw is None and len(shown) == 1

    @property
    def asks_for_a_part(self) -> bool:
        """Whether some bytes of the answer are asked for instead of all."""
        return any(name.lower() == "range" for name, _ in self.headers)

    def encoded(self) -> bytes:
        """The bytes on the wire."""
        if self.raw is not None:
            return self.raw
        lines = [f"{self.method} {self.target} HTTP/1.1", *(": ".join(each) for each in self.headers)]
        head = "\r\n".join([*lines, "", ""])
        return head.encode("latin-1", "replace") + self.body


def request(seed: int, number: int, known: Known) -> Sent:
    """The request of this number."""
    chance = random.Random(f"{seed}/{number}")  # noqa: S311 - reproducible on purpose
    if chance.random() < 0.08:
        return _elsewhere(chance, known)
    operation = chance.choice(OPERATIONS)
    fields: Any = _fields(chance, operation, known)
    for _ in range(chance.choice([0, 0, 1, 1, 2, 3])):
        fields = odd.changed(chance, fields)
    render = chance.choice([_jsonrpc, _http_json])
    return _disturbed(chance, render(chance, operation, fields, known))


def _fields(chance: random.Random, operation: Operation, known: Known) -> dict[str, Any]:
    """A request that the operation would take."""
    task = chance.choice([*known.tasks, *known.foreign, "00000000-0000-4000-8000-000000000000"])
    hook: dict[str, Any] = {"id": chance.choice(["hook", "other"]), "url": known.receiver, "token": "t"}
    names = operation.request.model_fields.keys()
    fields: dict[str, Any] = {}
    if chance.random() < 0.1:
        fields["tenant"] = chance.choice(["acme", "tasks", "a b"])
    if "message" in names:
        fields |= _message(chance, known, hook)
    elif operation.method == "ListTasks":
        given = {
            "contextId": chance.choice(known.contexts),
            "status": "TASK_STATE_COMPLETED",
            "pageSize": 10,
            "pageToken": "MQ",
            "historyLength": 2,
            "statusTimestampAfter": "2026-01-01T00:00:00Z",
            "includeArtifacts": True,
        }
        fields |= {name: given[name] for name in chance.sample(sorted(given), chance.randrange(4))}
    elif "task_id" in names:
        fields["taskId"] = task
        if "id" in names:
            fields["id"] = hook["id"]
        if operation.method.startswith("Create"):
            fields |= {**hook, "authentication": {"scheme": "Bearer", "credentials": "c"}}
        elif operation.method.startswith("List"):
            fields |= {"pageSize": 5}
    elif "id" in names:
        fields |= {"id": task}
    return fields


def _message(chance: random.Random, known: Known, hook: Mapping[str, Any]) -> dict[str, Any]:
    kinds: Sequence[dict[str, Any]] = (
        {"text": "hello"},
        {"raw": "QUJD", "mediaType": "image/png"},
        {"data": {"a": [1, None]}},
    )
    message: dict[str, Any] = {
        "messageId": f"{chance.choice(['m', 'tck-input-required'])}-{chance.getrandbits(64):x}",
        "role": "ROLE_USER",
        "parts": [{**chance.choice(kinds), "filename": "a.txt", "metadata": {"k": "v"}}],
        "metadata": {"n": 1.5},
        "extensions": ["https://example.com/ext"],
    }
    others = {
        "taskId": chance.choice(known.tasks),
        "contextId": chance.choice(known.contexts),
        "referenceTaskIds": [chance.choice([*known.tasks, *known.foreign])],
    }
    message |= {name: others[name] for name in others if chance.random() < 0.15}
    configuration: dict[str, Any] = {"returnImmediately": chance.random() < 0.8, "historyLength": 3}
    if chance.random() < 0.1:
        configuration["taskPushNotificationConfig"] = {**hook}
    return {"message": message, "configuration": configuration}


# --- the two bindings ------------------------------------------------


def _jsonrpc(chance: random.Random, operation: Operation, fields: Any, known: Known) -> Sent:
    envelope: Any = {
        "jsonrpc": "2.0",
        "id": chance.choice([1, "call", None, 1.5]),
        "method": operation.method,
        "params": fields,
    }
    if chance.random() < 0.12:
        envelope = odd.changed(chance, envelope)
    return _sent(f"JSONRPC {operation.method}", "POST", "/", odd.printed(chance, envelope), known)


def _http_json(chance: random.Random, operation: Operation, fields: Any, known: Known) -> Sent:
    given = dict(fields) if isinstance(fields, dict) else {"id": fields}
    path = operation.path
    for name in ("id", "taskId"):
        if f"{{{name}}}" in path:
            path = path.replace(f"{{{name}}}", _step(chance, given.pop(name, "")))
    if "tenant" in given and chance.random() < 0.7:
        path = f"/{_step(chance, given.pop('tenant'))}{path}"
    verb = chance.choice(operation.verbs)
    if verb == "POST":
        body = odd.printed(chance, fields if not isinstance(fields, dict) else given)
        return _sent(f"HTTP+JSON {operation.method}", verb, path, body, known)
    query = urlencode([(name, _word(item)) for name, item in given.items()], errors="replace")
    target = f"{path}?{query}"[:6_000] if query else path
    return _sent(f"HTTP+JSON {operation.method}", verb, target, b"", known)


def _elsewhere(chance: random.Random, known: Known) -> Sent:
    """What is no operation: content, card, keys, health."""
    path = chance.choice(OTHER_ROUTES).replace("{task}", chance.choice([*known.tasks, *known.foreign]))
    steps = path.split("/")
    if chance.random() < 0.6:
        steps[chance.randrange(1, len(steps))] = _step(chance, odd.value(chance))
    verb = chance.choice(["GET", "GET", "GET", "HEAD", "OPTIONS", "POST"])
    return _disturbed(chance, _sent(f"other {verb}", verb, "/".join(steps)[:6_000], b"", known))


def _step(chance: random.Random, item: Any) -> str:
    """A value as a step of an address, quoted as it should be or in its own way."""
    quoted = quote(_word(item)[:2_000].encode(errors="replace"), safe="")
    return chance.choice([quoted, quoted, quoted, quoted.replace("%", "%25"), f"{quoted}/", f"{quoted};x"])


def _word(item: Any) -> str:
    return item if isinstance(item, str) else json.dumps(item)


def _sent(name: str, method: str, target: str, body: bytes, known: Known) -> Sent:
    headers = [
        ("Host", "agent.example"),
        ("A2A-Version", "1.0"),
        ("Authorization", known.credential),
        *([("Content-Type", "application/json"), ("Content-Length", str(len(body)))] if body else []),
        ("Connection", "close"),
    ]
    return Sent(name, method, target or "/", headers, body)


# --- around the request ------------------------------------------------

HEADERS: Mapping[str, Sequence[str]] = {
    "Content-Type": (
        *("", "text/plain", "application/a2a+json", "application/json; charset=utf-16", "APPLICATION/JSON"),
        *(
            "multipart/form-data; boundary=x",
            "application/x-www-form-urlencoded",
            "application/grpc",
            ";",
            "x",
        ),
    ),
    "Accept": (
        "",
        "*/*",
        "text/html",
        "application/a2a+json",
        "application/json;q=0",
        ",,,",
        "text/event-stream",
    ),
    "A2A-Version": ("", "0.3", "1", "1.0.1", "2.0", "1.0, 1.0", "x" * 300, "-1", "\xb9.0"),
    "A2A-Extensions": ("", "https://example.com/ext", ",", "x" * 3_000, "\t", "https://a, https://a"),
    "X-A2A-Extensions": ("https://example.com/old",),
    "Last-Event-ID": ("", "0", "1", "2", "-1", "999999999999", "x", "1, 2", "\xb9", "9" * 400),
    "Authorization": (
        *("", "Bearer", "Bearer ", "Bearer wrong", "Basic !!!", "Basic QQ==", "Digest x", "bearer\xff"),
        *("Bearer a.b.c", "Bearer " + "x" * 4_000, "Negotiate", "AWS4-HMAC-SHA256 Credential=x"),
    ),
    "X-API-Key": ("", "wrong", "\xff", "x" * 4_000),
    "If-None-Match": ("*", '"x"', "W/", ",", '"' * 99),
    "If-Modified-Since": ("now", "Thu, 01 Jan 1970 00:00:00 GMT", "Mon, 99 Foo 99999 99:99:99 GMT"),
    "Range": ("bytes=0-", "bytes=9-1", "x"),
    "Origin": ("null", "https://evil.example", "\xff"),
    "Access-Control-Request-Headers": ("authorization", "x" * 1_000),
    "X-HTTP-Method-Override": ("DELETE", "GET"),
    "X-Forwarded-For": ("127.0.0.1", "x", "::1, ::2"),
    "X-Amzn-Trace-Id": ("Root=1-0-0", "x" * 500, "Root=\xff"),
    "Content-Encoding": ("gzip", "identity", "x"),
    "Expect": ("100-continue", "x"),
    "Cookie": ("a=b", "x" * 3_000),
    "Transfer-Encoding": ("chunked", "gzip"),
    "X-Odd": ("\xe9\xff", "a" * 9_000, ""),
}

FRAMING = ("Transfer-Encoding",)
"""What says where a body ends; changed alone, it may say that it never does."""

METHODS = ("GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "TRACE", "FOO", "CONNECT")


def _disturbed(chance: random.Random, sent: Sent) -> Sent:
    """The request with odd headers, an odd address, another verb, or bytes that are none of it."""
    for _ in range(chance.choice([0, 0, 0, 1, 1, 2])):
        sent = _with_header(chance, sent)
    ways: Sequence[tuple[int, Callable[[random.Random, Sent], Sent]]] = (
        (80, lambda _, same: same),
        (6, _at_odd_address),
        (5, _by_other_verb),
        (3, _chunked),
        (3, _doubled),
        (3, _bitten),
    )
    (change,) = chance.choices([way for _, way in ways], [weight for weight, _ in ways])
    return change(chance, sent)


def _but(sent: Sent, **changed: Any) -> Sent:
    fields = {name: getattr(sent, name) for name in ("name", "method", "target", "headers", "body", "raw")}
    return Sent(**{**fields, **changed})


def _with_header(chance: random.Random, sent: Sent) -> Sent:
    name = chance.choice(sorted(HEADERS))
    beside = chance.random() < 0.3
    kept = [each for each in sent.headers if beside or each[0] != name]
    changed = _but(sent, headers=[*kept, (name, chance.choice(HEADERS[name]))])
    return _but(changed, raw=changed.encoded()) if name in FRAMING else changed


def _at_odd_address(chance: random.Random, sent: Sent) -> Sent:
    target = sent.target
    ways = (
        f"/{target}",
        f"{target}/",
        f"{target}//",
        target.upper(),
        target.replace("/", "/./", 1),
        f"/x/..{target}",
        target.replace("/", "%2f"),
        f"{target}?{'a=b&' * 500}",
        f"{target}?%ff=%zz&&=&a&a=1&a=2;b=3",
        f"{target}#x",
        f"http://evil.example{target}",
        f"/acme{target}",
        f"{target}:cancel",
        f"{target};a=b",
        "*",
        "/" * 500,
    )
    return _but(sent, target=chance.choice(ways))


def _by_other_verb(chance: random.Random, sent: Sent) -> Sent:
    return _but(sent, method=chance.choice(METHODS))


def _chunked(chance: random.Random, sent: Sent) -> Sent:
    """The body in pieces."""
    size = chance.choice([1, 7, 1_000])
    pieces = [sent.body[at : at + size] for at in range(0, len(sent.body), size)][:2_000]
    body = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"
    kept = [each for each in sent.headers if each[0] != "Content-Length"]
    return _but(sent, headers=[*kept, ("Transfer-Encoding", "chunked")], body=body)


def _doubled(chance: random.Random, sent: Sent) -> Sent:
    return _but(sent, headers=[*sent.headers, chance.choice(sent.headers)])


def _bitten(chance: random.Random, sent: Sent) -> Sent:
    """A byte of the head changed, or some left out."""
    whole = sent.encoded()
    place = chance.randrange(max(1, whole.find(b"\r\n\r\n")))
    byte = chance.choice([b"", b"\0", b"\r", b"\n", b" ", b":", b"\xff", chance.randbytes(1)])
    return _but(sent, raw=whole[:place] + byte + whole[place + chance.choice([0, 1, 1, 9]) :])
