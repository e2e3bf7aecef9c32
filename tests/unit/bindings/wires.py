"""A client of a deployment over one binding, for what both do alike with streams and long answers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from a2a_serverless.bindings import http_json, jsonrpc
from a2a_serverless.bindings.caller import Admittance
from a2a_serverless.bindings.http import HttpRequest, HttpResponse, StreamedResponse
from a2a_serverless.bindings.service import Endpoint
from a2a_serverless.ports import Policy
from tests.fakes.event_source import Event
from tests.fakes.ports import FakeStreamPlaces
from tests.unit.bindings.asking import LOCAL, request, streamed
from tests.unit.operations.world import World

STREAMING = Policy(capabilities=frozenset({"streaming"}), blocking_wait=timedelta(seconds=600))
MINUTE = timedelta(minutes=1)
EXTENSION = "https://example.com/ext/v1"

ADDRESSES: Mapping[str, tuple[str, str]] = {
    "SendMessage": ("POST", "/message:send"),
    "SendStreamingMessage": ("POST", "/message:stream"),
    "SubscribeToTask": ("POST", "/tasks/{id}:subscribe"),
    "GetTask": ("GET", "/tasks/{id}"),
    "ListTasks": ("GET", "/tasks"),
}


@dataclass
class Breakable:
    """A port that works until it is given a fault to raise."""

    port: Any
    fault: Exception | None = None

    def __getattr__(self, name: str) -> Any:
        if self.fault is not None:
            raise self.fault
        return getattr(self.port, name)


@dataclass(frozen=True)
class Wire:
    """A client of one deployment over one binding. Its turns run a tenth of a second after they started."""

    binding: str
    world: World
    admittance: Admittance = LOCAL
    settled: Mapping[str, Any] = field(default_factory=dict)
    tasks: Breakable = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "tasks", Breakable(self.world.ports.tasks))

    @property
    def endpoint(self) -> Endpoint:
        """What the binding answers from."""
        settled = {"streaming": True, **self.settled}
        return Endpoint(replace(self.world.ports, tasks=self.tasks), self.admittance, **settled)

    def request(self, method: str, fields: Mapping[str, Any], **asked: Any) -> HttpRequest:
        """A call as it goes over this wire."""
        if self.binding == "JSONRPC":
            body = {"jsonrpc": "2.0", "id": "call-1", "method": method, "params": fields}
            return request("POST", "/", body, **asked)
        verb, path = ADDRESSES[method]
        left = {name: value for name, value in fields.items() if f"{{{name}}}" not in path}
        return request(verb, path.format(**fields), left if verb == "POST" else b"", **asked)

    def answer(self, asked: HttpRequest) -> HttpResponse | StreamedResponse:
        """The binding's answer to any request."""
        if self.binding == "JSONRPC":
            return jsonrpc.answer(self.endpoint, asked)
        return http_json.answer(self.endpoint, asked)

    def ask(
        self, method: str, fields: Mapping[str, Any], *, lasting: timedelta | None = None, **asked: Any
    ) -> HttpResponse | StreamedResponse:
        """The answer to a call; `lasting` is how long the invocation may take."""
        made = self.request(method, fields, **asked)
        if lasting is not None:
            made = replace(made, deadline=self.world.clock.now() + lasting)
        return self.answer(made)

    def send(self, message_id: str = "m-1", text: str = "go", **asked: Any) -> StreamedResponse:
        """The stream of a message."""
        return streamed(self.ask("SendStreamingMessage", message(message_id, text), **asked))

    def subscribe(self, task_id: str, **asked: Any) -> StreamedResponse:
        """The stream of a task."""
        return streamed(self.ask("SubscribeToTask", {"id": task_id}, **asked))

    def frame(self, event: Event) -> Any:
        """What an event carries, out of its envelope."""
        if self.binding == "HTTP+JSON":
            return event.data
        assert {**event.data, "result": None} == {"jsonrpc": "2.0", "id": "call-1", "result": None}
        return event.data["result"]

    def task_of(self, reply: Any) -> Any:
        """The task a SendMessage is answered with."""
        return (reply["result"] if self.binding == "JSONRPC" else reply)["task"]

    def error(self, reply: Any) -> tuple[int, str, Mapping[str, str]]:
        """The code, the reason and the facts of an error."""
        error = reply["error"]
        if self.binding == "JSONRPC":
            assert (reply["jsonrpc"], reply["id"]) == ("2.0", "call-1")
        details = error["data" if self.binding == "JSONRPC" else "details"]
        return error["code"], details[0]["reason"], details[0].get("metadata", {})

    def places(self) -> int:
        """Streams that are open."""
        assert isinstance(self.world.ports.streams, FakeStreamPlaces)
        return len(self.world.ports.streams.taken)

    def turns_take(self, seconds: float) -> None:
        """Let every turn end so long after it was started."""
        world = self.world
        world.executions.on_start = lambda key: world.clock.after(seconds, lambda: world.invoke(key))

    def breaks_after(self, seconds: float, fault: Exception) -> None:
        """Let the store be gone then."""
        self.world.clock.after(seconds, lambda: setattr(self.tasks, "fault", fault))


def message(message_id: str = "m-1", text: str = "go", **ids: str) -> dict[str, Any]:
    """The fields of a request to send a text."""
    return {"message": {"messageId": message_id, "role": "ROLE_USER", "parts": [{"text": text}], **ids}}


def told(frames: list[Any]) -> list[str]:
    """Each frame in a word."""
    words = []
    for frame in frames:
        ((kind, said),) = frame.items()
        match kind:
            case "task":
                words.append(f"task {said['status']['state'].removeprefix('TASK_STATE_')}")
            case "statusUpdate":
                words.append(said["status"]["state"].removeprefix("TASK_STATE_"))
            case _:
                words.append(kind)
    return words


Connect = Callable[..., Wire]
"""Makes a client over the binding under test, of a deployment of its own."""
