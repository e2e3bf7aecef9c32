"""What our own code costs per request, from the event of API Gateway to its answer, without AWS and the SDK.

The ports are fakes, and the time spent in them is taken off. Processor time, so that a busy machine does not
count; the median of many requests.
"""

import json
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from a2a_agents import echo
from a2a_serverless.bindings import gateway, http_json, jsonrpc
from a2a_serverless.bindings.caller import Admittance
from a2a_serverless.bindings.service import Endpoint
from a2a_serverless.operations.turns import run_turn
from a2a_serverless.ports import Ports
from tests.bench.result import Result, percentile
from tests.fakes.ports import fake_ports

EVENTS = Path(__file__).parents[2] / "events"
RUNS = 400
WARM_UP = 50


class Timed:
    """A port that takes note of how long it is at work."""

    def __init__(self, port: Any, spent: list[float]) -> None:
        self._port = port
        self._spent = spent

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._port, name)

        def timed(*args: Any, **kwargs: Any) -> Any:
            began = time.thread_time()
            try:
                return method(*args, **kwargs)
            finally:
                self._spent.append(time.thread_time() - began)

        return timed


STORES = ("tasks", "admissions", "contexts", "executions", "contents")


def own_code() -> Iterator[Result]:
    """GetTask of a finished task and SendMessage, over each binding."""
    spent: list[float] = []
    ports: Ports = fake_ports()
    stores: dict[str, Any] = {name: Timed(getattr(ports, name), spent) for name in STORES}
    timed = replace(ports, **stores)
    endpoint = Endpoint(timed, Admittance(local_principal="bench"))
    rpc = partial(gateway.answer, binding=partial(jsonrpc.answer, endpoint))
    rest = partial(gateway.answer, binding=partial(http_json.answer, endpoint))
    task_id = _finished_task(ports, rpc)

    def get(_: int) -> Mapping[str, Any]:
        return _rpc("jsonrpc.get-task.json", {"id": task_id})

    def get_by_path(_: int) -> Mapping[str, Any]:
        return _event("http_json.get-task.json", pathParameters={"proxy": f"tasks/{task_id}"})

    def send(number: int) -> Mapping[str, Any]:
        return _rpc("jsonrpc.send-message.json", _message(number))

    def send_by_path(number: int) -> Mapping[str, Any]:
        return _event("http_json.send-message.json", body=json.dumps(_message(RUNS + WARM_UP + number)))

    yield _measured("GetTask, JSON-RPC", "<= 0.5", rpc, get, spent)
    yield _measured("GetTask, HTTP+JSON", "<= 0.5", rest, get_by_path, spent)
    yield _measured("SendMessage, JSON-RPC", "<= 1", rpc, send, spent)
    yield _measured("SendMessage, HTTP+JSON", "<= 1", rest, send_by_path, spent)


def _measured(
    what: str,
    aim: str,
    handler: Callable[[Mapping[str, Any]], Mapping[str, Any]],
    event_of: Callable[[int], Mapping[str, Any]],
    spent: list[float],
) -> Result:
    own: list[float] = []
    whole: list[float] = []
    for number in range(WARM_UP + RUNS):
        event = event_of(number)
        spent.clear()
        began = time.thread_time()
        answer = handler(event)
        took = time.thread_time() - began
        if answer["statusCode"] != 200 or '"error"' in answer["body"]:
            raise RuntimeError(answer["body"])
        if number >= WARM_UP:
            whole.append(took * 1000)
            own.append((took - sum(spent)) * 1000)
    details = {
        "best": round(min(own), 3),
        "p95": round(percentile(own, 95), 3),
        "with fakes": round(statistics.median(whole), 3),
    }
    return Result(what, statistics.median(own), "ms", aim, details)


def _finished_task(ports: Ports, rpc: Callable[[Mapping[str, Any]], Mapping[str, Any]]) -> str:
    """A task with one artifact, finished by a real turn."""
    answer = rpc(_rpc("jsonrpc.send-message.json", _message(-1)))
    executions: Any = ports.executions
    (turn,) = executions.started
    run_turn(ports, echo.agent, turn, lambda: 60.0)
    task_id: str = json.loads(answer["body"])["result"]["task"]["id"]
    return task_id


def _message(number: int) -> Mapping[str, Any]:
    message = {
        "messageId": f"message-{number}",
        "role": "ROLE_USER",
        "parts": [{"text": "Has my order ORD-1042 shipped?"}],
    }
    return {"message": message, "configuration": {"returnImmediately": True}}


def _event(name: str, **changed: Any) -> Mapping[str, Any]:
    event: dict[str, Any] = json.loads((EVENTS / name).read_text(encoding="utf-8"))
    return {**event, **changed}


def _rpc(name: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
    event = _event(name)
    request = {**json.loads(event["body"]), "params": params}
    return {**event, "body": json.dumps(request)}
