"""Whatever breaks, and whatever its exception says: nobody outside learns it (specification 3.3.2, 13.4).

Every method of every port is made to fail with exceptions full of what must not be seen, for every operation
and at every turn of an agent. Then everything that leaves is searched: answers, streams, tasks, webhooks and
accounts of calls; of the log only that it holds no credential.
"""

import io
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import timedelta
from typing import Any, get_type_hints
from urllib.parse import unquote

import pytest
from aws_lambda_powertools import Logger
from botocore.exceptions import ClientError, EndpointConnectionError
from pydantic import BaseModel, ValidationError

from a2a_serverless.adapters.log_lines import printed
from a2a_serverless.adapters.powertools_incidents import PowertoolsIncidents
from a2a_serverless.agent import ArtifactChunk, InputRequired, Part, Turn, Working
from a2a_serverless.bindings import http_json
from a2a_serverless.bindings.caller import Access, Admittance
from a2a_serverless.bindings.http import HttpRequest, HttpResponse, StreamedResponse
from a2a_serverless.operations.deliveries import fan_out
from a2a_serverless.operations.sweep import sweep
from a2a_serverless.operations.turns import fail_turn, run_turn
from a2a_serverless.ports import Policy, Ports, TurnKey, WebhookPorts
from a2a_serverless.ports.contents import LinkPolicy
from a2a_serverless.ports.limits import OperationClass, RateLimit
from a2a_serverless.ports.webhooks import Appended, WebhookAnswer
from a2a_serverless.protocol.objects import Message
from a2a_serverless.tasks.log import LoggedEvent
from a2a_serverless.tasks.view import shown_status
from tests.conformance.requirements import requirement
from tests.conformance.wire import Client, Connect, Deployment, whole
from tests.fakes.ports import FakeAudit

TOKEN = "alices-own-token"
MARKS = ("hunter2", "/var/task", "arn:aws", "SecretStore", "secret.example", "tok-9f8e7d", "Traceback", TOKEN)
TEXT = (
    "password=hunter2 in /var/task/secret/store.py of arn:aws:dynamodb:eu-west-1:123456789012:table/secret; "
    "https://hooks.secret.example/T000/B000?x=tok-9f8e7d SecretStore"
)


class SecretStoreError(Exception):
    """An exception whose very name says too much."""


class UnspeakableError(Exception):
    """An exception that cannot even be printed."""

    def __str__(self) -> str:
        raise SecretStoreError(TEXT)


class Model(BaseModel):
    number: int


def invalid() -> Exception:
    """What pydantic says of a value, which it repeats."""
    try:
        Model.model_validate({"number": TEXT})
    except ValidationError as error:
        return error
    raise AssertionError


def chained() -> Exception:
    """An error of ours with a story behind it."""
    error = RuntimeError(TEXT)
    error.__cause__ = SecretStoreError(TEXT)
    error.add_note(TEXT)
    return error


FAULTS: Mapping[str, Callable[[], BaseException]] = {
    "its own": lambda: SecretStoreError(TEXT),
    "AWS": lambda: ClientError(
        {"Error": {"Code": "SecretStoreDenied", "Message": TEXT}, "ResponseMetadata": {}},  # type: ignore[typeddict-item]
        "PutItem",
    ),
    "network": lambda: EndpointConnectionError(endpoint_url=f"https://secret.example/{TEXT}"),
    "pydantic": invalid,
    "JSON": lambda: json.JSONDecodeError(TEXT, TEXT, 3),
    "unicode": lambda: UnicodeDecodeError("utf-8", TEXT.encode(), 0, 1, TEXT),
    "file": lambda: FileNotFoundError(2, TEXT, "/var/task/secret/store.py"),
    "key": lambda: KeyError(TEXT),
    "chained": chained,
    "unspeakable": UnspeakableError,
    "many": lambda: ExceptionGroup(TEXT, [SecretStoreError(TEXT)]),
}

