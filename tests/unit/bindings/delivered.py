"""A task that has delivered an artifact, for the tests of the route that serves it."""

from typing import Any

from a2a_serverless.agent import ArtifactChunk, Part, Turn
from a2a_serverless.operations.turns import run_turn
from a2a_serverless.ports import LinkPolicy, Policy, Ports
from tests.fakes.ports import fake_ports
from tests.unit.bindings.asking import endpoint, parsed, rest


def delivered(
    *parts: Part, tenant: str = "", inline: int = 0, logged: int = 64 * 1024, links: LinkPolicy | None = None
) -> tuple[Ports, str]:
    """Ports in which a task delivered one artifact of these parts, `report:1`, and the task's id."""
    decided = Policy(inline_limit=inline, log_limit=logged, links=links or LinkPolicy())
    ports = fake_ports(policy=decided)

    async def agent(_: Turn) -> Any:
        yield ArtifactChunk("report:1", parts=parts, last_chunk=True)

    body = {
        "message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hello"}]},
        "configuration": {"returnImmediately": True},
    }
    prefix = f"/{tenant}" if tenant else ""
    task = parsed(rest("POST", f"{prefix}/message:send", body, at=endpoint(ports)))["task"]
    run_turn(ports, agent, ports.executions.started[0], lambda: 900.0)  # type: ignore[attr-defined]
    return ports, task["id"]
