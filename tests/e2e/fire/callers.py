"""Callers of a stack under load: plain JSON over both bindings, and streams with the positions they show.

The official client is what the other tests talk with; a thousand tasks need one that takes no time itself.
"""

import http.client
import json
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, suppress
from http import HTTPStatus
from typing import Any, TypeVar

from tests.e2e.fire.told import Streamed
from tests.e2e.stack import PATIENCE

HEADERS = {"Content-Type": "application/json", "A2A-Version": "1.0"}

INTERNAL = -32603

ATTEMPTS, PAUSE = 5, 1.0
"""How often the same is asked for again while the stack fails: an emulator under load answers late, and its
clients give up after three seconds."""

T = TypeVar("T")


class RefusedError(Exception):
    """The stack answered with an error."""


class FailedError(RefusedError):
    """The error was the stack's own."""


class Caller:
    """One caller, for one thread. What it asks for may be asked for twice."""

    def __init__(self, url: str) -> None:
        self._port = int(url.rpartition(":")[2])
        self._kept = self._connection()

    def close(self) -> None:
        """Hang up."""
        self._kept.close()

    def rest(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """One request over HTTP+JSON."""
        return again(lambda: self._rest(method, path, body))

    def rpc(self, method: str, params: Mapping[str, Any]) -> Any:
        """One request over JSON-RPC."""
        return again(lambda: self._rpc(method, params))

    def stream(self, path: str, body: Mapping[str, Any], after: int | None = None) -> Iterator[Streamed]:
        """The events of a stream over HTTP+JSON until it ends or breaks off; `after` a position, or all."""
        headers = {**HEADERS, "Last-Event-ID": str(after)} if after is not None else HEADERS
        with ExitStack() as opened:
            response = again(lambda: self._begun(opened, path, body, headers))
            position = 0
            with suppress(http.client.HTTPException, ConnectionError):
                for line in response:
                    word, _, rest = line.decode().strip().partition(": ")
                    if word == "id":
                        position = int(rest)
                    elif word == "data":
                        yield position, json.loads(rest)

    def _rest(self, method: str, path: str, body: Mapping[str, Any] | None) -> Any:
        self._kept.request(method, path, json.dumps(body) if body is not None else None, HEADERS)
        response = self._kept.getresponse()
        return json.loads(whole(response.status, response.read()))

    def _rpc(self, method: str, params: Mapping[str, Any]) -> Any:
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        self._kept.request("POST", "/", json.dumps(request), HEADERS)
        answer = json.loads(self._kept.getresponse().read())
        if "error" in answer:
            raise (FailedError if answer["error"]["code"] == INTERNAL else RefusedError)(answer["error"])
        return answer["result"]

    def _begun(
        self, opened: ExitStack, path: str, body: Mapping[str, Any], headers: Mapping[str, str]
    ) -> http.client.HTTPResponse:
        connection = opened.enter_context(closing(self._connection()))
        connection.request("POST", path, json.dumps(body), headers)
        response = connection.getresponse()
        if response.status != HTTPStatus.OK:
            whole(response.status, response.read())
        return response

    def _connection(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self._port, timeout=PATIENCE)


def whole(status: int, answer: bytes) -> bytes:
    """The answer, if it is no error."""
    if status < HTTPStatus.BAD_REQUEST:
        return answer
    raise (FailedError if status >= HTTPStatus.INTERNAL_SERVER_ERROR else RefusedError)(answer.decode())


def again(ask: Callable[[], T]) -> T:
    """Ask until the stack does not fail, or has failed too often."""
    for _ in range(ATTEMPTS - 1):
        try:
            return ask()
        except FailedError:
            threading.Event().wait(PAUSE)
    return ask()


def message(text: str, **ids: str) -> dict[str, Any]:
    """A message of a user."""
    return {"messageId": str(uuid.uuid4()), "role": "ROLE_USER", "parts": [{"text": text}], **ids}