LEFT_OUT = {"clock", "incidents", "policy", "answer", "webhooks"}
"""What is no port, or what nothing works without: a fault there ends the function before it says anything."""


def methods() -> Iterator[tuple[str, str]]:
    """Every method of every port, those of webhooks included."""
    for kind in (Ports, WebhookPorts):
        hints = get_type_hints(kind)
        for name in (each.name for each in fields(kind)):
            if name not in LEFT_OUT:
                protocol = _protocol(hints[name])
                yield from ((name, method) for method in vars(protocol) if not method.startswith("_"))


def _protocol(hint: Any) -> Any:
    kinds = getattr(hint, "__args__", (hint,))
    return next(kind for kind in kinds if kind is not type(None))


@dataclass
class Fragile:
    """A port one of whose methods fails from a certain call on, while it is broken."""

    port: Any
    method: str
    fault: Callable[[], BaseException]
    spared: int = 0
    broken: bool = False

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.port, name)
        if name != self.method:
            return found

        def call(*args: Any, **kwargs: Any) -> Any:
            if self.broken:
                self.spared -= 1
                if self.spared < 0:
                    raise self.fault()
            return found(*args, **kwargs)

        return call


@dataclass
class Leaky(Deployment):
    """A deployment in which things break, and everything that leaves it, and its log."""

    policy: Policy = field(
        default_factory=lambda: Policy(
            capabilities=frozenset({"streaming", "push_notifications", "extended_agent_card"}),
            rate_limits=dict.fromkeys(OperationClass, RateLimit(1000, Policy().retention, 1000)),
            inline_limit=100,
            log_limit=200,
            blocking_wait=timedelta(seconds=2),
            links=LinkPolicy(large=400),
        )
    )
    agent: Any = None
    log: io.StringIO = field(default_factory=io.StringIO)
    audit: FakeAudit = field(default_factory=FakeAudit)

    def __post_init__(self) -> None:
        super().__post_init__()
        Leaky.number += 1
        logger = Logger(
            service=f"leaky-{Leaky.number}",
            stream=self.log,
            json_serializer=printed,
            serialize_stacktrace=False,
        )
        self.incidents = PowertoolsIncidents(logger, self.ports.identifiers)
        self.executions.on_start = lambda turn: self.clock.after(0, lambda: self._run(turn))
        self.receivers = self.webhooks.posts
        self.equip(replace(self.ports, incidents=self.incidents), stream_time=timedelta(seconds=2))

    def equip(self, ports: Ports, **changed: Any) -> None:
        """Let both bindings and all turns work with these ports from now on."""
        self.ports = ports
        self.endpoint = replace(self.endpoint, ports=ports, audit=self.audit, **changed)

    def breaks(self, name: str, method: str, fault: Callable[[], BaseException], spared: int) -> Fragile:
        """Put a port in place that can be broken."""
        of_webhooks = name in {each.name for each in fields(WebhookPorts)}
        fragile = Fragile(getattr(self.webhooks if of_webhooks else self.ports, name), method, fault, spared)
        if of_webhooks:
            self.webhooks = replace(self.webhooks, **{name: fragile})
            self.equip(replace(self.ports, webhooks=self.webhooks))
        else:
            self.equip(replace(self.ports, **{name: fragile}))
        return fragile

    def settle(self) -> None:
        """Do what is done without a caller: sweep, tell of news, deliver, while receivers take it or not."""
        for answer in (WebhookAnswer(None, problem="timed out"), WebhookAnswer(204)):
            self.let_pass(120)
            self.survived(lambda: sweep(self.ports))
            self.survived(lambda: fan_out(self.ports, list(self._news())))
            self.receivers.answer = lambda asked, usual=answer: GONE if asked.url.endswith("gone") else usual
            self.survived(self.deliver)

    def _news(self) -> Iterator[Appended]:
        for (key, position), event in self.table.all(LoggedEvent):
            status = shown_status(event.entry)
            if event.pushes is not None:
                state = status.state if status else None
                yield Appended(key, position, event.pushes, status.timestamp if status else None, state)

    def _run(self, turn: TurnKey) -> None:
        """Run the turn as another process would, which dies of what it cannot bear; then it is failed."""
        try:
            run_turn(self.ports, self.agent or asks_and_delivers, turn, lambda: 900.0)
        except Exception:  # noqa: BLE001  whatever it is, Step Functions calls the last resort
            self.survived(lambda: fail_turn(self.ports, turn))

    def survived(self, work: Callable[[], object]) -> None:
        """Do something that no caller waits for and that may be struck as well."""
        try:
            work()
        except Exception as error:  # noqa: BLE001  it goes into the log, as a function's would
            self.incidents.report(error)


