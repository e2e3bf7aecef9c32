"""ROS through Alibaba Cloud's official SDK, and the only module that knows it.

Requests are signed by the SDK and repeated here, not there: which ones may be repeated is a question of what
they do. Nothing of an error of the SDK's is passed on but the service's own code and text: its exceptions
hold the request, and that holds parameter values.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from alibabacloud_ros20190910 import models  # type: ignore[import-untyped]
from alibabacloud_ros20190910.client import Client  # type: ignore[import-untyped]
from alibabacloud_tea_openapi.exceptions import ThrottlingException  # type: ignore[import-untyped]
from alibabacloud_tea_openapi.utils import Utils  # type: ignore[import-untyped]
from alibabacloud_tea_openapi.utils_models import (  # type: ignore[import-untyped]
    Config,
    OpenApiRequest,
    Params,
)
from darabonba.runtime import RuntimeOptions  # type: ignore[import-untyped]
from Tea.exceptions import TeaException  # type: ignore[import-untyped]

from a2a_agents.iac.operations import aliyun_shapes as shapes
from a2a_agents.iac.operations.credentials import Credentials
from a2a_agents.iac.operations.ros import (
    MOST_STACKS,
    Change,
    Constraint,
    Declared,
    NoSuchStackError,
    NotAuthorizedError,
    Price,
    RefusedError,
    RosError,
    Stack,
    StackEvent,
    StackResource,
    ThrottledError,
    UnreachableError,
)

CONNECT_MILLISECONDS = 3000
READ_MILLISECONDS = 10_000

WAITS = (0.4, 1.2)
"""Seconds to wait before asking again, where asking again does no harm."""

PAGE = 50
"""Entries of one page, the most there are."""

MOST_EVENT_PAGES = 20
"""Pages of a stack's events that are looked at."""

LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})

NOT_AUTHORIZED = (
    "InvalidAccessKey",
    "InvalidSecurityToken",
    "SecurityToken",
    "MissingSecurityToken",
    "SignatureDoesNotMatch",
    "IncompleteSignature",
    "Forbidden",
    "NoPermission",
)
"""How the codes begin of what whoever owns the account must settle."""

Body = dict[str, Any]
Asking = Callable[[], Awaitable[Any]]


