"""What both bindings do between reading a request and printing its answer.

Negotiating the service parameters and calling the operation: the same checks in the same order whatever the
wire, which is what makes the bindings equivalent (specification 5.1). Knows neither envelope nor route.
"""

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from a2a_serverless.bindings.accounts import Account
from a2a_serverless.bindings.caller import Admittance, Principal
from a2a_serverless.bindings.caller.principal import ForeignTenantError
from a2a_serverless.bindings.extensions import announced
from a2a_serverless.bindings.http import MAX_ANSWER, MAX_STREAMED, HttpRequest
from a2a_serverless.bindings.patience import Steps
from a2a_serverless.operations.cancel import cancel_task
from a2a_serverless.operations.declared import require
from a2a_serverless.operations.rates import count_call
from a2a_serverless.operations.read import get_task, list_tasks
from a2a_serverless.operations.send import send_message
from a2a_serverless.operations.streams import Frames, send_streaming_message, subscribe_to_task
from a2a_serverless.operations.webhooks import create_config, delete_config, get_config, list_configs
from a2a_serverless.ports import Caller, Ports
from a2a_serverless.ports.audit import Audit
from a2a_serverless.protocol.card import AgentCard, AgentExtension
from a2a_serverless.protocol.errors import (
    ExtendedAgentCardNotConfiguredError,
    ExtensionSupportRequiredError,
    TaskNotFoundError,
)
from a2a_serverless.protocol.operations import Operation
from a2a_serverless.protocol.parameters import (
    EXTENSIONS,
    LEGACY_EXTENSIONS,
    VERSION,
    negotiate,
    parse_extensions,
)
from a2a_serverless.protocol.protojson import ProtoModel

HANDLERS: Mapping[str, Callable[[Ports, Caller, Any], Steps | ProtoModel | None]] = {
    "SendMessage": send_message,
    "GetTask": get_task,
    "ListTasks": list_tasks,
    "CancelTask": cancel_task,
    "CreateTaskPushNotificationConfig": create_config,
    "GetTaskPushNotificationConfig": get_config,
    "ListTaskPushNotificationConfigs": list_configs,
    "DeleteTaskPushNotificationConfig": delete_config,
}
"""The operation behind each method that answers once; a caller's card is the endpoint's own."""

LAST_EVENT_ID = "Last-Event-ID"
LAST_EVENT_ID_QUERY = "lastEventId"

CLOSING_TIME = timedelta(seconds=10)
"""Kept back at the end of an invocation, so that a stream closes itself and is not cut off."""

