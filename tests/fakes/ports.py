"""Every port faked, and the whole set of them built in one call."""

from typing import Any

from a2a_serverless.ports import Ports
from tests.fakes.stores import FakeAdmissions, FakeContexts, FakeDue, FakeTasks
from tests.fakes.table import FakeTable
from tests.fakes.webhooks import (
    FakeEvents,
    FakeHosts,
    FakeLetters,
    FakeNames,
    FakePokes,
    FakePosts,
    FakeSeals,
    FakeSignatures,
    FakeWebhooks,
    fake_webhooks,
)
from tests.fakes.world import (
    FakeAudit,
    FakeClock,
    FakeContents,
    FakeExecutions,
    FakeIdentifiers,
    FakeIncidents,
    FakeMetrics,
    FakeRateLimits,
    FakeStreamPlaces,
    FakeUploads,
)

__all__ = [
    "FakeAdmissions",
    "FakeAudit",
    "FakeClock",
    "FakeContents",
    "FakeContexts",
    "FakeDue",
    "FakeEvents",
    "FakeExecutions",
    "FakeHosts",
    "FakeIdentifiers",
    "FakeIncidents",
    "FakeLetters",
    "FakeMetrics",
    "FakeNames",
    "FakePokes",
    "FakePosts",
    "FakeRateLimits",
    "FakeSeals",
    "FakeSignatures",
    "FakeStreamPlaces",
    "FakeTable",
    "FakeTasks",
    "FakeUploads",
    "FakeWebhooks",
    "fake_ports",
    "fake_webhooks",
]


def fake_ports(**overrides: Any) -> Ports:
    """Ports on one table and one clock, each replaceable by name; `table=` shares a table of the test's.

    Webhooks are delivered unless `webhooks=None` is passed.
    """
    clock = overrides.pop("clock", None) or FakeClock()
    table = overrides.pop("table", None) or FakeTable(clock)
    contents = overrides.pop("contents", None) or FakeContents()
    fakes: dict[str, Any] = {
        "tasks": FakeTasks(table),
        "admissions": FakeAdmissions(table),
        "contexts": FakeContexts(table),
        "executions": FakeExecutions(),
        "contents": contents,
        "uploads": FakeUploads(contents, clock),
        "streams": FakeStreamPlaces(clock),
        "rate_limits": FakeRateLimits(clock),
        "due": FakeDue(table),
        "incidents": FakeIncidents(),
        "metrics": FakeMetrics(),
        "clock": clock,
        "identifiers": FakeIdentifiers(),
        "webhooks": fake_webhooks(table),
    }
    return Ports(**{**fakes, **overrides})
