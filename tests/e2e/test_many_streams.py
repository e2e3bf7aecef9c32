"""Many streams at once over the whole deployment: nobody misses anything, and nobody sees it otherwise."""

import http.client
import json
import socket
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from threading import Barrier
from typing import Any

from tests.e2e.conftest import TOKENS
from tests.e2e.stack import PATIENCE, LocalStack

READERS = 50
PARTS = 200

HEADERS = {
    "A2A-Version": "1.0",
    "Authorization": f"Bearer {TOKENS['alice']}",
    "Content-Type": "application/json",
    "Last-Event-ID": "1",
}


def test_fifty_streams_of_a_task_show_all_of_its_two_hundred_parts_in_one_order(workshop: LocalStack) -> None:
    all_open = Barrier(READERS + 1, timeout=PATIENCE)
    with socket.create_server(("127.0.0.1", 0)) as starter, ThreadPoolExecutor(READERS) as readers:
        starter.settimeout(PATIENCE)
        task_id = begun(workshop, f"count {PARTS} {starter.getsockname()[1]}")
        reading = [readers.submit(followed, workshop, task_id, all_open) for _ in range(READERS)]
        with starter.accept()[0] as agent:
            all_open.wait()
            agent.sendall(b"!")
        first, *others = [reader.result(PATIENCE) for reader in reading]

    assert [number for number, other in enumerate(others) if other != first] == []
    positions = [position for position, _ in first]
    assert positions == [*range(1, len(first) + 1)]
    updates = [said["artifactUpdate"]["artifact"] for _, said in first if "artifactUpdate" in said]
    assert [part["text"] for update in updates for part in update["parts"]] == [*map(str, range(PARTS))]
    assert first[-1][1]["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED"


def begun(stack: LocalStack, text: str) -> str:
    """Send a message without waiting; the id of its task."""
    message = {"messageId": f"to fifty: {text}", "role": "ROLE_USER", "parts": [{"text": text}]}
    body = {"message": message, "configuration": {"returnImmediately": True}}
    with closing(connection_to(stack)) as connection:
        connection.request("POST", "/message:send", json.dumps(body), HEADERS)
        task_id: str = json.load(connection.getresponse())["task"]["id"]
    return task_id


def followed(stack: LocalStack, task_id: str, all_open: Barrier) -> Sequence[tuple[int, Any]]:
    """Every event of a stream with its position; the second is waited for together with all other streams."""
    with closing(connection_to(stack)) as connection:
        connection.request("POST", f"/tasks/{task_id}:subscribe", headers=HEADERS)
        seen: list[tuple[int, Any]] = []
        position = 0
        for line in connection.getresponse():
            field, _, value = line.partition(b": ")
            if field == b"id":
                position = int(value)
            elif field == b"data":
                seen.append((position, json.loads(value)))
                if len(seen) == 1:
                    all_open.wait()
    return seen


def connection_to(stack: LocalStack) -> http.client.HTTPConnection:
    return http.client.HTTPConnection(stack.url.removeprefix("http://"), timeout=PATIENCE)