Leaky.number = 0  # type: ignore[attr-defined]


async def asks_and_delivers(turn: Turn) -> Any:
    """Look busy, deliver something large, then ask for more unless told to finish."""
    yield Working("Looking")
    turn.state["seen"] = turn.message.message_id
    for each in turn.attachments:
        await turn.workspace.write("copy", each.chunks())
    yield ArtifactChunk("report", parts=[Part(text="word " * 60), Part(text="word " * 100)], last_chunk=True)
    if "finish" not in (turn.message.parts[0].text or ""):
        yield InputRequired("What else?")


def left(response: HttpResponse | StreamedResponse) -> str:
    """All that a caller sees of an answer, also of one that breaks off."""
    seen = [str(response.status), *(f"{name}: {value}" for name, value in response.headers.items())]
    if isinstance(response, HttpResponse):
        seen.append(response.body.decode())
    else:
        chunks = iter(response.chunks)
        while True:
            try:
                seen.append(next(chunks).decode())
            except StopIteration:
                break
            except Exception:  # noqa: BLE001  the connection is cut here
                break
    response.afterwards()
    return "\n".join(seen)


def said(name: str, text: str = "start", **fields: Any) -> dict[str, Any]:
    """The request that says so, under an id that is made of this name."""
    message = {"messageId": name, "role": "ROLE_USER", "parts": [{"text": text}], **fields}
    return {"message": message}


CONFIG = {
    "id": "w",
    "url": "https://hooks.example/a",
    "token": "tok-1",
    "authentication": {"scheme": "Bearer", "credentials": "c-1"},
}


FIRST = {"id": "first", "url": "https://hooks.example/gone"}
GONE = WebhookAnswer(410)
WITH_WEBHOOK = {"configuration": {"taskPushNotificationConfig": CONFIG}}


FILE = {"name": "notes.txt", "mediaType": "text/plain", "byteSize": 5}
NAMED: dict[str, Any] = {"parts": [{"text": "read"}, {"url": "file:///notes.txt"}], "contextId": "filed"}


def offered(client: Client) -> HttpResponse | StreamedResponse:
    """The answer to who wants to upload a file, over the one route that there is."""
    asked = HttpRequest(
        "POST",
        "/contexts/filed/files",
        client.headers,
        {},
        json.dumps(FILE).encode(),
        "https://agent.example",
    )
    return http_json.answer(client.deployment.endpoint, asked)


def fetched(client: Client, path: str, verb: str) -> HttpResponse | StreamedResponse:
    """The answer to who wants to read content."""
    asked = HttpRequest(verb, path, client.headers, origin="https://agent.example")
    return http_json.answer(client.deployment.endpoint, asked)


def upload(client: Client) -> None:
    """Upload a file."""
    told = json.loads(whole(offered(client)).body)["upload"]["url"]
    uploads: Any = client.deployment.ports.uploads
    uploads.put(unquote(told.removeprefix("https://uploads.example/")), b"notes", "text/plain")


