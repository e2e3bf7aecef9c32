"""Who is let in, by which scheme, and what others hear: the same over both bindings (3.3.2, 7, 13.1)."""

import hashlib
from base64 import b64encode
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import product

import pytest

from a2a_serverless.bindings import http_json
from a2a_serverless.bindings.caller import Access, Admittance, Token
from a2a_serverless.bindings.caller.basic import Basic, HashedPassword, Login
from a2a_serverless.bindings.caller.schemes import ApiKeys, Bearer
from a2a_serverless.bindings.http import HttpRequest
from a2a_serverless.operations.turns import run_turn
from a2a_serverless.ports import Policy, TurnKey
from a2a_serverless.ports.access import (
    KeysOutOfReachError,
    TrustedIssuer,
    UnbelievedTokenError,
    VerifiedToken,
)
from a2a_serverless.protocol.operations import OPERATIONS
from tests.conformance.requirements import requirement
from tests.conformance.wire import Client, Connect, Deployment, Fields, Refused

ISSUER = TrustedIssuer("https://issuer.example", ("agent",), ("RS256",))
EXPIRES = datetime(2026, 11, 30, 12, 0, 10, tzinfo=UTC)
STREAMING = Policy(capabilities=frozenset({"streaming", "push_notifications"}))
CHALLENGES = 'Bearer realm="a2a", Basic realm="a2a", charset="UTF-8", ApiKey realm="a2a", header="X-API-Key"'


def digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()


@dataclass
class Issued:
    """One token that is believed, of a caller at a tenant; keys may be gone."""

    tenant: str | None = None
    down: bool = False

    def verify(self, token: str) -> VerifiedToken:
        """What the one token proves."""
        if self.down:
            raise KeysOutOfReachError(7)
        if token != "a.b.c":
            raise UnbelievedTokenError("never seen")
        claims = {"iss": ISSUER.issuer, "sub": "ann", "email": "ann@example.com"}
        scopes = frozenset({"tasks.read"})
        return VerifiedToken(ISSUER.issuer, "ann", EXPIRES, scopes, self.tenant, claims)


def access(issued: Issued | None = None, **scopes: set[str]) -> Access:
    read = frozenset({"tasks.read"})
    return Access(
        (
            Bearer((Token("alice", digest("alices-token")),), (ISSUER,), issued or Issued()),
            Basic([Login("alice", "alice@example.com", HashedPassword(digest("open sesame")), read)]),
            ApiKeys("X-API-Key", (Token("alice", digest("alices-key")),)),
        ),
        {("*" if name == "every" else name): frozenset(each) for name, each in scopes.items()},
    )


def deployed(issued: Issued | None = None, *, anonymous: bool = False, **scopes: set[str]) -> Deployment:
    given = access(issued, **scopes)
    return Deployment(policy=STREAMING, admittance=Admittance(access=lambda: given, anonymous=anonymous))


def login(name: str, password: str) -> str:
    return f"Basic {b64encode(f'{name}:{password}'.encode()).decode()}"


SHOWN = {
    "bearer": {"authorization": "Bearer alices-token"},
    "basic": {"authorization": login("alice@example.com", "open sesame")},
    "API key": {"x_api_key": "alices-key"},
    "JWT": {"authorization": "Bearer a.b.c"},
}


@requirement("7.3:each-scheme")
@pytest.mark.parametrize("scheme", SHOWN)
def test_a_caller_is_let_in_by_each_scheme_that_is_announced(connect: Connect, scheme: str) -> None:
    client = connect(deployed()).with_headers(**SHOWN[scheme])

    assert client.task()["status"]["state"] == "TASK_STATE_COMPLETED"
    assert client.list()["totalSize"] == 1


