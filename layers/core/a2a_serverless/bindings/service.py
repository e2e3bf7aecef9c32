"""What both bindings do between reading a request and printing its answer.

Negotiating the service parameters and calling the operation: the same checks in the same order whatever the
wire, which is what makes the bindings equivalent (specification 5.1). Knows neither envelope nor route.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from a2a_serverless.bindings.caller import Admittance, Principal
from a2a_serverless.bindings.http import HttpRequest
from a2a_serverless.operations.cancel import cancel_task
from a2a_serverless.operations.declared import require
from a2a_serverless.operations.read import get_task, list_tasks
from a2a_serverless.operations.send import send_message
from a2a_serverless.ports import Caller, Ports
from a2a_serverless.protocol.card import AgentExtension
from a2a_serverless.protocol.errors import ExtensionSupportRequiredError
from a2a_serverless.protocol.operations import Operation
from a2a_serverless.protocol.parameters import (
    EXTENSIONS,
    LEGACY_EXTENSIONS,
    VERSION,
    negotiate,
    parse_extensions,
)
from a2a_serverless.protocol.protojson import ProtoModel

HANDLERS: Mapping[str, Callable[[Ports, Caller, Any], ProtoModel | None]] = {
    "SendMessage": send_message,
    "GetTask": get_task,
    "ListTasks": list_tasks,
    "CancelTask": cancel_task,
}
"""The operation behind each method. Methods without one need a capability that no deployment declares."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """What a binding is given once per process: the world, who is let in, the extensions announced."""

    ports: Ports
    admittance: Admittance
    extensions: tuple[AgentExtension, ...] = ()


@dataclass(frozen=True, slots=True)
class Negotiated:
    """The protocol version a request is served with, and the extensions that apply to it."""

    version: str
    extensions: tuple[str, ...] = ()

    def headers(self) -> dict[str, str]:
        """What the answer says about them (3.2.6, 4.6)."""
        echoed = {EXTENSIONS: ", ".join(self.extensions)} if self.extensions else {}
        return {VERSION: self.version, **echoed}


def negotiated(endpoint: Endpoint, request: HttpRequest) -> Negotiated:
    """Read the service parameters, the version from its header or else from the query (3.6.1).

    Raises:
        VersionNotSupportedError: that version is not served; a missing one means 0.3.
        ExtensionSupportRequiredError: an extension the card requires was not named by the client.
    """
    version = negotiate(request.header(VERSION) or ", ".join(request.query.get(VERSION, ())))
    asked = parse_extensions(request.header(EXTENSIONS), request.header(LEGACY_EXTENSIONS))
    missing = [each.uri for each in endpoint.extensions if each.required and each.uri not in asked]
    if missing:
        raise ExtensionSupportRequiredError(metadata={"extensions": ", ".join(filter(None, missing))})
    announced = {each.uri for each in endpoint.extensions}
    return Negotiated(version, tuple(uri for uri in asked if uri in announced))


def perform(
    endpoint: Endpoint,
    request: HttpRequest,
    principal: Principal,
    operation: Operation,
    params: Mapping[str, object],
) -> ProtoModel | None:
    """Call an operation with a request's parameters, for the tenant they name; None is the proto's Empty.

    Raises:
        A2AError: the operation is not declared, the parameters are not its request, or it refuses.
    """
    require(endpoint.ports, operation)
    asked = operation.request.from_dict(params)
    tenant: str | None = getattr(asked, "tenant", None)
    caller = principal.caller(tenant, endpoint.admittance.address(request))
    return HANDLERS[operation.method](endpoint.ports, caller, asked)