class AliyunRos:
    """ROS with one account's credentials. `endpoint` is where it is, if not where the SDK knows it to be."""

    def __init__(
        self,
        credentials: Credentials,
        *,
        endpoint: str = "",
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._credentials = credentials
        self._place = _place(endpoint)
        self._sleep = sleep
        self._clients: dict[str, Any] = {}

    async def create_stack(self, name: str, change: Change) -> str:
        """See `Ros.create_stack`."""
        request = models.CreateStackRequest(
            region_id=change.region,
            stack_name=name,
            template_body=change.template,
            parameters=_given(models.CreateStackRequestParameters, change.parameters),
            disable_rollback=True,
            client_token=change.token,
            timeout_in_minutes=change.timeout_minutes,
        )
        client = self._client(change.region)
        body = await self._ask(lambda: client.create_stack_with_options_async(request, RuntimeOptions()))
        return str(body["StackId"])

    async def update_stack(self, stack_id: str, change: Change) -> None:
        """See `Ros.update_stack`."""
        request = models.UpdateStackRequest(
            region_id=change.region,
            stack_id=stack_id,
            template_body=change.template,
            parameters=_given(models.UpdateStackRequestParameters, change.parameters),
            use_previous_parameters=True,
            client_token=change.token,
            timeout_in_minutes=change.timeout_minutes,
        )
        client = self._client(change.region)
        await self._ask(lambda: client.update_stack_with_options_async(request, RuntimeOptions()))

    async def continue_create_stack(self, stack_id: str, change: Change) -> None:
        """See `Ros.continue_create_stack`. The template goes where it may be large: into the body."""
        request = models.ContinueCreateStackRequest(
            region_id=change.region,
            stack_id=stack_id,
            mode="Recreate",
            parameters=_given(models.ContinueCreateStackRequestParameters, change.parameters),
        )
        asked = OpenApiRequest(query=Utils.query(request.to_map()))
        if change.template is not None:
            asked.body = {"TemplateBody": change.template}
        params = Params(
            action="ContinueCreateStack",
            version="2019-09-10",
            protocol="HTTPS",
            pathname="/",
            method="POST",
            auth_type="AK",
            style="RPC",
            req_body_type="formData",
            body_type="json",
        )
        client = self._client(change.region)
        await self._ask(lambda: client.call_api_async(params, asked, RuntimeOptions()), again=False)

    async def delete_stack(self, stack_id: str, change: Change) -> None:
        """See `Ros.delete_stack`."""
        request = models.DeleteStackRequest(
            region_id=change.region, stack_id=stack_id, retain_resources=list(change.retain) or None
        )
        client = self._client(change.region)
        await self._ask(
            lambda: client.delete_stack_with_options_async(request, RuntimeOptions()), again=False
        )

    async def stack(self, region: str, stack_id: str) -> Stack:
        """See `Ros.stack`."""
        request = models.GetStackRequest(
            region_id=region, stack_id=stack_id, show_resource_progress="PercentageOnly"
        )
        client = self._client(region)
        body = await self._ask(lambda: client.get_stack_with_options_async(request, RuntimeOptions()))
        return shapes.stack(body, region)

    async def find(self, region: str, name: str) -> Stack | None:
        """See `Ros.find`."""
        request = models.ListStacksRequest(region_id=region, stack_name=[name], page_size=PAGE)
        client = self._client(region)
        body = await self._ask(lambda: client.list_stacks_with_options_async(request, RuntimeOptions()))
        found = [shapes.stack(one, region) for one in body.get("Stacks") or ()]
        return next((stack for stack in found if stack.name == name and not stack.deleted), None)

    async def stacks(self, region: str) -> Sequence[Stack]:
        """See `Ros.stacks`."""
        client = self._client(region)
        found: list[Stack] = []
        while len(found) < MOST_STACKS:
            request = models.ListStacksRequest(
                region_id=region, page_size=PAGE, page_number=len(found) // PAGE + 1
            )
            body = await self._ask(_asking(client.list_stacks_with_options_async, request))
            page = body.get("Stacks") or ()
            found += [shapes.stack(one, region) for one in page]
            if len(page) < PAGE:
                break
        return found

    async def events(self, region: str, stack_id: str, since: str = "") -> Sequence[StackEvent]:
        """See `Ros.events`. Pages come latest first, as a rule; what does not is looked through."""
        client = self._client(region)
        found: dict[str, StackEvent] = {}
        for number in range(1, MOST_EVENT_PAGES + 1):
            request = models.ListStackEventsRequest(
                region_id=region, stack_id=stack_id, page_size=PAGE, page_number=number
            )
            body = await self._ask(_asking(client.list_stack_events_with_options_async, request))
            page = [shapes.event(one) for one in body.get("Events") or ()]
            found |= {event.event_id: event for event in page}
            if len(page) < PAGE or (page[0].at >= page[-1].at and page[-1].at < since):
                break
        return sorted((event for event in found.values() if event.at >= since), key=lambda event: event.at)

    async def resources(self, region: str, stack_id: str) -> Sequence[StackResource]:
        """See `Ros.resources`."""
        request = models.ListStackResourcesRequest(region_id=region, stack_id=stack_id)
        client = self._client(region)
        body = await self._ask(
            lambda: client.list_stack_resources_with_options_async(request, RuntimeOptions())
        )
        return [shapes.resource(one) for one in body.get("Resources") or ()]

    async def template(self, region: str, stack_id: str) -> str:
        """See `Ros.template`."""
        request = models.GetTemplateRequest(region_id=region, stack_id=stack_id)
        client = self._client(region)
        body = await self._ask(lambda: client.get_template_with_options_async(request, RuntimeOptions()))
        return shapes.text(body, "TemplateBody")

    async def validate(self, region: str, template: str) -> Sequence[Declared]:
        """See `Ros.validate`."""
        request = models.ValidateTemplateRequest(region_id=region, template_body=template)
        client = self._client(region)
        body = await self._ask(lambda: client.validate_template_with_options_async(request, RuntimeOptions()))
        return [
            shapes.declared(one) for one in body.get("Parameters") or () if shapes.text(one, "ParameterKey")
        ]

    async def estimate(self, change: Change, stack_id: str | None = None) -> Sequence[Price]:
        """See `Ros.estimate`."""
        request = models.GetTemplateEstimateCostRequest(
            region_id=change.region,
            template_body=change.template,
            stack_id=stack_id,
            parameters=_given(models.GetTemplateEstimateCostRequestParameters, change.parameters),
        )
        client = self._client(change.region)
        body = await self._ask(
            lambda: client.get_template_estimate_cost_with_options_async(request, RuntimeOptions())
        )
        resources = body.get("Resources")
        if not isinstance(resources, Mapping):
            return ()
        return [shapes.price(str(name), told) for name, told in resources.items()]

    async def constraints(self, change: Change, stack_id: str | None = None) -> Sequence[Constraint]:
        """See `Ros.constraints`."""
        request = models.GetTemplateParameterConstraintsRequest(
            region_id=change.region,
            template_body=change.template,
            stack_id=stack_id,
            parameters=_given(models.GetTemplateParameterConstraintsRequestParameters, change.parameters),
        )
        client = self._client(change.region)
        body = await self._ask(
            lambda: client.get_template_parameter_constraints_with_options_async(request, RuntimeOptions())
        )
        return [shapes.constraint(one) for one in body.get("ParameterConstraints") or ()]

    def _client(self, region: str) -> Any:  # noqa: ANN401  the SDK has no types
        if region not in self._clients:
            config = Config(
                access_key_id=self._credentials.access_key_id,
                access_key_secret=self._credentials.access_key_secret,
                security_token=self._credentials.security_token or None,
                region_id=region,
                connect_timeout=CONNECT_MILLISECONDS,
                read_timeout=READ_MILLISECONDS,
                user_agent="a2a-serverless",
                **self._place,
            )
            self._clients[region] = Client(config)
        return self._clients[region]

    async def _ask(self, asking: Asking, *, again: bool = True) -> Body:
        """The answer's body; asked again after a while where that does no harm."""
        for wait in WAITS:
            try:
                return await _asked(asking)
            except ThrottledError:
                pass
            except UnreachableError:
                if not again:
                    raise
            await self._sleep(wait)
        return await _asked(asking)


async def _asked(asking: Asking) -> Body:
    try:
        answer = await asking()
    except TeaException as error:
        # Not chained: the SDK's exception holds the whole request.
        raise _problem(error) from None
    body = answer["body"] if isinstance(answer, dict) else answer.to_map().get("body")
    if not isinstance(body, dict):
        raise UnreachableError("the answer makes no sense")
    return body


def _asking(method: Callable[[Any, Any], Awaitable[Any]], request: Any) -> Asking:  # noqa: ANN401  no types
    return lambda: method(request, RuntimeOptions())


MISSING_STACK = frozenset({"StackNotFound", "EntityNotExist.Stack"})
SERVER_ERROR = 500
TOO_MANY = 429
UNAVAILABLE = 503


def _problem(error: TeaException) -> RosError:
    """What an exception of the SDK's means."""
    status = getattr(error, "status_code", None)
    code = str(error.code or "")
    if status is None:
        return UnreachableError("there is no answer")
    if (
        isinstance(error, ThrottlingException)
        or code.startswith("Throttling")
        or status in (TOO_MANY, UNAVAILABLE)
    ):
        return ThrottledError("asked too often")
    if status >= SERVER_ERROR:
        return UnreachableError(f"{code or status} on the service's side")
    if code.startswith(NOT_AUTHORIZED):
        return NotAuthorizedError(code)
    if code in MISSING_STACK:
        return NoSuchStackError(code, "there is no such stack")
    told = error.data.get("Message") if isinstance(error.data, dict) else None
    return RefusedError(code or str(status), str(told or "refused"))


def _place(endpoint: str) -> dict[str, str]:
    """Where the service is, for the SDK's configuration; nothing to leave that to the SDK."""
    if not endpoint:
        return {}
    parts = urlsplit(endpoint if "//" in endpoint else f"//{endpoint}")
    if parts.scheme == "http" and parts.hostname not in LOOPBACK:
        raise ValueError("an endpoint without TLS is only for this machine")
    return {"endpoint": parts.netloc, "protocol": "HTTP" if parts.scheme == "http" else "HTTPS"}


def _given(model: Any, parameters: Mapping[str, str]) -> list[Any] | None:  # noqa: ANN401  no types
    """Parameters as a request has them."""
    given = [model(parameter_key=name, parameter_value=value) for name, value in parameters.items()]
    return given or None
