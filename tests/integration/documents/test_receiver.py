"""The receiver that the documentation shows, run as it stands against real signatures and published keys."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt
import pytest

from a2a_serverless.adapters.jws_signatures import JwsSignatures
from a2a_serverless.adapters.p256_key_pairs import P256KeyPairs
from a2a_serverless.bindings.http import HttpRequest
from a2a_serverless.bindings.keys import KEYS_PATH, KeyDesk
from a2a_serverless.operations.signing_keys import published, rotate
from a2a_serverless.ports.signing_keys import KeyPolicy, KeyPorts
from tests.fakes.ports import FakeClock
from tests.fakes.signing import fake_keys
from tests.integration.documents.fenced import example

HOOK = "https://receiver.example/hook?tenant=1"
BODY = b'{"statusUpdate":{"taskId":"t-1","contextId":"c-1","status":{"state":"TASK_STATE_WORKING"}}}'
CLAIMS = {"jti": "t-1-2", "url": HOOK}


@dataclass
class Agent:
    """An agent that signs, shows its keys, and remembers who fetched them."""

    ports: KeyPorts
    clock: FakeClock
    signatures: JwsSignatures
    address: str
    fetched: list[str] = field(default_factory=list)

    def signature(self, body: bytes = BODY, **claims: str) -> str:
        return self.signatures.sign(body, {**CLAIMS, **claims})


@pytest.fixture
def agent() -> Iterator[Agent]:
    clock = FakeClock(datetime.now(UTC))
    ports = fake_keys(clock=clock, pairs=P256KeyPairs())
    desk = KeyDesk(lambda: published(ports.keys.read(), clock.now()))
    made = Agent(ports, clock, JwsSignatures(ports), "")

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            made.fetched.append(self.path)
            answer = desk.answer(HttpRequest("GET", self.path))
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(answer.body)

        def log_message(self, *_: Any) -> None:
            """Nobody reads it."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        serving = threading.Thread(target=server.serve_forever, args=(0.01,))
        serving.start()
        made.address = f"http://127.0.0.1:{server.server_port}"
        try:
            yield made
        finally:
            server.shutdown()
            serving.join()


@dataclass
class Receiver:
    """The documented receiver and what it acted upon."""

    receive: Callable[[str | None, bytes, Callable[[Any], object]], int]
    acted: list[Mapping[str, Any]] = field(default_factory=list)

    def __call__(self, signature: str | None, body: bytes = BODY) -> int:
        return self.receive(signature, body, self.acted.append)


@pytest.fixture
def receiver(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> Receiver:
    return run_example(agent.address, monkeypatch)


def run_example(address: str, monkeypatch: pytest.MonkeyPatch) -> Receiver:
    monkeypatch.setenv("WEBHOOK_URL", HOOK)
    monkeypatch.setenv("AGENT_URL", address)
    names: dict[str, Any] = {}
    exec(example("layers/signing/README.md", "python"), names)  # noqa: S102  that is the test
    return Receiver(names["receive"])


def test_an_event_is_taken_and_acted_upon(agent: Agent, receiver: Receiver) -> None:
    assert receiver(agent.signature()) == 204

    assert receiver.acted == [json.loads(BODY)]
    assert agent.fetched == [KEYS_PATH]


def test_keys_are_fetched_once_for_many_events(agent: Agent, receiver: Receiver) -> None:
    assert {receiver(agent.signature(jti=f"t-1-{position}")) for position in range(20)} == {204}

    assert len(receiver.acted) == 20
    assert agent.fetched == [KEYS_PATH]


def test_another_body_is_refused(agent: Agent, receiver: Receiver) -> None:
    assert receiver(agent.signature(), BODY.replace(b"WORKING", b"COMPLETED")) == 401

    assert receiver.acted == []


def test_what_was_signed_for_another_address_is_refused(agent: Agent, receiver: Receiver) -> None:
    assert receiver(agent.signature(url="https://other.example/hook")) == 401

    assert receiver.acted == []


@pytest.mark.parametrize("off", [timedelta(seconds=-310), timedelta(seconds=310)], ids=["past", "future"])
def test_what_was_signed_long_ago_or_is_yet_to_be_is_refused(
    agent: Agent, receiver: Receiver, off: timedelta
) -> None:
    agent.clock.moment += off

    assert receiver(agent.signature()) == 401

    assert receiver.acted == []


def test_a_key_that_is_not_published_is_refused(agent: Agent, receiver: Receiver) -> None:
    agent.signature()
    forger = JwsSignatures(fake_keys(clock=agent.clock, pairs=P256KeyPairs()))

    assert receiver(forger.sign(BODY, CLAIMS)) == 401

    assert receiver.acted == []


def test_an_event_that_comes_again_is_taken_and_nothing_is_done(agent: Agent, receiver: Receiver) -> None:
    signature = agent.signature()

    assert [receiver(signature), receiver(signature), receiver(agent.signature())] == [204, 204, 204]

    assert len(receiver.acted) == 1


def test_an_event_that_could_not_be_acted_upon_is_acted_upon_when_it_comes_again(
    agent: Agent, receiver: Receiver
) -> None:
    def fail(_: object) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        receiver.receive(agent.signature(), BODY, fail)

    assert receiver(agent.signature()) == 204
    assert len(receiver.acted) == 1


@pytest.mark.parametrize("signature", [None, "", "a.b.c", "e30..e30", "no signature at all"])
def test_what_is_no_signature_is_refused(agent: Agent, receiver: Receiver, signature: str | None) -> None:
    agent.signature()

    assert receiver(signature) == 401

    assert receiver.acted == []


def test_an_agent_that_changes_its_key_is_believed_before_and_after(agent: Agent, receiver: Receiver) -> None:
    """The receiver saw the next key among those it fetched for the one before."""
    ahead = timedelta(minutes=1)
    ports = replace(agent.ports, policy=KeyPolicy(publish_ahead=ahead))
    signatures = JwsSignatures(ports)
    agent.clock.moment -= ahead  # the receiver goes by the time of day
    before = signatures.sign(BODY, CLAIMS)
    rotate(ports)
    assert receiver(before) == 204

    agent.clock.moment += ahead
    after = JwsSignatures(ports).sign(BODY, {**CLAIMS, "jti": "t-1-3"})

    assert jwt.get_unverified_header(before)["kid"] != jwt.get_unverified_header(after)["kid"]
    assert receiver(after) == 204
    assert len(receiver.acted) == 2
    assert agent.fetched == [KEYS_PATH]


def test_where_the_keys_are_out_of_reach_the_agent_is_asked_to_come_again(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    receiver = run_example("http://127.0.0.1:9", monkeypatch)

    assert receiver(agent.signature()) == 503

    assert receiver.acted == []
