"""Callers of a stack under load: plain JSON over both bindings, and streams with the positions they show.

The official client is what the other tests talk with; a thousand tasks need one that takes no time itself.
"""

import http.client
import json
import uuid
from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Any

from tests.e2e.fire.told import Streamed
from tests.e2e.stack import PATIENCE

HEADERS = {"Content-Type": "application/json", "A2A-Version": "1.0"}


class RefusedError(Exception):
    """The stack answered with an error."""


class Caller:
    """One caller, for one thread."""

    def __init__(self, url: str) -> None:
        self._port = int(url.rpartition(":")[2])
        self._kept = self._connection()

    def close(self) -> None:
        """Hang up."""
        self._kept.close()

    def rest(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """One request over HTTP+JSON."""
        self._kept.request(method, path, json.dumps(body) if body is not None else None, HEADERS)
        response = self._kept.getresponse()
        answer = response.read()
        if response.status >= http.client.BAD_REQUEST:
            raise RefusedError(answer.decode())
        return json.loads(answer)

    def rpc(self, method: str, params: Mapping[str, Any]) -> Any:
        """One request over JSON-RPC."""
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        self._kept.request("POST", "/", json.dumps(request), HEADERS)
        answer = json.loads(self._kept.getresponse().read())
        if "error" in answer:
            raise RefusedError(answer["error"])
        return answer["result"]

    def stream(self, path: str, body: Mapping[str, Any], after: int | None = None) -> Iterator[Streamed]:
        """The events of a stream over HTTP+JSON until it ends; `after` a position, or from its beginning."""
        headers = {**HEADERS, "Last-Event-ID": str(after)} if after is not None else HEADERS
        with closing(self._connection()) as connection:
            connection.request("POST", path, json.dumps(body), headers)
            response = connection.getresponse()
            if response.status != http.client.OK:
                raise RefusedError(response.read().decode())
            position = 0
            for line in response:
                word, _, rest = line.decode().strip().partition(": ")
                if word == "id":
                    position = int(rest)
                elif word == "data":
                    yield position, json.loads(rest)

    def _connection(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self._port, timeout=PATIENCE)


def message(text: str, **ids: str) -> dict[str, Any]:
    """A message of a user."""
    return {"messageId": str(uuid.uuid4()), "role": "ROLE_USER", "parts": [{"text": text}], **ids}