@requirement("7.3:each-scheme")
@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"authorization": "Bearer alices-key"},
        {"authorization": "Bearer a.b.d"},
        {"authorization": login("alice@example.com", "open barley")},
        {"authorization": login("alice", "open sesame")},
        {"authorization": "Negotiate YII="},
        {"x_api_key": "alices-token"},
        {"x_api_key": "alices-key", "authorization": "Bearer wrong"},
        {"x_api_key": "alices-key", "authorization": "Bearer a.b.c"},
        {"x_api_key": "é"},
        {"authorization": "Basic \ud800"},
    ],
)
def test_whoever_is_not_let_in_is_told_which_schemes_there_are(
    connect: Connect, wrong: dict[str, str]
) -> None:
    client = connect(deployed()).with_headers(**wrong)

    for operation in OPERATIONS:
        answer = client.answer(operation.method, {"id": "t", "taskId": "t"})
        assert (answer.status, answer.body) == (401, b'{"error":"Unauthorized"}')
        assert answer.headers["WWW-Authenticate"] == CHALLENGES


@requirement("3.3.2:nothing-is-read-before")
@pytest.mark.parametrize("body", [b"{", b"", b"[" * 100_000, b"\xff", b"x" * 5_000_000])
@pytest.mark.parametrize("path", ["/", "/message:send", "/tasks", "/no/such/address", "/artifacts/t/a/0"])
def test_nothing_of_a_strangers_request_is_read(connect: Connect, body: bytes, path: str) -> None:
    client = connect(deployed())
    answers = {
        (answer.status, answer.body)
        for verb in ("GET", "POST", "PUT", "DELETE")
        for answer in [client.ask_as_it_is(HttpRequest(verb, path, {"content-type": ("text/x",)}, {}, body))]
    }

    assert answers == {(401, b'{"error":"Unauthorized"}')}


# --- what they may do -------------------------------------------------------------------


@requirement("3.3.2:permission")
def test_an_operation_that_asks_for_a_scope_is_forbidden_without_it(connect: Connect) -> None:
    client = connect(deployed(every={"tasks.read"}, SendMessage={"tasks.write"}))

    for shown in (SHOWN["JWT"], SHOWN["basic"]):
        assert client.with_headers(**shown).list()["tasks"] == []
    answer = client.with_headers(**SHOWN["JWT"]).answer("SendMessage", client.message("tck-complete-task"))
    assert (answer.status, answer.body) == (403, b'{"error":"Forbidden"}')
    assert answer.headers["WWW-Authenticate"] == (
        'Bearer error="insufficient_scope", scope="tasks.read tasks.write"'
    )
    for operation in OPERATIONS:
        with pytest.raises(Refused, match="PERMISSION_DENIED"):
            client.with_headers(**SHOWN["bearer"]).call(operation.method, {"id": "t", "taskId": "t"})
    assert client.deployment.executions.started == []


@requirement("3.3.2:permission")
def test_a_stranger_who_may_come_in_is_asked_who_they_are_where_a_scope_is_needed(connect: Connect) -> None:
    client = connect(deployed(anonymous=True, SendMessage={"tasks.write"}))

    assert client.list()["tasks"] == []
    with pytest.raises(Refused, match="UNAUTHENTICATED"):
        client.send()


@requirement("3.3.2:permission")
def test_content_asks_for_the_scopes_of_its_task() -> None:
    endpoint = deployed(GetTask={"tasks.read"}).endpoint

    def status(**shown: str) -> int:
        headers = {name.replace("_", "-"): (value,) for name, value in shown.items()}
        return int(http_json.answer(endpoint, HttpRequest("GET", "/artifacts/t/a/0", headers)).status)

    assert (status(**SHOWN["JWT"]), status(**SHOWN["API key"])) == (404, 403)


# --- keys that are gone -----------------------------------------------------------------


@requirement("3.3.2:temporary")
def test_while_nobody_can_tell_whose_a_token_is_its_bearer_is_asked_to_come_again(connect: Connect) -> None:
    client = connect(deployed(Issued(down=True)))

    for operation in OPERATIONS:
        answer = client.with_headers(**SHOWN["JWT"]).answer(operation.method, {})
        assert (answer.status, answer.body) == (503, b'{"error":"Unavailable"}')
        assert answer.headers["Retry-After"] == "7"
    assert client.with_headers(**SHOWN["API key"]).list()["tasks"] == []


# --- tenants ----------------------------------------------------------------------------


@requirement("13.1:tenant-of-a-token")
def test_a_token_of_a_tenant_is_for_that_tenant_without_saying_so(connect: Connect) -> None:
    client = connect(deployed(Issued("acme"))).with_headers(**SHOWN["JWT"])
    task = client.task()

    assert client.get(task["id"]) == client.get(task["id"], tenant="acme") == task
    assert client.list()["totalSize"] == client.list(tenant="acme")["totalSize"] == 1


