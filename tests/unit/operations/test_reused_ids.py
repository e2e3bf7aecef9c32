"""Message ids used again where nothing is deduplicated, as conformance kits do."""

from datetime import timedelta

from a2a_serverless.operations.read import get_task
from a2a_serverless.ports import Policy
from a2a_serverless.protocol.objects import TaskState
from a2a_serverless.protocol.requests import GetTaskRequest
from tests.unit.operations.world import CALLER, World


def test_every_use_of_an_id_starts_a_turn_of_its_own() -> None:
    world = World(policy=Policy(deduplicate=False, retention=timedelta(days=1)))
    task = world.send("again", "ask")
    world.run_turns()

    for _ in range(2):
        world.send("again", "ask", task_id=task.id)
        world.run_turns()
    world.send("last", "go", task_id=task.id)
    world.run_turns()

    done = get_task(world.ports, CALLER, GetTaskRequest(id=task.id))
    assert done.status.state is TaskState.COMPLETED
    assert [each.message_id for each in done.history if each.role == "ROLE_USER"] == ["again"] * 3 + ["last"]


def test_every_use_of_an_id_may_open_a_task_of_its_own() -> None:
    world = World(policy=Policy(deduplicate=False))

    assert world.send("again").id != world.send("again").id
