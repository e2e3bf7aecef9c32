"""The two bindings as a caller speaks them: what is asked becomes a request, what comes back an answer.

Pure: from values to values, with the table of operations. One class for each binding (specification 9, 11);
they differ in the envelope and in where an error is found, and in nothing else. Knows no connection.
"""

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Protocol
from urllib.parse import quote, urlencode

from a2a_serverless.client.failures import UnexpectedAnswerError
from a2a_serverless.client.refusals import OF_HTTP_STATUS, of_jsonrpc, of_status
from a2a_serverless.protocol.errors import A2AError, JSONParseError
from a2a_serverless.protocol.operations import Operation
from a2a_serverless.protocol.protojson import parse_json

EVENT_STREAM = "text/event-stream"
JSON = "application/json"
A2A_JSON = "application/a2a+json"

EXCERPT = 500
"""Bytes of an answer that is not understood, for whoever reads the error."""


@dataclass(frozen=True, slots=True)
class Asked:
    """An HTTP request for one operation, without credentials.

    `id` is that of its envelope. `for_nothing` says that the operation has no result.
    """

    verb: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    id: str | None = None
    for_nothing: bool = False


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer as it came, all of it."""

    status: int
    media_type: str
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def excerpt(self) -> str:
        return self.body[:EXCERPT].decode(errors="replace")


class Binding(Protocol):
    """One way to ask an agent."""

    def ask(self, operation: Operation, params: Mapping[str, Any]) -> Asked:
        """The request for an operation; `params` is its request object as ProtoJSON, without a tenant."""

    def result(self, asked: Asked, answered: Answered, /) -> Any:  # noqa: ANN401  JSON is any of six types
        """The operation's answer as JSON; raises what it says instead, or UnexpectedAnswerError."""

    def frame(self, asked: Asked, data: str, /) -> Any:  # noqa: ANN401  as above
        """One event of the operation's stream as JSON; raises as `result` does."""


@dataclass(frozen=True, slots=True)
class JsonRpc:
    """JSON-RPC 2.0 over HTTP (specification 9): everything is posted to one address."""

    url: str
    tenant: str | None = None

    def ask(self, operation: Operation, params: Mapping[str, Any]) -> Asked:
        request_id = str(uuid.uuid4())
        tenant = {"tenant": self.tenant} if self.tenant else {}
        envelope = {
            "jsonrpc": "2.0",
            "id": request_id,
            "method": operation.method,
            "params": {**tenant, **params},
        }
        headers = {
            "Content-Type": JSON,
            "Accept": f"{EVENT_STREAM}, {JSON};q=0.5" if operation.streams else JSON,
        }
        nothing = operation.response is None
        return Asked("POST", self.url, headers, _printed(envelope), request_id, for_nothing=nothing)

    def result(self, asked: Asked, answered: Answered) -> Any:  # noqa: ANN401  JSON is any of six types
        return self._opened(asked, _parsed(answered), answered)

    def frame(self, asked: Asked, data: str) -> Any:  # noqa: ANN401  JSON is any of six types
        answered = Answered(HTTPStatus.OK, JSON, data.encode())
        return self._opened(asked, _parsed(answered), answered)

    def _opened(self, asked: Asked, envelope: object, answered: Answered) -> object:
        if not isinstance(envelope, dict):
            raise _unexpected("it is no JSON-RPC reply", answered)
        error = envelope.get("error")
        if isinstance(error, dict):
            if envelope.get("id") not in (asked.id, None):
                raise _unexpected("it is the reply to another request", answered)
            raise of_jsonrpc(error, answered.status, answered.headers)
        # Servers in Go print no result where there is none.
        if not ("result" in envelope or asked.for_nothing) or answered.status != HTTPStatus.OK:
            raise _unexpected("it is no JSON-RPC reply", answered)
        if envelope.get("id") != asked.id:
            raise _unexpected("it is the reply to another request", answered)
        return envelope.get("result")


@dataclass(frozen=True, slots=True)
class HttpJson:
    """HTTP+JSON (specification 11): every operation has an address of its own below that of the interface."""

    url: str
    tenant: str | None = None

    def ask(self, operation: Operation, params: Mapping[str, Any]) -> Asked:
        verb, rest = operation.verbs[0], dict(params)
        path = operation.path
        for name in ("taskId", "id"):
            if "{" + name + "}" in path:
                path = path.replace("{" + name + "}", quote(str(rest.pop(name)), safe=""))
        url = self._base() + path
        headers = {
            "Accept": f"{EVENT_STREAM}, {A2A_JSON};q=0.5" if operation.streams else f"{A2A_JSON}, {JSON}"
        }
        if verb != "POST":
            return Asked(verb, url + _query(rest), headers)
        if operation.method == "SubscribeToTask":
            return Asked(verb, url, headers)
        return Asked(verb, url, {**headers, "Content-Type": A2A_JSON}, _printed(rest))

    def ask_for_file(self, context_id: str, params: Mapping[str, Any]) -> Asked:
        """The request for an address to upload a file of a conversation to: an extension, see `files`."""
        headers = {"Accept": JSON, "Content-Type": JSON}
        url = f"{self._base()}/contexts/{quote(context_id, safe='')}/files"
        return Asked("POST", url, headers, _printed(params))

    def _base(self) -> str:
        tenant = "/" + quote(self.tenant, safe="") if self.tenant else ""
        return self.url.rstrip("/") + tenant

    def result(self, _: Asked, answered: Answered, /) -> Any:  # noqa: ANN401  JSON is any of six types
        if not HTTPStatus.OK <= answered.status < HTTPStatus.MULTIPLE_CHOICES:
            value = _parsed(answered)
            error = value.get("error") if isinstance(value, dict) else None
            if isinstance(error, dict):
                raise of_status(error, answered.status, answered.headers)
            raise _unexpected(f"the status is {answered.status}", answered)
        if not answered.body.strip():
            return {}  # of what answers with nothing: 204, where the specification has an empty object
        return _parsed(answered)

    def frame(self, _: Asked, data: str, /) -> Any:  # noqa: ANN401  JSON is any of six types
        answered = Answered(HTTPStatus.OK, JSON, data.encode())
        value = _parsed(answered)
        error = value.get("error") if isinstance(value, dict) else None
        if isinstance(error, dict):
            raise of_status(error, None)
        return value


def binding_for(protocol_binding: str, url: str, tenant: str | None) -> Binding:
    """The binding of that name."""
    return JsonRpc(url, tenant) if protocol_binding == "JSONRPC" else HttpJson(url, tenant)


def refused_at_the_door(answered: Answered) -> A2AError | None:
    """What the status alone says, whatever the body is: 401, 403, 429. None for any other."""
    return of_status({}, answered.status, answered.headers) if answered.status in OF_HTTP_STATUS else None


def _printed(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _query(fields: Mapping[str, Any]) -> str:
    written = {
        name: str(value).lower() if isinstance(value, bool) else value for name, value in fields.items()
    }
    return "?" + urlencode(written) if written else ""


def _parsed(answered: Answered) -> Any:  # noqa: ANN401  JSON is any of six types
    kind = answered.media_type
    if kind and kind != JSON and not kind.endswith("+json"):
        raise _unexpected(f"it is {kind}", answered)
    try:
        return parse_json(answered.body)
    except JSONParseError:
        raise _unexpected("it is not JSON", answered) from None


def _unexpected(why: str, answered: Answered) -> UnexpectedAnswerError:
    return UnexpectedAnswerError(
        f"the answer (status {answered.status}) is not one of the protocol: {why}",
        http_status=answered.status,
        excerpt=answered.excerpt,
    )
