"""The functions of a deployment and the events they are called with."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from a2a_runtime.streaming import StreamedAnswer
from tests.integration.ports.backends import Backend

ROOT = Path(__file__).parents[3]
FOLDERS = ("card", "fanout", "http_json", "jsonrpc", "push", "sweep", "turn")
EVENTS = sorted((ROOT / "events").glob("*.json"))


@dataclass(frozen=True)
class Context:
    """What Lambda tells a handler about its invocation."""

    function_name: str
    remaining_ms: int = 60_000
    memory_limit_in_mb: int = 512
    invoked_function_arn: str = "arn:aws:lambda:eu-central-1:123456789012:function:a-function"
    aws_request_id: str = "00000000-0000-4000-8000-000000000000"

    def get_remaining_time_in_millis(self) -> int:
        return self.remaining_ms


@dataclass(frozen=True)
class Deployed:
    """The functions' modules by folder, and what they run on."""

    modules: Mapping[str, Any]
    backend: Backend

    def invoke(self, function: str, event: Mapping[str, Any]) -> Any:
        """What the function's handler returns, as Lambda would pass it on."""
        answer = self.modules[function].handler(json.loads(json.dumps(event)), Context(function))
        return json.loads(json.dumps(answer))

    def http(self, method: str, path: str, body: object = None, **headers: str) -> tuple[int, Any]:
        """Status and body of an API call; the path decides which function takes it."""
        answer = self.invoke(
            "jsonrpc" if path == "/" else "http_json", api_event(method, path, body, **headers)
        )
        return answer["statusCode"], answer["body"] if answer["isBase64Encoded"] else json.loads(
            answer["body"]
        )

    def call(self, method: str, params: object) -> Any:
        """The reply to a JSON-RPC call."""
        return self.http("POST", "/", {"jsonrpc": "2.0", "id": 1, "method": method, "params": params})[1]

    def started(self, task_id: str) -> dict[str, Any]:
        """The input of the latest execution that was started for a task."""
        client = self.backend.stepfunctions
        listed = client.list_executions(stateMachineArn=self.backend.state_machine_arn)["executions"]
        names = sorted(each["executionArn"] for each in listed if task_id in each["name"])
        found: dict[str, Any] = json.loads(client.describe_execution(executionArn=names[-1])["input"])
        return found


@dataclass(frozen=True)
class StreamingDeployed(Deployed):
    """The same where answers leave piece by piece."""

    def answer(
        self, function: str, event: Mapping[str, Any], remaining_ms: int = 60_000
    ) -> tuple[Mapping[str, Any], Iterator[bytes]]:
        """The prelude and the pieces of what the function returns, if the runtime loop can send it."""
        answer = self.modules[function].handler(
            json.loads(json.dumps(event)), Context(function, remaining_ms)
        )
        assert isinstance(answer, StreamedAnswer)
        prelude: Mapping[str, Any] = json.loads(json.dumps(answer.prelude))
        assert set(prelude) == {"statusCode", "headers"}
        return prelude, iter(answer.chunks)

    def send(self, text: str, message_id: str, **asked: Any) -> tuple[Mapping[str, Any], Iterator[bytes]]:
        """SendStreamingMessage over JSON-RPC."""
        params = {"message": message(text, message_id)}
        body = {"jsonrpc": "2.0", "id": 1, "method": "SendStreamingMessage", "params": params}
        return self.answer("jsonrpc", api_event("POST", "/", body), **asked)

    def subscribe(self, task_id: str, **headers: str) -> tuple[Mapping[str, Any], Iterator[bytes]]:
        """SubscribeToTask over HTTP+JSON."""
        return self.answer("http_json", api_event("GET", f"/tasks/{task_id}:subscribe", **headers))


def api_event(method: str, path: str, body: object = None, **headers: str) -> dict[str, Any]:
    """The event of an API call."""
    named = {"A2A-Version": "1.0", "Content-Type": "application/json", **headers}
    return read_event("http_json.get-task.json") | {
        "resource": "/" if path == "/" else "/{proxy+}",
        "path": path,
        "httpMethod": method,
        "multiValueHeaders": {name: [value] for name, value in named.items()},
        "multiValueQueryStringParameters": None,
        "pathParameters": None if path == "/" else {"proxy": path[1:]},
        "body": None if body is None else json.dumps(body),
    }


def read_event(name: str) -> dict[str, Any]:
    """One of the repository's events."""
    event: dict[str, Any] = json.loads((ROOT / "events" / name).read_text(encoding="utf-8"))
    return event


def message(text: str, message_id: str, **fields: Any) -> dict[str, Any]:
    """A user's text."""
    return {"messageId": message_id, "role": "ROLE_USER", "parts": [{"text": text}], **fields}
