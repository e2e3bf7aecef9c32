"""Alibaba Cloud's Resource Orchestration Service on this machine, as much of it as the agent uses.

A real HTTP server on loopback that the official SDK talks to. It checks signatures, knows client tokens, and
its stacks get on by one resource each time somebody looks at them, so that no test waits. It throttles,
refuses, loses answers and holds them back where a test tells it to. `python -m tests.fakes.ros` serves it to
whoever wants to try the agent out.
"""

import hashlib
import hmac
import json
import threading
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, quote, urlsplit

import yaml

ACCESS_KEY_ID = "LTAI-test-key-id"
ACCESS_KEY_SECRET = "test-key-secret-that-nobody-may-see"
SECURITY_TOKEN = "test-security-token-that-nobody-may-see"
CREDENTIALS = json.dumps({"accessKeyId": ACCESS_KEY_ID, "accessKeySecret": ACCESS_KEY_SECRET})

REGION = "cn-hangzhou"
VERSION = "2019-09-10"
ALGORITHM = "ACS3-HMAC-SHA256"
NO_ECHO = "******"


class Refused(Exception):
    """An error as the service gives it."""

    def __init__(self, status: int, code: str, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.code = code


@dataclass
class FakeStack:
    """One stack."""

    stack_id: str
    name: str
    region: str
    template: str
    parameters: dict[str, str]
    status: str
    created_at: str
    updated_at: str
    reason: str = ""
    resources: dict[str, dict[str, str]] = field(default_factory=dict)
    events: list[dict[str, str]] = field(default_factory=list)
    retained: list[str] = field(default_factory=list)
    rolls_back: bool = True

    @property
    def content(self) -> Mapping[str, Any]:
        return read(self.template)


@dataclass
class Hold:
    """A request that has taken effect and whose answer is held back."""

    reached: threading.Event = field(default_factory=threading.Event)
    released: threading.Event = field(default_factory=threading.Event)


@dataclass
class FakeRos:
    """The service: its stacks, what it was asked, and what it is told to do wrong.

    `failing` holds reasons by resource: creating or deleting these fails. `effects` counts the changes that
    happened, by action.
    """

    failing: dict[str, str] = field(default_factory=dict)
    allowed: dict[str, list[str]] = field(default_factory=dict)
    prices: dict[str, float] = field(default_factory=dict)
    stacks: dict[str, FakeStack] = field(default_factory=dict)
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    effects: dict[str, int] = field(default_factory=dict)
    faults: dict[str, list[Any]] = field(default_factory=dict)
    tokens: dict[str, tuple[str, str]] = field(default_factory=dict)
    security_token: str = ""
    seconds: int = 0
    lock: threading.RLock = field(default_factory=threading.RLock)

    # What a test says -------------------------------------------------------------------------------------

    def throttle(self, action: str, times: int = 1) -> None:
        """Refuse the next requests of an action: asked too often."""
        self.refuse(action, 429, "Throttling.User", "Request was denied due to user flow control.", times)

    def refuse(self, action: str, status: int, code: str, text: str = "No.", times: int = 1) -> None:
        """Refuse the next requests of an action."""
        self.faults.setdefault(action, []).extend([Refused(status, code, text)] * times)

    def lose(self, action: str) -> None:
        """Do what the next request asks for, and never answer it."""
        self.faults.setdefault(action, []).append("lose")

    def garble(self, action: str) -> None:
        """Answer the next request with what no client can read."""
        self.faults.setdefault(action, []).append("garble")

    def hold(self, action: str) -> Hold:
        """Do what the next request asks for, and answer once it is released."""
        hold = Hold()
        self.faults.setdefault(action, []).append(hold)
        return hold

    def stack(self, name: str) -> FakeStack:
        """The stack of that name that was made last."""
        return next(stack for stack in reversed(list(self.stacks.values())) if stack.name == name)

    def actions(self) -> list[str]:
        """What was asked, in order."""
        return [action for action, _ in self.asked]

    def last(self, action: str) -> dict[str, str]:
        """The parameters of the last request of an action."""
        return next(parameters for asked, parameters in reversed(self.asked) if asked == action)

    def made(
        self, name: str, template: str, *, status: str = "CREATE_COMPLETE", **parameters: str
    ) -> FakeStack:
        """A stack that is there before anybody asks."""
        stack = self._new(name, REGION, template, parameters)
        stack.status = status
        for resource in stack.resources.values():
            resource["Status"] = "CREATE_COMPLETE"
        return stack

    # What it does -----------------------------------------------------------------------------------------

    def answer(self, action: str, given: dict[str, str]) -> dict[str, Any]:
        """The answer to a request."""
        method = getattr(self, f"_{action}", None)
        if method is None:
            raise Refused(404, "InvalidAction.NotFound", action)
        result: dict[str, Any] = method(given)
        return {"RequestId": str(uuid.uuid4()).upper(), **result}

    def _CreateStack(self, given: dict[str, str]) -> dict[str, Any]:  # noqa: N802  the service's name
        token, name = given.get("ClientToken", ""), given["StackName"]
        body = _digest(given)
        if token in self.tokens:
            stack_id, before = self.tokens[token]
            if before != body:
                raise Refused(400, "IdempotentParameterMismatch", "The request uses the same client token.")
            return {"StackId": stack_id}
        if any(stack.name == name and stack.status != "DELETE_COMPLETE" for stack in self.stacks.values()):
            raise Refused(409, "StackExists", f"The Stack ({name}) already exists.")
        stack = self._new(name, given["RegionId"], given["TemplateBody"], _listed(given, "Parameters"))
        stack.rolls_back = given.get("DisableRollback", "").lower() != "true"
        self._tell(stack, stack.name, "ALIYUN::ROS::Stack", stack.status)
        self.tokens[token] = (stack.stack_id, body)
        self._effect("CreateStack")
        return {"StackId": stack.stack_id}

    def _new(self, name: str, region: str, template: str, parameters: dict[str, str]) -> FakeStack:
        content = read(template)
        declared = content.get("Parameters") or {}
        values = {key: str(told["Default"]) for key, told in declared.items() if "Default" in told}
        missing = [key for key in declared if key not in {**values, **parameters}]
        if missing:
            raise Refused(400, "ParameterMissing", f"The Parameter ({missing[0]}) was not provided.")
        now = self._now()
        stack = FakeStack(
            stack_id=str(uuid.uuid4()), name=name, region=region, template=template,
            parameters={**values, **parameters}, status="CREATE_IN_PROGRESS", created_at=now, updated_at="",
        )  # fmt: skip
        stack.resources = {
            key: {"LogicalResourceId": key, "ResourceType": told["Type"], "Status": "INIT_COMPLETE"}
            for key, told in (content.get("Resources") or {}).items()
        }
        self.stacks[stack.stack_id] = stack
        return stack

    def _UpdateStack(self, given: dict[str, str]) -> dict[str, Any]:  # noqa: N802
        stack = self._named(given)
        token, body = given.get("ClientToken", ""), _digest(given)
        if self.tokens.get(token, ("", ""))[1] == body:
            return {"StackId": stack.stack_id}
        self._is_idle(stack)
        stack.template = given.get("TemplateBody", stack.template)
        stack.parameters |= _listed(given, "Parameters")
        kept = stack.resources
        stack.resources = {
            key: {
                "LogicalResourceId": key,
                "ResourceType": told["Type"],
                "Status": kept[key]["Status"] if key in kept else "INIT_COMPLETE",
            }
            for key, told in (stack.content.get("Resources") or {}).items()
        }
        self._begin(stack, "UPDATE_IN_PROGRESS")
        self.tokens[token] = (stack.stack_id, body)
        self._effect("UpdateStack")
        return {"StackId": stack.stack_id}

    def _ContinueCreateStack(self, given: dict[str, str]) -> dict[str, Any]:  # noqa: N802
        stack = self._named(given)
        self._is_idle(stack)
        if stack.status != "CREATE_FAILED":
            raise Refused(400, "NotSupported", f"A stack that is {stack.status} cannot be continued.")
        stack.template = given.get("TemplateBody", stack.template)
        stack.parameters |= _listed(given, "Parameters")
        for resource in stack.resources.values():
            if resource["Status"] != "CREATE_COMPLETE":
                resource["Status"] = "INIT_COMPLETE"
        self._begin(stack, "CREATE_IN_PROGRESS")
        self._effect("ContinueCreateStack")
        return {"StackId": stack.stack_id}

    def _DeleteStack(self, given: dict[str, str]) -> dict[str, Any]:  # noqa: N802
        stack = self._named(given)
        self._is_idle(stack)
        stack.retained = list(_values(given, "RetainResources"))
        self._begin(stack, "DELETE_IN_PROGRESS")
        self._effect("DeleteStack")
        return {}

    def _GetStack(self, given: dict[str, str]) -> dict[str, Any]:  # noqa: N802
        stack = self._named(given)
        if stack.status.endswith("_IN_PROGRESS"):
            self._get_on(stack)
        return {
            **self._described(stack),
            "Parameters": [
                {"ParameterKey": key, "ParameterValue": NO_ECHO if key in _no_echo(stack.content) else value}
                for key, value in stack.parameters.items()
            ],
            "Outputs": self._outputs(stack) if stack.status.endswith("_COMPLETE") else [],
            "ResourceProgress": {"StackActionProgress": 50},
        }

    def _ListStacks(self, given: dict[str, str]) -> dict[str, Any]:  # noqa: N802
        names = set(_values(given, "StackName"))
        found = [
            self._described(stack)
            for stack in reversed(self.stacks.values())
            if stack.region == given["RegionId"]
            and stack.status != "DELETE_COMPLETE"
            and (not names or stack.name in names)
        ]
        return {"Stacks": _page(found, given), "TotalCount": len(found)}

    def _ListStackEvents(self, given: dict[str, str]) -> dict[str, Any]:  # noqa: N802
        events = list(reversed(self._named(given).events))
        return {"Events": _page(events, given), "TotalCount": len(events)}

    def _ListStackResources(self, given: dict[str, str]) -> dict[str, Any]:  # noqa: N802
        return {"Resources": list(self._named(given).resources.values())}

    def _GetTemplate(self, given: dict[str, str]) -> dict[str, Any]:  # noqa: N802
        return {"TemplateBody": self._named(given).template}

    def _ValidateTemplate(self, given: dict[str, str]) -> dict[str, Any]:  # noqa: N802
        content = read(given["TemplateBody"])
        if content.get("ROSTemplateFormatVersion") is None and "Transform" not in content:
            raise Refused(400, "InvalidTemplate", "ROSTemplateFormatVersion is missing.")
        declared = content.get("Parameters") or {}
        return {"Parameters": [{"ParameterKey": key, **told} for key, told in declared.items()]}

    def _GetTemplateEstimateCost(self, given: dict[str, str]) -> dict[str, Any]:  # noqa: N802
        told: dict[str, Any] = {}
        for name, resource in (read(given["TemplateBody"]).get("Resources") or {}).items():
            amount = self.prices.get(resource["Type"])
            told[name] = (
                {"Success": False, "Message": "This type has no price."}
                if amount is None
                else {
                    "Success": True,
                    "Result": {
                        "Order": {"TradeAmount": amount, "Currency": "CNY"},
                        "OrderSupplement": {"PriceUnit": "Hour"},
                    },
                }
            )
        return {"Resources": told}

    def _GetTemplateParameterConstraints(self, given: dict[str, str]) -> dict[str, Any]:  # noqa: N802
        declared = read(given["TemplateBody"]).get("Parameters") or {}
        return {
            "ParameterConstraints": [
                {"ParameterKey": key, "AllowedValues": self.allowed.get(key, [])} for key in declared
            ]
        }

    # How stacks get on ------------------------------------------------------------------------------------

    def _get_on(self, stack: FakeStack) -> None:
        """One resource further, or done."""
        verb = stack.status.partition("_")[0]
        if verb == "DELETE":
            self._get_rid(stack)
            return
        for resource in stack.resources.values():
            if resource["Status"] == "INIT_COMPLETE":
                self._make(stack, resource)
                return
        self._end(stack, f"{verb}_COMPLETE")

    def _make(self, stack: FakeStack, resource: dict[str, str]) -> None:
        name, kind = resource["LogicalResourceId"], resource["ResourceType"]
        self._tell(stack, name, kind, "CREATE_IN_PROGRESS")
        reason = self.failing.get(name)
        resource["Status"] = "CREATE_FAILED" if reason else "CREATE_COMPLETE"
        resource["StatusReason"] = reason or ""
        self._tell(stack, name, kind, resource["Status"], reason or "")
        if reason:
            verb = "CREATE" if stack.status.startswith("CREATE") else "UPDATE"
            if verb == "CREATE" and stack.rolls_back:
                stack.resources.clear()
                self._end(stack, "ROLLBACK_COMPLETE", reason)
                return
            self._end(stack, f"{verb}_FAILED", f"Resource {verb} failed: {name}: {reason}")

    def _get_rid(self, stack: FakeStack) -> None:
        for name, resource in list(stack.resources.items()):
            if name in stack.retained:
                continue
            reason = self.failing.get(name)
            if reason:
                resource |= {"Status": "DELETE_FAILED", "StatusReason": reason}
                self._tell(stack, name, resource["ResourceType"], "DELETE_FAILED", reason)
                self._end(stack, "DELETE_FAILED", f"Resource DELETE failed: {name}: {reason}")
                return
            del stack.resources[name]
            self._tell(stack, name, resource["ResourceType"], "DELETE_COMPLETE")
            return
        self._end(stack, "DELETE_COMPLETE")

    def _begin(self, stack: FakeStack, status: str) -> None:
        stack.status, stack.reason, stack.updated_at = status, "", self._now()
        self._tell(stack, stack.name, "ALIYUN::ROS::Stack", status)

    def _end(self, stack: FakeStack, status: str, reason: str = "") -> None:
        stack.status, stack.reason, stack.updated_at = status, reason, self._now()
        self._tell(stack, stack.name, "ALIYUN::ROS::Stack", status, reason)

    def _tell(self, stack: FakeStack, name: str, kind: str, status: str, reason: str = "") -> None:
        event = {
            "EventId": str(uuid.uuid4()), "CreateTime": self._now(), "LogicalResourceId": name,
            "ResourceType": kind, "Status": status, "StatusReason": reason, "StackId": stack.stack_id,
        }  # fmt: skip
        stack.events.append(event)

    def _outputs(self, stack: FakeStack) -> list[dict[str, Any]]:
        return [
            {"OutputKey": key, "OutputValue": self._value(stack, told["Value"]), "Description": "One of them"}
            for key, told in (stack.content.get("Outputs") or {}).items()
        ]

    def _value(self, stack: FakeStack, expression: Any) -> Any:
        if isinstance(expression, dict) and "Ref" in expression:
            return stack.parameters.get(expression["Ref"], f"{expression['Ref'].lower()}-1")
        if isinstance(expression, dict) and "Fn::GetAtt" in expression:
            return ".".join(expression["Fn::GetAtt"])
        return expression

    def _named(self, given: dict[str, str]) -> FakeStack:
        stack = self.stacks.get(given["StackId"])
        if stack is None or stack.region != given["RegionId"]:
            raise Refused(404, "StackNotFound", f"The Stack ({given['StackId']}) could not be found.")
        return stack

    @staticmethod
    def _is_idle(stack: FakeStack) -> None:
        if stack.status.endswith("_IN_PROGRESS"):
            raise Refused(409, "ActionInProgress", f"Stack {stack.name} already has an action in progress.")

    @staticmethod
    def _described(stack: FakeStack) -> dict[str, Any]:
        return {
            "StackId": stack.stack_id, "StackName": stack.name, "RegionId": stack.region,
            "Status": stack.status, "StatusReason": stack.reason,
            "CreateTime": stack.created_at, "UpdateTime": stack.updated_at or None,
        }  # fmt: skip

    def _effect(self, action: str) -> None:
        self.effects[action] = self.effects.get(action, 0) + 1

    def _now(self) -> str:
        self.seconds += 1
        return (datetime(2026, 1, 1) + timedelta(seconds=self.seconds)).isoformat()  # noqa: DTZ001  as there


def read(template: str) -> dict[str, Any]:
    """A template's content."""
    try:
        content = yaml.safe_load(template)
    except yaml.YAMLError:
        content = None
    if not isinstance(content, dict):
        raise Refused(400, "InvalidTemplate", "The template is no mapping.")
    return content


def _no_echo(content: Mapping[str, Any]) -> set[str]:
    return {key for key, told in (content.get("Parameters") or {}).items() if told.get("NoEcho")}


def _digest(given: Mapping[str, str]) -> str:
    return hashlib.sha256(json.dumps(given, sort_keys=True).encode()).hexdigest()


def _listed(given: Mapping[str, str], name: str) -> dict[str, str]:
    """`Parameters.1.ParameterKey` and so on, as a mapping."""
    found: dict[str, str] = {}
    number = 1
    while (key := given.get(f"{name}.{number}.ParameterKey")) is not None:
        found[key] = given[f"{name}.{number}.ParameterValue"]
        number += 1
    return found


def _values(given: Mapping[str, str], name: str) -> Iterator[str]:
    number = 1
    while (value := given.get(f"{name}.{number}")) is not None:
        yield value
        number += 1


def _page(entries: list[dict[str, Any]], given: Mapping[str, str]) -> list[dict[str, Any]]:
    size, number = int(given.get("PageSize", 10)), int(given.get("PageNumber", 1))
    return entries[(number - 1) * size : number * size]


class _Handler(BaseHTTPRequestHandler):
    """One request, checked as the gateway of Alibaba Cloud's API checks it."""

    ros: FakeRos
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Answer a request."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        action = self.headers["x-acs-action"]
        query = dict(parse_qsl(urlsplit(self.path).query, keep_blank_values=True))
        given = {**query, **dict(parse_qsl(body.decode(), keep_blank_values=True))}
        try:
            self._check(query, body)
            with self.ros.lock:
                self.ros.asked.append((action, given))
                fault = (self.ros.faults.get(action) or [None]).pop(0)
                if isinstance(fault, Refused):
                    raise fault
                answer = self.ros.answer(action, given)
            self._go_wrong(fault, answer)
        except Refused as refused:
            told = {"Code": refused.code, "Message": str(refused), "RequestId": str(uuid.uuid4())}
            self._say(refused.status, json.dumps(told).encode())

    def _go_wrong(self, fault: Any, answer: dict[str, Any]) -> None:
        if isinstance(fault, Hold):
            fault.reached.set()
            fault.released.wait(60)
        if fault == "lose":
            self.close_connection = True
        else:
            self._say(200, b"<html>" if fault == "garble" else json.dumps(answer).encode())

    def _check(self, query: Mapping[str, str], body: bytes) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        if headers.get("x-acs-version") != VERSION:
            raise Refused(400, "InvalidVersion", "Another version.")
        if headers.get("x-acs-content-sha256") != hashlib.sha256(body).hexdigest():
            raise Refused(400, "InvalidContent", "The body is not what was signed.")
        expected = signature(query, headers, hashlib.sha256(body).hexdigest())
        if not hmac.compare_digest(headers.get("authorization", ""), expected):
            raise Refused(400, "SignatureDoesNotMatch", "Specified signature does not match.")
        if headers.get("x-acs-security-token", "") != self.ros.security_token:
            raise Refused(400, "InvalidSecurityToken.Expired", "The security token has expired.")

    def _say(self, status: int, content: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


def signature(query: Mapping[str, str], headers: Mapping[str, str], body: str) -> str:
    """The Authorization header a request must have (Alibaba Cloud: "V3 request structure and signature")."""
    given = headers.get("authorization", "")
    signed = dict(
        piece.split("=", 1) for piece in given.removeprefix(ALGORITHM).strip().split(",") if "=" in piece
    )
    names = signed.get("SignedHeaders", "").split(";")
    if not {"host", "x-acs-action", "x-acs-content-sha256", "x-acs-date", "x-acs-signature-nonce"} <= set(
        names
    ):
        raise Refused(400, "IncompleteSignature", "Too little is signed.")
    asked = "&".join(f"{name}={quote(value, safe='~')}" for name, value in sorted(query.items()))
    told = "".join(f"{name}:{headers[name].strip()}\n" for name in names)
    canonical = "\n".join(["POST", "/", asked, told, ";".join(names), body])
    to_sign = f"{ALGORITHM}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
    digest = hmac.new(ACCESS_KEY_SECRET.encode(), to_sign.encode(), hashlib.sha256).hexdigest()
    return f"{ALGORITHM} Credential={ACCESS_KEY_ID},SignedHeaders={';'.join(names)},Signature={digest}"


@contextmanager
def serving(ros: FakeRos) -> Iterator[str]:
    """The service on a free port of loopback; yields its endpoint."""
    handler = type("Handler", (_Handler,), {"ros": ros})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


if __name__ == "__main__":
    with serving(FakeRos(prices={"ALIYUN::VPC::EIP": 0.02})) as place:
        print(f"ros {place}", flush=True)
        threading.Event().wait()
