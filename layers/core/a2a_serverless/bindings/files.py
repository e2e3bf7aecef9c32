"""The files route: an address to upload a file of a conversation to, for whoever may send messages in it.

One of this server's own extensions, so neither binding has a method for it: it is a route beside those of
HTTP+JSON, for clients of both. Nothing is asked about the protocol's version, which says nothing of it.
"""

from http import HTTPStatus

from a2a_serverless.bindings.accounts import Account
from a2a_serverless.bindings.caller import Principal
from a2a_serverless.bindings.extensions import FILES_PATH
from a2a_serverless.bindings.failures import MethodNotAllowedError, check_body
from a2a_serverless.bindings.http import JSON, HttpResponse
from a2a_serverless.bindings.request_fields import request_fields
from a2a_serverless.bindings.service import Endpoint
from a2a_serverless.operations.files import create_file
from a2a_serverless.operations.rates import CREATE_FILE, count_call
from a2a_serverless.protocol.files import CreateFileRequest, CreateFileResponse
from a2a_serverless.protocol.operations import Operation

SENT_BY = "SendMessage"
"""The operation whose scopes files ask for: they are pieces of messages."""

OPERATION = Operation(
    method=CREATE_FILE,
    verbs=("POST",),
    path=FILES_PATH,
    request=CreateFileRequest,
    response=CreateFileResponse,
)
"""Read like one of the protocol's own."""

Place = tuple[str | None, str]
"""Tenant and context id."""


def file_response(endpoint: Endpoint, account: Account, principal: Principal, place: Place) -> HttpResponse:
    """Where to upload the file that the request describes.

    Raises:
        MethodNotAllowedError: files can only be uploaded here.
        A2AError: whatever `create_file` refuses.
    """
    request, account.operation = account.request, OPERATION.method
    if request.method not in OPERATION.verbs:
        raise MethodNotAllowedError((*OPERATION.verbs, "OPTIONS"))
    endpoint.admittance.permit(principal, SENT_BY)
    count_call(endpoint.ports, CREATE_FILE, tenant=principal.belongs_to, owner=principal.owner)
    check_body(request)
    tenant, context_id = place
    addressed = {"contextId": context_id} if tenant is None else {"contextId": context_id, "tenant": tenant}
    asked = CreateFileRequest.from_dict(request_fields(OPERATION, request, addressed))
    account.asks(asked)
    caller = principal.caller(asked.tenant, endpoint.admittance.address(request))
    account.is_for(caller)
    created = create_file(endpoint.ports, caller, asked)
    headers = {"Content-Type": JSON, "Cache-Control": "no-store"}
    return HttpResponse(HTTPStatus.CREATED, headers, created.to_json().encode())
