"""The JSON-RPC 2.0 binding (specification 9): POST to the interface's address, one request, one reply.

Decisions the specification leaves open: errors travel with HTTP status 200 unless HTTP itself refuses (401,
403, 405, 413, 429). An id is a string, a number or null, and null gets a reply. A request without an id is
a notification, which nobody could be told the task of: it is refused and nothing runs. So is a batch. A
missing Content-Type is taken for JSON. Which address was posted to is the gateway's business: whatever
reaches this binding is a call. Only a tenant may stand in it, where clients in Java put theirs.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from http import HTTPStatus

from a2a_serverless.bindings.accounts import Account
from a2a_serverless.bindings.caller import Principal
from a2a_serverless.bindings.caller.refusals import at_the_door
from a2a_serverless.bindings.extended_card import for_one_caller
from a2a_serverless.bindings.failures import (
    MethodNotAllowedError,
    check_answer,
    check_body,
    headers_of,
)
from a2a_serverless.bindings.http import (
    A2A_JSON,
    JSON,
    HttpRequest,
    HttpResponse,
    StreamedResponse,
    preflight,
)
from a2a_serverless.bindings.patience import at_length, patiently
from a2a_serverless.bindings.service import Endpoint, Negotiated, OperationCall, negotiated
from a2a_serverless.bindings.sse import HEADERS, event_stream
from a2a_serverless.protocol.card import AgentCard
from a2a_serverless.protocol.errors import (
    A2AError,
    ContentTypeNotSupportedError,
    InvalidParamsError,
    InvalidRequestError,
    MethodNotFoundError,
)
from a2a_serverless.protocol.json_limits import parse_request
from a2a_serverless.protocol.operations import OPERATION_OF_METHOD
from a2a_serverless.protocol.protojson import ProtoModel

Id = str | int | float | None

REFUSED_BY_HTTP = frozenset(
    {
        HTTPStatus.UNAUTHORIZED,
        HTTPStatus.FORBIDDEN,
        HTTPStatus.METHOD_NOT_ALLOWED,
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        HTTPStatus.TOO_MANY_REQUESTS,
    }
)
ALLOWED = ("POST", "OPTIONS")

MAX_ID = 256
"""Characters of an id, which every answer and every frame of a stream repeats."""


@dataclass(frozen=True, slots=True)
class Call:
    """A request object that keeps the rules of JSON-RPC; its `params` have not been looked at yet.

    `tenant` is the one whose address it was posted to, if it was.
    """

    id: Id
    method: str
    params: object
    tenant: str | None = None


class BadEnvelopeError(InvalidRequestError):
    """The body is no request object. Carries the id to answer under, None when it cannot be told."""

    def __init__(self, field: str, description: str, request_id: Id = None) -> None:
        super().__init__(violations=InvalidParamsError.of(field, description).violations)
        self.request_id = request_id


def answer(endpoint: Endpoint, request: HttpRequest) -> HttpResponse | StreamedResponse:
    """Answer one HTTP request to the JSON-RPC interface."""
    if request.method == "OPTIONS":
        return preflight(endpoint.admittance.headers)
    account = endpoint.account(request, "JSONRPC")
    response: HttpResponse | StreamedResponse
    try:
        principal = account.principal = endpoint.admittance.authenticate(request)
        _check(request)
        response = reply_to(endpoint, account, principal, read_call(parse_request(request.body)))
    except BadEnvelopeError as error:
        response = _refusal(account.failed(error), error.request_id)
    except Exception as error:  # noqa: BLE001  whatever it is, the caller gets an answer and no text of ours
        response = _refusal(account.failed(error), None)
    return account.closing(response)


def call_at(tenant: str, request: HttpRequest) -> Call | None:
    """The call that was posted to the address of a tenant; None when what was posted is none."""
    try:
        _check(request)
        call = read_call(parse_request(request.body))
    except A2AError:
        return None
    return replace(call, tenant=tenant)


def reply_to(
    endpoint: Endpoint, account: Account, principal: Principal, call: Call
) -> HttpResponse | StreamedResponse:
    """Answer the call of a known caller."""
    try:
        return _reply(endpoint, account, principal, call)
    except Exception as error:  # noqa: BLE001  whatever it is, the caller gets an answer and no text of ours
        return _refusal(account.failed(error), call.id)


def _check(request: HttpRequest) -> None:
    """See whether the body may be read at all: nothing of it is before the caller is known."""
    if request.method != "POST":
        raise MethodNotAllowedError(ALLOWED)
    if request.media_type not in (None, JSON, A2A_JSON):
        raise ContentTypeNotSupportedError(f"The request must be {JSON}")
    check_body(request)


def read_call(body: object) -> Call:
    """Read a request object (JSON-RPC 2.0, 4).

    Raises:
        BadEnvelopeError: it is none, or a notification, or a batch.
    """
    if isinstance(body, list):
        raise BadEnvelopeError("", "must be one request: batches are not served")
    if not isinstance(body, dict):
        raise BadEnvelopeError("", "must be an object")
    if "id" not in body:
        raise BadEnvelopeError("id", "is required: notifications are not served")
    if not isinstance(body["id"], str | int | float | None) or isinstance(body["id"], bool):
        raise BadEnvelopeError("id", "must be a string, a number or null")
    if isinstance(body["id"], str) and len(body["id"]) > MAX_ID:
        raise BadEnvelopeError("id", f"must have at most {MAX_ID} characters")
    request_id: Id = body["id"]
    if body.get("jsonrpc") != "2.0":
        raise BadEnvelopeError("jsonrpc", 'must be "2.0"', request_id)
    method = body.get("method")
    if not isinstance(method, str):
        raise BadEnvelopeError("method", "must be a string", request_id)
    return Call(request_id, method, body.get("params", {}))


def _reply(
    endpoint: Endpoint, account: Account, principal: Principal, call: Call
) -> HttpResponse | StreamedResponse:
    request = account.request
    service = negotiated(endpoint, request)
    operation = OPERATION_OF_METHOD.get(call.method)
    if operation is None:
        raise MethodNotFoundError
    account.operation = operation.method
    endpoint.permit(principal, operation.method)
    params = _params(call)
    called = OperationCall(endpoint, request, principal, operation, params, account, service.extensions)
    return _stream(called, service, call.id) if operation.streams else _result(called, service, call.id)


def _params(call: Call) -> Mapping[str, object]:
    """The parameters of a call, of the tenant that its address may name."""
    if not isinstance(call.params, Mapping):
        raise InvalidParamsError.of("params", "must be an object")
    if call.tenant is None:
        return call.params
    if call.params.get("tenant") not in (None, "", call.tenant):
        raise InvalidParamsError.of("tenant", "must be what the address says")
    return {**call.params, "tenant": call.tenant}


def _result(called: OperationCall, service: Negotiated, request_id: Id) -> HttpResponse | StreamedResponse:
    endpoint = called.endpoint
    headers = {"Content-Type": JSON, **service.headers()}

    def printed(result: ProtoModel | None) -> HttpResponse:
        body = _envelope(request_id, "null" if result is None else result.to_json())
        response = HttpResponse(HTTPStatus.OK, headers, check_answer(body.encode(), endpoint.most))
        if isinstance(result, AgentCard):
            return for_one_caller(called.request, response, endpoint.admittance)
        return response

    def broken(error: Exception) -> bytes:
        return _refusal(called.account.failed(error), request_id).body

    if not endpoint.streaming:
        return at_length(called.perform(), printed)
    clock = endpoint.ports.clock
    asked_at = called.request.arrived or clock.now()
    return patiently(clock, called.perform(), printed, asked_at=asked_at, headers=headers, broken=broken)


def _stream(called: OperationCall, service: Negotiated, request_id: Id) -> StreamedResponse:
    def printed(response: ProtoModel) -> str:
        return _envelope(request_id, response.to_json())

    def broken(error: Exception) -> str:
        return _refusal(called.account.failed(error), request_id).body.decode()

    body = event_stream(called.endpoint.ports.clock, called.frames(), printed, broken)
    return StreamedResponse(HTTPStatus.OK, {**HEADERS, **service.headers()}, body)


def _envelope(request_id: Id, result: str) -> str:
    return f'{{"jsonrpc":"2.0","id":{json.dumps(request_id)},"result":{result}}}'


def _refusal(error: A2AError, request_id: Id) -> HttpResponse:
    """The one place where an error becomes a JSON-RPC error object (9.5); a stranger gets none."""
    if (closed := at_the_door(error)) is not None:
        return closed
    reply = {
        "jsonrpc": "2.0",
        "id": request_id,
        "error": {"code": error.code, "message": error.message, "data": error.details()},
    }
    headers = {"Content-Type": JSON, **headers_of(error)}
    status = error.http_status if error.http_status in REFUSED_BY_HTTP else HTTPStatus.OK
    return HttpResponse(status, headers, json.dumps(reply, separators=(",", ":")).encode())
