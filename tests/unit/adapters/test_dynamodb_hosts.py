"""What a process keeps in mind of hosts."""

from typing import Any

from a2a_serverless.adapters.dynamodb_hosts import MOST_REMEMBERED, DynamoHosts
from a2a_serverless.adapters.dynamodb_table import DynamoTable
from tests.fakes.ports import FakeClock


class Answering:
    """A table without items that counts its reads."""

    reads = 0

    def get_item(self, **_: Any) -> dict[str, Any]:
        self.reads += 1
        return {}


def test_a_process_remembers_so_many_hosts_and_then_looks_again() -> None:
    client: Any = Answering()
    hosts = DynamoHosts(DynamoTable(client, "tasks", FakeClock()))

    for number in range(3 * MOST_REMEMBERED):
        assert hosts.silent_until(f"{number}.example") is None
        assert hosts.silent_until(f"{number}.example") is None

    assert client.reads == 3 * MOST_REMEMBERED
    assert len(hosts.seen) <= MOST_REMEMBERED