ANSWERING_TIME = timedelta(seconds=3)
"""Kept back at the end of an invocation, so that a blocking call still answers with the task as it stands."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """What a binding is given once per process: the world, who is let in, extensions beside our own.

    `streaming` says that answers may leave piece by piece; a stream stays open for `stream_time` at most.
    `callers_card` makes the card of one caller, where they have such. `audit` is where calls are accounted
    for, if they are.
    """

    ports: Ports
    admittance: Admittance
    extensions: tuple[AgentExtension, ...] = ()
    streaming: bool = False
    stream_time: timedelta = timedelta(seconds=300)
    callers_card: Callable[[Caller], AgentCard] | None = None
    audit: Audit | None = None

    @property
    def announced(self) -> tuple[AgentExtension, ...]:
        """Every extension that the card announces."""
        policy = self.ports.policy
        return (*self.extensions, *announced(policy.extensions, policy.permissions, policy.files))

    @property
    def most(self) -> int:
        """Bytes an answer may have."""
        return MAX_STREAMED if self.streaming else MAX_ANSWER

    def account(self, request: HttpRequest, binding: str) -> Account:
        """Open the account of a call."""
        return Account(
            ports=self.ports, admittance=self.admittance, audit=self.audit, request=request, binding=binding
        )

    def permit(self, principal: Principal, method: str) -> None:
        """Let a principal call an operation now, which counts as a call of it.

        Raises:
            MissingScopeError, UnknownCallerError: it asks for a scope that they have not.
            RateLimitedError: they have called too often of late.
        """
        self.admittance.permit(principal, method)
        count_call(self.ports, method, tenant=principal.belongs_to, owner=principal.owner)


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
    missing = [each.uri for each in endpoint.announced if each.required and each.uri not in asked]
    if missing:
        raise ExtensionSupportRequiredError(metadata={"extensions": ", ".join(filter(None, missing))})
    spoken = {each.uri for each in endpoint.announced}
    return Negotiated(version, tuple(uri for uri in asked if uri in spoken))


@dataclass(frozen=True, slots=True)
class OperationCall:
    """One call of an operation, by whomever, with whatever parameters."""

    endpoint: Endpoint
    request: HttpRequest
    principal: Principal
    operation: Operation
    params: Mapping[str, object]
    account: Account
    extensions: tuple[str, ...] = ()

    def perform(self) -> Steps:
        """Call the operation; what it returns in the end is None for the proto's Empty.

        Raises:
            A2AError: the operation is not declared, the parameters are not its request, or it refuses.
        """
        caller, asked = self._read()
        if self.operation.method == "GetExtendedAgentCard":
            return self._callers_card(caller)
        result = HANDLERS[self.operation.method](self._hurried(), caller, asked)
        result = (yield from result) if isinstance(result, Generator) else result
        self.account.shows(result)
        return result

    def frames(self) -> Frames:
        """Open the stream that the operation is; raises A2AError like `perform`."""
        caller, asked = self._read()
        ports = self.endpoint.ports
        until = min(ports.clock.now() + self.endpoint.stream_time, self.request.deadline - CLOSING_TIME)
        if self.principal.expires is not None:
            until = min(until, self.principal.expires)
        if self.operation.method == "SendStreamingMessage":
            return self.account.counted(send_streaming_message(ports, caller, asked, until))
        return self.account.counted(subscribe_to_task(ports, caller, asked, until, self._last_event_id()))

    def _callers_card(self, caller: Caller) -> AgentCard:
        if self.endpoint.callers_card is None:
            raise ExtendedAgentCardNotConfiguredError
        return self.endpoint.callers_card(caller)

    def _hurried(self) -> Ports:
        """The world, in which nothing waits for longer than this invocation lasts."""
        ports = self.endpoint.ports
        left = max(self.request.deadline - ANSWERING_TIME - ports.clock.now(), timedelta(0))
        if left >= ports.policy.blocking_wait:
            return ports
        return replace(ports, policy=replace(ports.policy, blocking_wait=left))

    def _last_event_id(self) -> str | None:
        """The position a client goes on from: a header of EventSource, or a query for who cannot set one."""
        queried = self.request.query.get(LAST_EVENT_ID_QUERY, ())
        return self.request.header(LAST_EVENT_ID) or next(iter(queried), None)

    def _read(self) -> tuple[Caller, Any]:
        """The request's parameters as the operation's own type, and the caller for the tenant they name.

        A task of a tenant that is not the caller's to ask for is a task that is not there.
        """
        require(self.endpoint.ports, self.operation)
        asked = self.operation.request.from_dict(self.params)
        self.account.asks(asked)
        tenant: str | None = getattr(asked, "tenant", None)
        try:
            caller = self.principal.caller(tenant, self.endpoint.admittance.address(self.request))
        except ForeignTenantError:
            if _names_a_task(asked):
                raise TaskNotFoundError from None
            raise
        self.account.is_for(caller)
        return replace(caller, extensions=frozenset(self.extensions)), asked


def _names_a_task(asked: object) -> bool:
    """Whether a request is about a task that there must be already."""
    message = getattr(asked, "message", None)
    named = (getattr(asked, "id", None), getattr(asked, "task_id", None), getattr(message, "task_id", None))
    return any(named)
