"""An operator's desk on fakes: webhooks that died, and the command as it is typed."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from typer.testing import CliRunner, Result

from a2a_serverless.cli.main import app
from a2a_serverless.ports import Ports
from a2a_serverless.ports.signing_keys import KeyPorts
from a2a_serverless.ports.webhooks import DeadLetter, Registration, WebhookKey
from a2a_serverless.tasks.log import TaskKey
from a2a_serverless.wiring.operator import Access, Operator
from tests.fakes.ports import (
    FakeClock,
    FakeLetters,
    FakePokes,
    FakeTable,
    FakeWebhooks,
    fake_ports,
    fake_webhooks,
)
from tests.fakes.signing import FakeSigningKeys, fake_keys

TASK = "0f8fad5b-d9cb-469f-a165-70867728950e"
OTHER_TASK = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
OWNER = "kKdB5uaUb9rUzTqWUXCtQlIWsjxWkqlMIVZbn7nPPoY"
URL = "https://hooks.example/a2a?secret=hunter2"
ENVIRONMENT = dict.fromkeys(("A2A_STACK", "AWS_ENDPOINT_URL", "AWS_REGION", "COLUMNS"))


@dataclass
class Desk:
    """A deployment called `agents`, its webhooks in memory."""

    clock: FakeClock = field(default_factory=FakeClock)
    asked: list[Access] = field(default_factory=list)

    def __post_init__(self) -> None:
        table = FakeTable(self.clock)
        self.store = FakeWebhooks(table)
        self.letters = FakeLetters()
        self.pokes = FakePokes(self.clock)
        webhooks = fake_webhooks(table, letters=self.letters, pokes=self.pokes)
        self.ports: Ports = fake_ports(table=table, clock=self.clock, webhooks=webhooks)
        self.keys: Callable[[], KeyPorts] = lambda: fake_keys(clock=self.clock, keys=FakeSigningKeys(table))

    def run(
        self, *arguments: str, environment: dict[str, str] | None = None, given: bytes | None = None
    ) -> Result:
        """What the command prints and how it ends; what has no exit status rises. `given` is its input."""
        variables: dict[str, str | None] = {**ENVIRONMENT, **(environment or {})}
        result = CliRunner(env=variables).invoke(
            app, arguments, given, prog_name="a2a-serverless", obj=self.reach, catch_exceptions=False
        )
        assert len(result.stderr.splitlines()) <= 1
        assert "Traceback" not in result.output
        return result

    def read(self, *arguments: str, status: int = 0) -> Any:
        """The JSON that the command prints; nothing else comes from it."""
        result = self.run(*arguments, "--json")
        assert result.exit_code == status, result.output
        return json.loads(result.stdout)

    def reach(self, access: Access) -> Operator:
        """Reach this deployment, whichever is meant."""
        self.asked.append(access)
        return Operator("agents", self.ports, self.keys)

    def registered(
        self, config: str = "w-1", task: str = TASK, *, tenant: str = "", owner: str = OWNER, url: str = URL
    ) -> WebhookKey:
        """A webhook that lives."""
        key = WebhookKey(TaskKey(tenant, owner, task), config)
        registered = Registration(
            config_id=config, context_id="c-1", url=url, base_url="https://agents.example", secrets="sealed"
        )
        self.store.put(key, registered, cursor=3, expires=int(self.clock.now().timestamp()) + 86_400)
        return key

    def died(
        self, config: str = "w-1", task: str = TASK, *, reason: str = "answered 410", **where: str
    ) -> WebhookKey:
        """A webhook that was given up a minute after all others, its letter in the queue."""
        self.clock.sleep(60)
        since = self.clock.now() - timedelta(hours=1)
        return self.gave_up(self.registered(config, task, **where), since, attempts=8, reason=reason)

    def gave_up(self, key: WebhookKey, since: datetime, *, attempts: int, reason: str) -> WebhookKey:
        """Give up a webhook now."""
        now = self.clock.now()
        self.letters.put(DeadLetter(key, 4, "hooks.example:443", reason, attempts, since, now))
        assert self.store.lease(key, "token", until=now + timedelta(seconds=30))
        assert self.store.kill(
            key, "token", died_at=now, attempts=attempts, failing_since=since, reason=reason
        )
        return key

    def dead(self) -> list[WebhookKey]:
        """The webhooks that are dead now."""
        return [webhook.key for webhook in self.store.dead(1000)]


def members(key: WebhookKey) -> dict[str, str]:
    """How a program is told of a webhook."""
    task = key.task
    return {"task": task.task_id, "config": key.config_id, "tenant": task.tenant, "owner": task.owner}


def printed(moment: datetime) -> str:
    """A moment as JSON has it."""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
