"""An operator's desk before moto: the command as it is typed, and webhooks that died in earnest."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any

from botocore.session import Session
from typer.testing import CliRunner, Result

from a2a_serverless.adapters.aws_access import session
from a2a_serverless.adapters.dynamodb_table import DynamoTable
from a2a_serverless.adapters.dynamodb_webhooks import DynamoWebhooks
from a2a_serverless.adapters.sqs_letters import SqsLetters
from a2a_serverless.adapters.system_clock import SystemClock
from a2a_serverless.cli.main import NAME, app
from a2a_serverless.ports.webhooks import DeadLetter, WebhookKey
from a2a_serverless.tasks.log import TaskKey
from tests.integration.ports.backends import Backend
from tests.integration.ports.samples import registration

AWS = ("AWS_", "A2A_")
"""How the variables begin that would lead a command somewhere."""

NOWHERE = {
    "AWS_CONFIG_FILE": "/nonexistent",
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_SHARED_CREDENTIALS_FILE": "/nonexistent",
}
"""Nobody is signed in."""


@dataclass
class Desk:
    """The command, and what it works upon."""

    backend: Backend

    @property
    def address(self) -> str:
        """Where this AWS answers."""
        return self.backend.dynamodb.meta.endpoint_url

    @property
    def store(self) -> DynamoWebhooks:
        """The webhooks."""
        return DynamoWebhooks(DynamoTable(self.backend.dynamodb, self.backend.table, SystemClock()))

    @cached_property
    def session(self) -> Session:
        """As whom tests reach this AWS."""
        return session(region=None, profile=None, endpoint_url=self.address)

    @cached_property
    def sqs(self) -> Any:
        """The client of the queues."""
        return self.session.create_client("sqs")

    def run(self, *arguments: str, **environment: str) -> Result:
        """Run the command with nothing of AWS in its environment but this; what has no exit status rises."""
        theirs = {name: None for name in os.environ if name.startswith(AWS)}
        given: dict[str, str | None] = {**theirs, **NOWHERE, **environment}
        return CliRunner(env=given).invoke(app, arguments, prog_name=NAME, catch_exceptions=False)

    def operate(self, *arguments: str, **environment: str) -> Result:
        """Run the command against this AWS."""
        return self.run(*arguments, AWS_ENDPOINT_URL=self.address, **environment)

    def start(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """Run it in a process of its own, told by nothing but the address where to go."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(AWS)}
        return subprocess.run(
            [
                sys.executable,
                "-W",
                "error",
                "-m",
                "a2a_serverless.cli",
                *arguments,
                "--endpoint-url",
                self.address,
            ],
            env={**kept, **NOWHERE},
            capture_output=True,
            text=True,
            check=False,
        )

    def read(self, *arguments: str) -> Any:
        """What the command tells programs."""
        ended = self.operate(*arguments, "--json")
        assert (ended.exit_code, ended.stderr) == (0, "")
        return json.loads(ended.stdout)

    def died(self, name: str) -> WebhookKey:
        """A webhook that was given up, its letter in the queue."""
        key, now = (
            WebhookKey(TaskKey("acme", "an owner/#1", f"task-{name}"), f"config-{name}"),
            datetime.now(UTC),
        )
        since = now - timedelta(hours=1)
        self.store.put(key, registration(key.config_id), cursor=3, expires=int(now.timestamp()) + 86_400)
        SqsLetters(self.sqs, self.backend.dead_letters_queue_url).put(
            DeadLetter(key, 4, "hooks.example:443", "answered 410", 8, since, now)
        )
        assert self.store.lease(key, name, until=now + timedelta(seconds=30))
        assert self.store.kill(key, name, died_at=now, attempts=8, failing_since=since, reason="answered 410")
        return key

    def lying(self, queue_url: str) -> int:
        """How many messages lie in a queue."""
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        found = self.sqs.get_queue_attributes(QueueUrl=queue_url, AttributeNames=names)["Attributes"]
        return sum(int(found[name]) for name in names)

    def poked(self) -> list[Any]:
        """Take the pokes that lie there out of their queue."""
        queue, found = self.backend.pokes_queue_url, []
        while taken := self.sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10).get("Messages", []):
            for message in taken:
                found.append(json.loads(message["Body"]))
                self.sqs.delete_message(QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"])
        return found
