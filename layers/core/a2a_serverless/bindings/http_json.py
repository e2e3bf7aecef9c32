"""The HTTP+JSON binding (specification 11): every operation under an address, errors as google.rpc.Status.

Decisions the specification leaves open: an answer has the media type of the request where that says
`application/json`, and `application/a2a+json` otherwise; an error is `application/json` unless Accept names
the other. A HEAD is a GET whose body is kept back; there is none of a stream, which would be opened for
nothing. Addresses are strict: a slash at the end is another address. A call of JSON-RPC is passed on where
only a tenant is addressed: it lies below the same address as its routes.
"""

import json
from http import HTTPStatus

from a2a_serverless.bindings.accounts import Account
from a2a_serverless.bindings.caller.refusals import at_the_door
from a2a_serverless.bindings.content import content_response
from a2a_serverless.bindings.extended_card import for_one_caller
from a2a_serverless.bindings.failures import (
    MethodNotAllowedError,
    check_answer,
    check_body,
    headers_of,
)
from a2a_serverless.bindings.files import file_response
from a2a_serverless.bindings.http import (
    A2A_JSON,
    JSON,
    HttpRequest,
    HttpResponse,
    StreamedResponse,
    preflight,
)
from a2a_serverless.bindings.jsonrpc import call_at, reply_to
from a2a_serverless.bindings.patience import at_length, patiently
from a2a_serverless.bindings.request_fields import request_fields
from a2a_serverless.bindings.routes import (
    Found,
    find,
    find_content,
    find_files,
    find_tenant,
    segments_of,
)
from a2a_serverless.bindings.service import Endpoint, Negotiated, OperationCall, negotiated
from a2a_serverless.bindings.sse import HEADERS, event_stream
from a2a_serverless.protocol.card import AgentCard
from a2a_serverless.protocol.errors import A2AError, MethodNotFoundError
from a2a_serverless.protocol.operations import Operation
from a2a_serverless.protocol.protojson import ProtoModel

NOT_KEPT = {"Cache-Control": "no-store"}
"""An answer to one caller is none to the next, and a cache knows that only of callers in `Authorization`."""


def answer(endpoint: Endpoint, request: HttpRequest) -> HttpResponse | StreamedResponse:
    """Answer one HTTP request to the HTTP+JSON interface, to the artifacts route or to the files route."""
    if request.method == "OPTIONS":
        return preflight(endpoint.admittance.headers)
    account = endpoint.account(request, "HTTP+JSON")
    response: HttpResponse | StreamedResponse
    try:
        response = _reply(endpoint, request, account)
    except Exception as error:  # noqa: BLE001  whatever it is, the caller gets an answer and no text of ours
        response = _refusal(account.failed(error), request)
    if request.method == "HEAD":
        response = HttpResponse(response.status, response.headers)
    return account.closing(response)


def _reply(endpoint: Endpoint, request: HttpRequest, account: Account) -> HttpResponse | StreamedResponse:
    principal = account.principal = endpoint.admittance.authenticate(request)
    segments = segments_of(request.path)
    found = find(segments)
    if found is None:
        content = find_content(segments)
        if content is not None:
            return content_response(endpoint, account, principal, content)
        files = find_files(segments)
        if files is not None:
            return file_response(endpoint, account, principal, files)
        tenant = find_tenant(segments)
        call = call_at(tenant, request) if tenant else None
        if call is not None:
            account.binding = "JSONRPC"
            return reply_to(endpoint, account, principal, call)
        raise MethodNotFoundError("There is nothing at this address")
    operation = _operation(found, request)
    account.operation = operation.method
    endpoint.permit(principal, operation.method)
    service = negotiated(endpoint, request)
    check_body(request)
    params = request_fields(operation, request, found.fields)
    called = OperationCall(endpoint, request, principal, operation, params, account, service.extensions)
    return _stream(called, service) if operation.streams else _result(called, service)


def _result(called: OperationCall, service: Negotiated) -> HttpResponse | StreamedResponse:
    endpoint = called.endpoint
    headers = {"Content-Type": _media_type(called.request), **NOT_KEPT, **service.headers()}

    def printed(result: ProtoModel | None) -> HttpResponse:
        body = "{}" if result is None else result.to_json()
        response = HttpResponse(HTTPStatus.OK, headers, check_answer(body.encode(), endpoint.most))
        if isinstance(result, AgentCard):
            return for_one_caller(called.request, response, endpoint.admittance)
        return response

    def broken(error: Exception) -> bytes:
        # Its status is out, and only a task may follow it: cut off is what this answer is.
        raise called.account.failed(error) from error

    if not endpoint.streaming:
        return at_length(called.perform(), printed)
    clock = endpoint.ports.clock
    asked_at = called.request.arrived or clock.now()
    return patiently(clock, called.perform(), printed, asked_at=asked_at, headers=headers, broken=broken)


def _stream(called: OperationCall, service: Negotiated) -> StreamedResponse:
    def broken(error: Exception) -> str:
        return _refusal(called.account.failed(error), called.request).body.decode()

    body = event_stream(called.endpoint.ports.clock, called.frames(), ProtoModel.to_json, broken)
    return StreamedResponse(HTTPStatus.OK, {**HEADERS, **service.headers()}, body)


def _operation(found: Found, request: HttpRequest) -> Operation:
    """Raises MethodNotAllowedError, which lists what the address does take."""
    verbs = dict(found.operations)
    if "GET" in verbs and not verbs["GET"].streams:
        verbs["HEAD"] = verbs["GET"]
    operation = verbs.get(request.method)
    if operation is None:
        raise MethodNotAllowedError((*verbs, "OPTIONS"))
    return operation


def _media_type(request: HttpRequest) -> str:
    if request.accepts(A2A_JSON):
        return A2A_JSON
    return JSON if request.media_type == JSON or request.accepts(JSON) else A2A_JSON


def _refusal(error: A2AError, request: HttpRequest) -> HttpResponse:
    """The one place where an error becomes a google.rpc.Status (11.6); a stranger gets none."""
    if (closed := at_the_door(error)) is not None:
        return closed
    body = {
        "error": {
            "code": int(error.http_status),
            "status": error.status,
            "message": error.message,
            "details": error.details(),
        }
    }
    media_type = A2A_JSON if request.accepts(A2A_JSON) else JSON
    headers = {"Content-Type": media_type, **NOT_KEPT, **headers_of(error)}
    return HttpResponse(error.http_status, headers, json.dumps(body, separators=(",", ":")).encode())
