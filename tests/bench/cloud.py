"""The deployment with its real adapters on the local stack's AWS, all sides of it in this process.

moto runs in its own process, DynamoDB behind one lock; its interpreter runs the deployment's state machine,
whose tasks come back here over HTTP. So whatever is counted is what the adapters send and the machine does.
"""

import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cached_property
from typing import Any

from botocore.session import get_session

from a2a_serverless.adapters.dynamodb_changes import appended
from a2a_serverless.adapters.sqs_pokes import read_poke
from a2a_serverless.agent import Agent
from a2a_serverless.bindings.batches import all_at_once
from a2a_serverless.bindings.turn_input import turn_of
from a2a_serverless.operations.deliveries import deliver, fan_out
from a2a_serverless.operations.follow import awaited
from a2a_serverless.operations.send import send_message
from a2a_serverless.operations.turns import run_turn
from a2a_serverless.ports import Caller, Ports, TurnKey, owner_of
from a2a_serverless.protocol.objects import Message, Part, Role, Task
from a2a_serverless.protocol.requests import (
    SendMessageConfiguration,
    SendMessageRequest,
    TaskPushNotificationConfig,
)
from a2a_serverless.settings import Settings
from a2a_serverless.wiring.world import ports
from infra.local.aws import ROOT, Aws, credentials
from infra.local.deployment import Deployment
from infra.local.http import Server, listen
from infra.local.template import read_deployment
from infra.local.wire import Request, Response
from tests.bench.capacity import Table
from tests.bench.ledger import Ledger
from tests.fakes.world import FakeIncidents, FakeMetrics

CALLER = Caller(tenant="", owner=owner_of("bench", "bench"), name="bench", base_url="https://bench.invalid")

LOOPBACK = {"LOOPBACK_WEBHOOKS": "allowed"}

SETTLED = 0.5
"""Seconds after which nothing comes that has not come."""

PUSH_TIME = timedelta(seconds=45)
"""What is left of the push function's minute for beginning a delivery."""

MakeAgent = Callable[[Ledger], Agent]
"""An agent that may say in the turn's ledger what it is doing."""


class Counters(FakeMetrics):
    """Metrics, which cost no request (they are log lines); admitting a message ends that phase of the API."""

    def __init__(self, ledger: Ledger) -> None:
        super().__init__()
        self._ledger = ledger

    def count(self, name: str, value: int = 1, **dimensions: str) -> None:
        super().count(name, value, **dimensions)
        if name == "MessageAdmitted":
            self._ledger.enter("tail")


