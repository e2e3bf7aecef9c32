"""One implementation of every port, for one owner that nobody else is using."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from botocore.awsrequest import AWSPreparedRequest
from botocore.exceptions import ConnectionClosedError
from botocore.httpsession import URLLib3Session

from a2a_serverless.adapters.dynamodb_admissions import DynamoAdmissions
from a2a_serverless.adapters.dynamodb_contexts import DynamoContexts
from a2a_serverless.adapters.dynamodb_due import DynamoDue
from a2a_serverless.adapters.dynamodb_hosts import DynamoHosts
from a2a_serverless.adapters.dynamodb_rate_limits import DynamoRateLimits
from a2a_serverless.adapters.dynamodb_streams import DynamoStreamPlaces
from a2a_serverless.adapters.dynamodb_table import DynamoTable
from a2a_serverless.adapters.dynamodb_tasks import DynamoTasks
from a2a_serverless.adapters.dynamodb_webhooks import DynamoWebhooks
from a2a_serverless.adapters.s3_contents import S3Contents
from a2a_serverless.adapters.s3_uploads import S3Uploads
from a2a_serverless.adapters.stepfunctions_executions import StepFunctionsExecutions
from a2a_serverless.adapters.uuid_identifiers import UuidIdentifiers
from a2a_serverless.ports import (
    AdmissionStore,
    Contents,
    ContextStore,
    DueIndex,
    Executions,
    StreamPlaces,
    TaskStore,
    Uploads,
)
from a2a_serverless.ports.limits import RateLimits
from a2a_serverless.ports.webhooks import Hosts, WebhookKey, WebhookStore
from a2a_serverless.tasks.log import TaskKey
from tests.fakes.ports import (
    FakeClock,
    FakeHosts,
    FakeRateLimits,
    FakeTable,
    FakeWebhooks,
    fake_ports,
)
from tests.integration.ports.backends import Backend

TENANT = "acme"


@dataclass(frozen=True)
class World:
    """The ports under test and the clock they go by: nothing expires or waits in earnest.

    `hosts` and `rate_limits` give them as one more process sees them.
    """

    tasks: TaskStore
    admissions: AdmissionStore
    contexts: ContextStore
    due: DueIndex
    contents: Contents
    uploads: Uploads
    executions: Executions
    streams: StreamPlaces
    webhooks: WebhookStore
    hosts: Callable[[], Hosts]
    rate_limits: Callable[[], RateLimits]
    clock: FakeClock
    owner: str

    def task(self, name: str = "t-1") -> TaskKey:
        """The key of one of the owner's tasks."""
        return TaskKey(TENANT, self.owner, name)

    def webhook(self, config_id: str = "w-1", task: str = "t-1") -> WebhookKey:
        """The key of a webhook of one of them."""
        return WebhookKey(self.task(task), config_id)


@dataclass(frozen=True)
class StoredWorld(World):
    """A world on an emulator, where what travels can be tampered with."""

    backend: Backend

    def unfinished_uploads(self) -> list[str]:
        """The keys of what is on its way to the bucket and has been neither finished nor given up."""
        found = self.backend.s3.list_multipart_uploads(Bucket=self.backend.bucket)
        return [each["Key"] for each in found.get("Uploads", ()) if self.owner in each["Key"]]

    @contextmanager
    def losing_the_answer_of(self, operation: str) -> Iterator[None]:
        """Let the next such request take effect and lose its answer, so that the SDK repeats it."""
        event = f"before-send.dynamodb.{operation}"
        lost: list[Any] = []
        http = URLLib3Session()

        def lose(request: AWSPreparedRequest, **_: Any) -> None:
            if not lost:
                lost.append(http.send(request))
                raise ConnectionClosedError(endpoint_url=request.url)

        events = self.backend.dynamodb.meta.events
        events.register_first(event, lose)
        try:
            yield
        finally:
            events.unregister(event, lose)
            http.close()
        assert len(lost) == 1

    @contextmanager
    def leaving_keys_unprocessed(self, answers: int, *, kept: int) -> Iterator[list[int]]:
        """Hand out only `kept` items of each of the next answers to BatchGetItem, the other keys unprocessed.

        Yields the numbers of keys asked for, request by request.
        """
        event, asked = "after-call.dynamodb.BatchGetItem", []

        def withhold(parsed: dict[str, Any], **_: Any) -> None:
            ((name, items),) = parsed["Responses"].items()
            asked.append(len(items))
            if len(asked) <= answers:
                withheld = [{"pk": item["pk"], "sk": item["sk"]} for item in items[kept:]]
                parsed["Responses"][name] = items[:kept]
                parsed["UnprocessedKeys"] = (
                    {name: {"Keys": withheld, "ConsistentRead": True}} if withheld else {}
                )

        events = self.backend.dynamodb.meta.events
        events.register(event, withhold)
        try:
            yield asked
        finally:
            events.unregister(event, withhold)


def fake_world() -> World:
    """A world in memory."""
    clock = FakeClock()
    table, hosts, rate_limits = FakeTable(clock), FakeHosts(clock), FakeRateLimits(clock)
    ports = fake_ports(clock=clock, table=table)
    return World(
        ports.tasks,
        ports.admissions,
        ports.contexts,
        ports.due,
        ports.contents,
        ports.uploads,
        ports.executions,
        ports.streams,
        FakeWebhooks(table),
        lambda: hosts,
        lambda: rate_limits,
        clock,
        _owner(),
    )


def stored_world(backend: Backend) -> StoredWorld:
    """A world on an emulator."""
    clock, identifiers = FakeClock(), UuidIdentifiers()
    table = DynamoTable(backend.dynamodb, backend.table, clock)
    contents = S3Contents(backend.s3, backend.bucket)
    return StoredWorld(
        tasks=DynamoTasks(table, contents, identifiers),
        admissions=DynamoAdmissions(table, contents, identifiers),
        contexts=DynamoContexts(table),
        due=DynamoDue(table),
        contents=contents,
        uploads=S3Uploads(backend.s3, backend.bucket),
        executions=StepFunctionsExecutions(backend.stepfunctions, backend.state_machine_arn),
        streams=DynamoStreamPlaces(table),
        webhooks=DynamoWebhooks(table),
        hosts=lambda: DynamoHosts(table),
        rate_limits=lambda: DynamoRateLimits(table),
        clock=clock,
        owner=_owner(),
        backend=backend,
    )


def _owner() -> str:
    return uuid4().hex