def about(task: str) -> dict[str, Fields]:
    """Every request that names a task."""
    config = {"taskId": task, "id": "c"}
    message = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}], "taskId": task}
    return {
        "GetTask": {"id": task},
        "CancelTask": {"id": task},
        "SubscribeToTask": {"id": task},
        "SendMessage": {"message": message},
        "SendStreamingMessage": {"message": message},
        "CreateTaskPushNotificationConfig": {**config, "url": "https://hook.example/"},
        "GetTaskPushNotificationConfig": config,
        "ListTaskPushNotificationConfigs": {"taskId": task},
        "DeleteTaskPushNotificationConfig": config,
    }


@requirement("13.1:tenant-of-a-token")
@pytest.mark.parametrize("method", about(""))
def test_a_task_of_a_foreign_tenant_is_a_task_that_is_not_there(connect: Connect, method: str) -> None:
    client = connect(deployed(Issued("acme"))).with_headers(**SHOWN["JWT"])
    own = client.task("tck-input-required")

    def refusal(task: str, tenant: str) -> str:
        with pytest.raises(Refused, match="TASK_NOT_FOUND") as refused:
            client.call(method, {**about(task)[method], "tenant": tenant})
        return str(refused.value)

    assert len({refusal(task, "globex") for task, _ in product((own["id"], "no-such-task"), range(2))}) == 1


@requirement("13.1:tenant-of-a-token")
def test_nothing_else_of_a_foreign_tenant_may_be_asked_for(connect: Connect) -> None:
    client = connect(deployed(Issued("acme"))).with_headers(**SHOWN["JWT"])

    for method, fields in {
        "ListTasks": {},
        "SendMessage": client.message("tck-complete-task"),
        "SendStreamingMessage": client.message("tck-complete-task"),
    }.items():
        with pytest.raises(Refused, match="PERMISSION_DENIED"):
            client.call(method, {**fields, "tenant": "globex"})
    assert client.deployment.executions.started == []


@requirement("13.1:tenant-of-a-token")
def test_content_of_a_foreign_tenant_is_not_there() -> None:
    endpoint = deployed(Issued("acme")).endpoint
    headers = {"authorization": ("Bearer a.b.c",)}
    missing, foreign = (
        http_json.answer(endpoint, HttpRequest("GET", f"/{tenant}/artifacts/t/a/0", headers))
        for tenant in ("acme", "globex")
    )

    assert (int(missing.status), missing) == (404, foreign)


# --- what becomes of what a token says --------------------------------------------------


@requirement("7.4:claims-reach-the-agent")
def test_an_agent_is_told_what_a_token_proves_and_nothing_of_the_token(
    connect: Connect,
) -> None:
    client = connect(deployed())
    told: list[dict[str, str]] = []

    async def agent(turn):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202  an agent that listens
        told.append(dict(turn.caller))
        for _ in ():
            yield _

    def listen(turn: TurnKey) -> None:
        deployment = client.deployment
        deployment.clock.after(0, lambda: run_turn(deployment.ports, agent, turn, lambda: 900.0))

    client.deployment.executions.on_start = listen
    for shown in (SHOWN["JWT"], SHOWN["API key"]):
        client.with_headers(**shown).send()

    assert told == [
        {"iss": "https://issuer.example", "sub": "ann", "email": "ann@example.com"},
        {"iss": "principals", "sub": "alice"},
    ]


@requirement("7.4:streams-end-with-their-token")
@pytest.mark.parametrize("method", ["SendStreamingMessage", "SubscribeToTask"])
def test_a_stream_ends_when_the_token_does_that_opened_it(connect: Connect, method: str) -> None:
    client: Client = connect(deployed()).with_headers(**SHOWN["JWT"])
    if method == "SubscribeToTask":
        stream = client.subscribe(client.task("tck-input-required")["id"])
    else:
        client.deployment.executions.on_start = None
        stream = client.stream()

    frames = list(stream)

    assert "task" in frames[0]
    assert client.deployment.clock.now() - EXPIRES < timedelta(seconds=5)