def everything(client: Client, task_id: str) -> Iterator[str]:
    """What a caller sees of every operation, once each, and of files."""
    yield left(offered(client))
    for verb, part in (("GET", 0), ("GET", 1), ("HEAD", 1)):  # by its pieces, and by a link
        yield left(fetched(client, f"/artifacts/{task_id}/report/{part}", verb))
    asked: list[tuple[str, Mapping[str, Any]]] = [
        ("GetTask", {"id": task_id}),
        ("ListTasks", {"includeArtifacts": True}),
        ("SendMessage", {**said("m-2", taskId=task_id), **WITH_WEBHOOK}),
        ("SubscribeToTask", {"id": task_id}),
        ("SendMessage", {**said("m-3"), **WITH_WEBHOOK}),
        ("SendMessage", {**said("m-3"), **WITH_WEBHOOK}),
        ("SendStreamingMessage", said("m-4", "finish")),
        ("SendMessage", said("m-5", contextId="busy")),
        ("SendMessage", said("m-6", contextId="busy")),
        ("SendMessage", said("m-7", taskId=task_id, contextId="other")),
        ("SendMessage", said("m-8", **NAMED)),
        ("SendMessage", said("m-9", **NAMED)),
        ("CreateTaskPushNotificationConfig", {"taskId": task_id, **CONFIG}),
        ("GetTaskPushNotificationConfig", {"taskId": task_id, "id": "w"}),
        ("ListTaskPushNotificationConfigs", {"taskId": task_id}),
        ("DeleteTaskPushNotificationConfig", {"taskId": task_id, "id": "w"}),
        ("CancelTask", {"id": task_id}),
        ("SendMessage", {**said("m-2", taskId=task_id), **WITH_WEBHOOK}),
        ("GetExtendedAgentCard", {}),
    ]
    usual = client.deployment.executions.on_start
    for method, given in asked:
        # The turn of this message never runs, as if its execution had been lost.
        lost = given.get("message", {}).get("messageId") == "m-5"
        client.deployment.executions.on_start = None if lost else usual
        yield left(client._ask(method, given))


def afterwards(client: Client) -> Iterator[str]:
    """What is still to be seen when everything works again: tasks, webhooks, accounts of calls."""
    deployment = client.deployment
    assert isinstance(deployment, Leaky)
    deployment.settle()
    yield left(client._ask("ListTasks", {"includeArtifacts": True, "historyLength": 100}))
    for post in deployment.receivers.made:
        yield f"{post.url} {dict(post.headers)} {post.body.decode()}"
    yield repr(deployment.audit.calls)


def connected(connect: Connect, deployment: Leaky) -> Client:
    access = Access()
    deployment.admittance = Admittance(local_principal="tester", access=lambda: access)
    client = connect(deployment)
    return client.with_headers(authorization=f"Bearer {TOKEN}", x_api_key=TOKEN)


def leaks(seen: list[str]) -> set[str]:
    return {mark for mark in MARKS for text in seen if mark in text}


@requirement("3.3.2:faults-say-nothing")
@pytest.mark.parametrize("method", sorted(f"{name}.{method}" for name, method in methods()))
def test_no_fault_of_any_port_is_seen_outside(connect: Connect, method: str) -> None:
    name, _, called = method.partition(".")
    struck = 0
    for spared, fault in enumerate((FAULTS["its own"], FAULTS["AWS"])):
        deployment = Leaky()
        client = connected(connect, deployment)
        fragile = deployment.breaks(name, called, fault, spared)
        task_id = client.call("SendMessage", said("m-1"))["task"]["id"]
        client.call("CreateTaskPushNotificationConfig", {"taskId": task_id, **CONFIG, **FIRST})
        upload(client)

        fragile.broken = True
        seen = list(everything(client, task_id))
        deployment.settle()
        struck += fragile.spared < 0
        fragile.broken = False
        seen += afterwards(client)

        assert leaks(seen) == set()
        assert TOKEN not in deployment.log.getvalue()
        assert "hunter2" not in deployment.log.getvalue()
    assert struck or method in NEVER_ASKED


NEVER_ASKED = {"letters.count", "letters.remove", "store.dead", "store.revive", "tasks.load_up_to"}
"""Methods that only an operator's commands use, or that these calls have no reason to."""


