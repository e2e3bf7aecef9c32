"""Whoever operates a stack whose webhooks are under fire: by the command, and by looking into queues."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from typing import Any

import botocore.session

from tests.e2e.stack import ROOT

REGION = "us-east-1"

LONGEST = 600
"""Seconds a command may take: where an index is read the emulator looks at every item there is."""

ACCESS = {"AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local", "AWS_REGION": REGION}


@dataclass(frozen=True)
class Operator:
    """Somebody with the rights to all of it; `aws` is where the stack's AWS answers."""

    aws: str
    _clients: dict[str, Any] = field(default_factory=dict)

    def push(self, *arguments: str) -> Any:
        """What `a2a-serverless push …` says to a program."""
        variables = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        command = [sys.executable, "-m", "a2a_serverless.cli", "push", *arguments, "--json"]
        done = subprocess.run(
            [*command, "--endpoint-url", self.aws],
            cwd=ROOT,
            env={**variables, **ACCESS},
            capture_output=True,
            text=True,
            timeout=LONGEST,
            check=False,
        )
        if not done.stdout:
            raise RuntimeError(done.stderr)
        return json.loads(done.stdout)

    def letters(self) -> list[dict[str, Any]]:
        """What lies in the queue of dead letters; all of it is in sight again afterwards."""
        sqs, queue = self._sqs(), self._queue("deadlettersqueue")
        found: dict[str, Any] = {}
        while messages := sqs.receive_message(
            QueueUrl=queue, MaxNumberOfMessages=10, VisibilityTimeout=60
        ).get("Messages"):
            found |= {each["MessageId"]: each for each in messages}
        for each in found.values():
            sqs.change_message_visibility(
                QueueUrl=queue, ReceiptHandle=each["ReceiptHandle"], VisibilityTimeout=0
            )
        return [json.loads(each["Body"]) for each in found.values()]

    def show_pokes_again_after(self, seconds: int) -> None:
        """Let a poke that somebody died over come again so soon."""
        attributes = {"VisibilityTimeout": str(seconds)}
        self._sqs().set_queue_attributes(QueueUrl=self._queue("pokesqueue"), Attributes=attributes)

    def close(self) -> None:
        """Hang up."""
        for client in self._clients.values():
            client.close()

    def _queue(self, name: str) -> str:
        (url,) = [each for each in self._sqs().list_queues()["QueueUrls"] if each.endswith(name)]
        return str(url)

    def _sqs(self) -> Any:
        if "sqs" not in self._clients:
            session = botocore.session.get_session()
            session.set_credentials("local", "local")
            self._clients["sqs"] = session.create_client("sqs", region_name=REGION, endpoint_url=self.aws)
        return self._clients["sqs"]