@dataclass
class Cloud:
    """A running deployment, seen from its API.

    `turns`, `fanouts` and `pushes` hold how many seconds each invocation of these functions took.
    """

    settings: Settings
    table: Table
    agent: MakeAgent
    seconds_each: float
    turns: list[float] = field(default_factory=list)
    fanouts: list[float] = field(default_factory=list)
    pushes: list[float] = field(default_factory=list)
    ended: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))

    def __post_init__(self) -> None:
        self.api = Ledger(self.table, self.seconds_each)
        self.turn = Ledger(self.table, self.seconds_each)
        self.fanout = Ledger(self.table, self.seconds_each)
        self.push = Ledger(self.table, self.seconds_each)

    @cached_property
    def ports(self) -> Ports:
        """The API's ports."""
        return self._ports(self.api)

    @cached_property
    def turn_ports(self) -> Ports:
        """The turn function's ports."""
        return self._ports(self.turn)

    @cached_property
    def fanout_ports(self) -> Ports:
        """The ports of the function that wakes whoever delivers."""
        return self._ports(self.fanout)

    @cached_property
    def push_ports(self) -> Ports:
        """The ports of the function that delivers."""
        return self._ports(self.push)

    def send(
        self, text: str = "go", *, wait: bool = True, webhook: TaskPushNotificationConfig | None = None
    ) -> Task:
        """SendMessage, as the API's function does it."""
        self.api.enter("admission")
        message = Message(message_id=self.ports.identifiers.new(), role=Role.USER, parts=(Part(text=text),))
        configuration = SendMessageConfiguration(
            return_immediately=not wait, task_push_notification_config=webhook
        )
        answer = awaited(
            send_message(self.ports, CALLER, SendMessageRequest(message=message, configuration=configuration))
        )
        if answer.task is None:
            raise TypeError("an answer without a task")
        return answer.task

    def invoked(self, request: Request) -> Response:
        """The turn's function as the state machine invokes it, and the two that tell webhooks."""
        given = json.loads(request.body)
        if "Records" in given:
            from_queue = given["Records"][0]["eventSource"] == "aws:sqs"
            return self._delivered(given) if from_queue else self._fanned(given)
        if "fail" in given:
            return Response(500, (("X-Amz-Function-Error", "Unhandled"),), b'{"errorType": "NotExpected"}')
        began = time.perf_counter()
        self.turn.enter("start")
        run_turn(self.turn_ports, self.agent(self.turn), turn_of(given), lambda: 900.0)
        self.turns.append(time.perf_counter() - began)
        self.ended.release()
        return Response(200, (), b"null")

    def _fanned(self, given: Mapping[str, Any]) -> Response:
        began = time.perf_counter()
        fan_out(self.fanout_ports, [news for record in given["Records"] if (news := appended(record))])
        self.fanouts.append(time.perf_counter() - began)
        return Response(200, (), b"null")

    def _delivered(self, given: Mapping[str, Any]) -> Response:
        ports, began = self.push_ports, time.perf_counter()
        until = ports.clock.now() + PUSH_TIME
        failed = all_at_once(given, lambda body: deliver(ports, read_poke(body), until), _rise)
        self.pushes.append(time.perf_counter() - began)
        return Response(200, (), json.dumps(failed).encode())

    def history(self, task: Task) -> list[Mapping[str, Any]]:
        """What Step Functions notes of the task's first turn, asked for until it has ended."""
        client: Any = get_session().create_client("stepfunctions")
        name = TurnKey(CALLER.task(task.id), 1).name
        machine = self.settings.turn_state_machine_arn
        arn = f"{machine.replace(':stateMachine:', ':execution:')}:{name}"
        while client.describe_execution(executionArn=arn)["status"] == "RUNNING":
            time.sleep(0.02)
        events: list[Mapping[str, Any]] = client.get_execution_history(executionArn=arn)["events"]
        return events

    def settle(self) -> None:
        """Wait until whoever tells webhooks has nothing left to do."""
        seen = None
        while (now := (len(self.fanout.sent), len(self.push.sent), len(self.fanouts))) != seen:
            seen = now
            time.sleep(SETTLED)

    def forget(self) -> None:
        """Count from here on."""
        for ledger in (self.api, self.turn, self.fanout, self.push):
            ledger.sent.clear()
        for seconds in (self.turns, self.fanouts, self.pushes):
            seconds.clear()

    def _ports(self, ledger: Ledger) -> Ports:
        """The ports as they are wired, but for what only writes log lines."""
        with ledger.watching_new_sessions():
            wired = ports(self.settings)
        return replace(wired, incidents=FakeIncidents(), metrics=Counters(ledger))


def _rise(error: BaseException, _: str) -> None:
    raise error


@contextmanager
def cloud(agent: MakeAgent, *, seconds_each: float = 0.0) -> Iterator[Cloud]:
    """Start a deployment with this agent; every request takes `seconds_each` longer than the emulator."""
    deployment = read_deployment(ROOT)
    listener = listen()
    address = f"127.0.0.1:{listener.getsockname()[1]}"
    with closing(Aws(deployment, address)) as aws:
        aws.start()
        os.environ.update({**credentials(), "AWS_ENDPOINT_URL": aws.endpoint})
        table = Table.declared(_table(deployment))
        running = Cloud(_settings(deployment), table, agent, seconds_each)
        with closing(Server(running.invoked, listener, name="functions")) as functions:
            functions.start()
            aws.wait_until_ready()
            yield running


def _table(deployment: Deployment) -> Mapping[str, Any]:
    resources = deployment.state["Resources"].values()
    (table,) = [each["Properties"] for each in resources if each["Type"] == "AWS::DynamoDB::Table"]
    return dict(table)


def _settings(deployment: Deployment) -> Settings:
    """What the template tells the JSON-RPC function."""
    (function,) = [each for each in deployment.functions.values() if each.folder.name == "jsonrpc"]
    return Settings.from_environment({**function.environment, "LOCAL_PRINCIPAL": "bench", **LOOPBACK})