@requirement("3.3.2:faults-say-nothing")
@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
@pytest.mark.parametrize("when", ["at once", "in the middle"])
def test_what_an_agent_dies_of_is_seen_by_nobody(
    connect: Connect, fault: Callable[[], BaseException], when: str
) -> None:
    async def agent(turn: Turn) -> Any:
        if when != "at once":
            yield Working("Looking")
            yield ArtifactChunk("report", "something")
        raise fault()

    deployment = Leaky(agent=agent)
    client = connected(connect, deployment)
    seen = [left(client._ask("SendMessage", said("m", "go")))]
    seen += [left(client._ask("SendStreamingMessage", said("m-2", "go")))]
    seen += afterwards(client)

    assert "TASK_STATE_FAILED" in seen[0]
    assert leaks(seen) == set()
    assert "hunter2" not in deployment.log.getvalue()
    assert deployment.log.getvalue().count("An operation failed.") == 2


@requirement("3.3.2:faults-say-nothing")
@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
def test_what_a_deployers_code_dies_of_inside_the_api_is_seen_by_nobody(
    connect: Connect, fault: Callable[[], BaseException]
) -> None:
    def raises(*_: object) -> Any:
        raise fault()

    deployment = Leaky()
    client = connected(connect, deployment)
    deployment.equip(replace(deployment.ports, answer=raises), callers_card=raises)

    seen = [left(client._ask("SendMessage", said("m", "go")))]
    seen += [left(client._ask("GetExtendedAgentCard", {}))]

    assert all("INTERNAL_ERROR" in text and "errorId" in text for text in seen)
    assert leaks(seen) == set()


@requirement("3.3.2:faults-say-nothing")
@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
def test_what_breaks_while_somebody_is_let_in_is_seen_by_nobody(
    connect: Connect, fault: Callable[[], BaseException]
) -> None:
    class Broken:
        header, word, challenge = "authorization", "bearer", "Bearer"
        announced: Mapping[str, Any] = {}

        def principal(self, credential: str) -> Any:
            raise fault()

    access = Access((Broken(),))
    deployment = Leaky()
    client = connected(connect, deployment)
    deployment.equip(deployment.ports, admittance=Admittance(access=lambda: access))

    seen = [left(client._ask(method, {})) for method in ("ListTasks", "GetExtendedAgentCard")]
    seen.append(repr(deployment.audit.calls))

    assert all("INTERNAL_ERROR" in text for text in seen)
    assert leaks(seen) == set()
    assert TOKEN not in deployment.log.getvalue()


@requirement("3.3.2:faults-say-nothing")
def test_an_errors_id_finds_its_line_in_the_log_and_its_account(connect: Connect) -> None:
    deployment = Leaky()
    client = connected(connect, deployment)
    fragile = deployment.breaks("tasks", "load", lambda: SecretStoreError(TEXT), spared=0)
    fragile.broken = True

    response = client._ask("GetTask", {"id": "t"})
    body = json.loads(left(response).rpartition("\n")[2])

    details = body["error"]["data" if client.binding == "JSONRPC" else "details"]
    error_id = details[0]["metadata"]["errorId"]
    (line,) = [json.loads(line) for line in deployment.log.getvalue().splitlines()]
    assert (line["error_id"], line["error_type"]) == (error_id, "SecretStoreError")
    assert "arn:aws:dynamodb" in line["exception"]
    assert [call.error_id for call in deployment.audit.calls] == [error_id]


@requirement("3.3.2:faults-say-nothing")
def test_nothing_that_is_answered_says_what_was_said(connect: Connect) -> None:
    """The instant answer, which is the deployer's own, excepted."""
    deployment = Leaky()
    client = connected(connect, deployment)

    def repeats(message: Message) -> Message:
        raise ValueError(message)

    deployment.equip(replace(deployment.ports, answer=repeats))

    assert "said-in-confidence" not in left(client._ask("SendMessage", said("m", "said-in-confidence")))
