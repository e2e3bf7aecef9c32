"""From registration to a real connection: what a host name means in between changes nothing for the worse."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest

from a2a_serverless.adapters.https_posts import HttpsPosts
from a2a_serverless.operations.deliveries import deliver
from a2a_serverless.operations.webhooks import create_config
from a2a_serverless.ports import Policy, Ports, WebhookPolicy
from a2a_serverless.ports.webhooks import Poke, WebhookKey, WebhookPorts
from a2a_serverless.protocol.errors import FieldViolation, InvalidParamsError
from a2a_serverless.protocol.requests import TaskPushNotificationConfig
from tests.fakes.ports import FakeLetters, FakeNames
from tests.integration.webhooks.certificates import Authority
from tests.integration.webhooks.receivers import Receiver, answering, receiving
from tests.unit.operations.world import CALLER, World

HOST = "hooks.example.com"
PUBLIC = "93.184.215.14"
HERE = "127.0.0.1"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"


@dataclass
class ChangingNames:
    """A domain name system that gives one answer after the other, and the last for ever."""

    answers: list[Sequence[str]]
    asked: list[str] = field(default_factory=list)

    def addresses(self, host: str) -> Sequence[str]:
        self.asked.append(host)
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


@dataclass
class Sender:
    """A deployment in memory that posts in earnest."""

    names: ChangingNames | FakeNames
    policy: WebhookPolicy = field(default_factory=WebhookPolicy)

    def __post_init__(self) -> None:
        self.world = World(policy=Policy(webhooks=self.policy))
        self.ports: Ports = replace(
            self.world.ports, webhooks=replace(self.webhooks, names=self.names, posts=HttpsPosts())
        )

    @property
    def webhooks(self) -> WebhookPorts:
        """What webhooks need."""
        assert self.world.ports.webhooks is not None
        return self.world.ports.webhooks

    def register(self, url: str) -> WebhookKey:
        """Register a webhook for a task that nobody has worked on yet."""
        task = self.world.send("m-1")
        create_config(self.ports, CALLER, TaskPushNotificationConfig(id="c-1", task_id=task.id, url=url))
        return WebhookKey(CALLER.task(task.id), "c-1")

    def deliver(self, key: WebhookKey) -> list[str]:
        """Let the task be done with and its webhook be told; why that was given up, if it was."""
        self.world.run_turns()
        deliver(self.ports, Poke(key), self.world.clock.now().replace(year=9999))
        letters = self.webhooks.letters
        assert isinstance(letters, FakeLetters)
        return [letter.reason for letter in letters.lying]


def url_of(receiver: Receiver) -> str:
    """The receiver under a name that leads to it only if our names say so."""
    return f"{'https' if receiver.tls else 'http'}://{HOST}:{receiver.port}/inbox"


@pytest.mark.parametrize(
    "later",
    [[HERE], ["10.0.0.1"], ["169.254.169.254"], [PUBLIC, HERE], ["::ffff:127.0.0.1"], ["64:ff9b::7f00:1"]],
    ids=["loopback", "private", "metadata", "one of two", "mapped", "NAT64"],
)
def test_a_name_that_turns_private_after_registration_is_not_called(
    trusted: Authority, later: list[str]
) -> None:
    with receiving(answering(OK), tls=trusted.serve(HOST)) as receiver:
        sender = Sender(ChangingNames([[PUBLIC], later]))
        key = sender.register(url_of(receiver))

        reasons = sender.deliver(key)

    assert reasons == ["the URL leads to an address that is not public"]
    assert receiver.connections == 0


def test_a_name_without_addresses_at_registration_is_checked_when_it_has_some(trusted: Authority) -> None:
    names = FakeNames({HOST: ()})
    with receiving(answering(OK), tls=trusted.serve(HOST)) as receiver:
        sender = Sender(names)
        key = sender.register(url_of(receiver))
        names.known[HOST] = (HERE,)

        reasons = sender.deliver(key)

    assert reasons == ["the URL leads to an address that is not public"]
    assert receiver.connections == 0


def test_a_name_that_is_private_at_registration_is_refused() -> None:
    with pytest.raises(InvalidParamsError) as refused:
        Sender(FakeNames({HOST: (PUBLIC, HERE)})).register(f"https://{HOST}/")

    assert refused.value.violations == (FieldViolation("url", "must not point to a private or local host"),)


def test_a_name_is_looked_up_once_for_each_connection(trusted: Authority) -> None:
    names = ChangingNames([[HERE]])
    with receiving(answering(OK), tls=trusted.serve(HOST)) as receiver:
        sender = Sender(names, WebhookPolicy(loopback=True))
        key = sender.register(url_of(receiver))
        assert names.asked == [HOST]

        assert sender.deliver(key) == []

    assert receiver.connections > 1
    assert names.asked == [HOST] * (1 + receiver.connections)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_to_somewhere_inside_is_an_answer_and_not_followed(
    trusted: Authority, status: int
) -> None:
    with receiving(answering(OK)) as inside:
        moved = f"HTTP/1.1 {status} Moved\r\nLocation: http://{HERE}:{inside.port}/\r\n\r\n".encode()
        with receiving(answering(moved), tls=trusted.serve(HOST)) as receiver:
            sender = Sender(FakeNames({HOST: (HERE,)}), WebhookPolicy(loopback=True))
            key = sender.register(url_of(receiver))

            reasons = sender.deliver(key)

    assert reasons == [f"answered {status}"]
    assert receiver.connections == 1
    assert inside.connections == 0


def test_a_webhook_taken_under_a_laxer_policy_is_not_called_under_a_stricter_one() -> None:
    with receiving(answering(OK)) as receiver:
        sender = Sender(FakeNames({HOST: (HERE,)}), WebhookPolicy(loopback=True, plain_http=True))
        key = sender.register(url_of(receiver))
        sender.ports = replace(sender.ports, policy=replace(sender.ports.policy, webhooks=WebhookPolicy()))

        reasons = sender.deliver(key)

    assert reasons == ["the URL leads to an address that is not public"]
    assert receiver.connections == 0
