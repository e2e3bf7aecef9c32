"""Somebody who calls agents by the command: an agent on paper, and the command as it is typed."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx
from typer.testing import CliRunner, Result

from a2a_serverless.cli.main import NAME, app
from tests.unit.client.agents_on_paper import URL, Answering, Paper, card, rpc

TASK = "0f8fad5b-d9cb-469f-a165-70867728950e"
CONTEXT = "7c9e6679-7425-40de-944b-e07fc1f90ae7"

VARIABLES = ("URL", "TOKEN", "BASIC_USERNAME", "BASIC_PASSWORD", "API_KEY", "API_KEY_HEADER", "CONFIG")
OTHERS = ("ROUTES", "TENANT", "TIMEOUT", "REQUIRE_SIGNATURE", "STACK")
ENVIRONMENT = dict.fromkeys(
    (*(f"A2A_{name}" for name in (*VARIABLES, *OTHERS)), "COLUMNS", "AWS_ENDPOINT_URL")
)


def task(
    state: str, *, says: str | None = None, artifacts: Sequence[Mapping[str, Any]] = (), **more: Any
) -> Any:
    """A task as JSON."""
    status: dict[str, Any] = {"state": f"TASK_STATE_{state}", "timestamp": "2026-11-30T12:00:00.000Z"}
    if says is not None:
        status["message"] = {"messageId": f"says-{says}", "role": "ROLE_AGENT", "parts": [{"text": says}]}
    return {"id": TASK, "contextId": CONTEXT, "status": status, "artifacts": list(artifacts), **more}


def artifact(artifact_id: str, *parts: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """An artifact as JSON."""
    return {"artifactId": artifact_id, "parts": list(parts), **more}


def status(state: str, says: str | None = None, **more: Any) -> dict[str, Any]:
    """A change of the status, as an event."""
    told = task(state, says=says)
    return {"statusUpdate": {"taskId": TASK, "contextId": CONTEXT, "status": told["status"], **more}}


def piece(artifact_id: str, text: str, *, append: bool = False, **more: Any) -> dict[str, Any]:
    """More of an artifact, as an event."""
    update = {"taskId": TASK, "contextId": CONTEXT, "artifact": artifact(artifact_id, {"text": text}, **more)}
    return {"artifactUpdate": {**update, **({"append": True} if append else {})}}


def streamed(*events: Mapping[str, Any]) -> Answering:
    """An answer in events."""

    def answer(request: httpx.Request) -> httpx.Response:
        name = json.loads(request.content)["id"]
        frames = [{"jsonrpc": "2.0", "id": name, "result": event} for event in events]
        text = "".join(f"id: {number}\ndata: {json.dumps(each)}\n\n" for number, each in enumerate(frames, 1))
        return httpx.Response(200, headers={"Content-Type": "text/event-stream"}, content=text.encode())

    return answer


def answered(result: Any) -> Answering:
    """An answer in one piece."""
    return lambda request: rpc(request, result)


COMPLETED = streamed(
    {"task": task("SUBMITTED")},
    status("WORKING", "Looking up the order"),
    piece("decision", "Approved. ", name="Decision"),
    piece("decision", "Reserve SKU-RED-42.", append=True),
    status("COMPLETED"),
)


@dataclass
class Caller:
    """An agent that answers as it is told to, and who calls it."""

    paper: Paper = field(default_factory=lambda: Paper([COMPLETED]))

    def run(
        self, *arguments: str, given: bytes | None = None, environment: Mapping[str, str] | None = None
    ) -> Result:
        """What the command prints and how it ends; what has no exit status rises."""
        variables: dict[str, str | None] = {**ENVIRONMENT, **(environment or {})}
        result = CliRunner(env=variables).invoke(
            app, arguments, given, prog_name=NAME, obj=self.paper, catch_exceptions=False
        )
        assert "Traceback" not in result.output
        return result

    def read(self, *arguments: str, status: int = 0) -> Any:
        """The JSON that the command prints; nothing else comes from it."""
        result = self.run(*arguments, "--json")
        assert (result.exit_code, result.stderr) == (status, ""), result.output
        return json.loads(result.stdout)

    def answers(self, *answers: Answering) -> None:
        """Let the agent answer so, one request after the other."""
        self.paper.answers = list(answers)

    @property
    def said(self) -> dict[str, Any]:
        """The message that was sent last."""
        message: dict[str, Any] = self.paper.params()["message"]
        return message


__all__ = ["COMPLETED", "CONTEXT", "TASK", "URL", "Caller", "Paper", "card"]
