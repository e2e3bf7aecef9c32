"""Which call of AWS an HTTP request is, as IAM would name it: the action, and the ARNs it is about.

Knows the requests that this deployment's functions make. Pure.
"""

import base64
import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import parse_qs, unquote

from infra.local.deployment import ACCOUNT, REGION
from infra.local.grants import Call
from infra.local.wire import Request

CREDENTIAL: Final = re.compile(r"Credential=([^/,\s]+)/[0-9]{8}/[^/]+/([^/]+)/")
"""Access key and service in the signature of a request (AWS Signature Version 4)."""

KEY_ID_LENGTH: Final = 36

S3_ACTIONS: Final = {"GET": "s3:GetObject", "HEAD": "s3:GetObject", "PUT": "s3:PutObject"}
S3_PART_ACTIONS: Final = {
    "POST": "s3:PutObject",
    "PUT": "s3:PutObject",
    "DELETE": "s3:AbortMultipartUpload",
}
"""What IAM calls the requests of an upload in parts."""


def signer(request: Request) -> tuple[str, str]:
    """Return the access key that signed a request and the service it is for; empty when nobody did.

    A link is signed by whoever made it, and may do what they may.
    """
    said = request.header("authorization") or unquote(request.target.partition("?")[2])
    found = CREDENTIAL.search(said)
    return (found[1], found[2]) if found else ("", "")


def call_of(request: Request, service: str) -> Call:
    """Return the call that a signed request is."""
    if service == "s3":
        path, _, query = request.target.partition("?")
        in_parts = parse_qs(query, keep_blank_values=True).keys() & {"uploads", "uploadId"}
        actions = S3_PART_ACTIONS if in_parts else S3_ACTIONS
        return Call(actions.get(request.method, f"s3:{request.method}"), (_object(path),))
    operation = request.header("x-amz-target").rpartition(".")[2]
    asked: Mapping[str, Any] = json.loads(request.body or b"{}")
    resources, keys = RESOURCES.get(service, _anything)(asked)
    return Call(f"{service}:{ACTIONS.get((service, operation), operation)}", resources, keys)


def calls_of(request: Request, service: str) -> tuple[Call, ...]:
    """Return all the calls that a signed request is: who copies an object reads it as well."""
    source = request.header("x-amz-copy-source") if service == "s3" else ""
    read = (Call("s3:GetObject", (_object(source),)),) if source else ()
    return (*read, call_of(request, service))


def _object(path: str) -> str:
    return f"arn:aws:s3:::{unquote(path.lstrip('/'))}"


Found = tuple[tuple[str, ...], tuple[str, ...]]
"""The resources that a request is about, and the partition keys."""

ACTIONS: Final = {("sqs", "SendMessageBatch"): "SendMessage"}
"""What IAM calls otherwise than the API does."""


def _anything(_: Mapping[str, Any]) -> Found:
    return ("*",), ()


def _items(asked: Mapping[str, Any]) -> Found:
    if "RequestItems" in asked:
        tables = asked["RequestItems"]
        keys = [key for each in tables.values() for key in each.get("Keys", ())]
        return tuple(map(_table, tables)), tuple(dict.fromkeys(key["pk"]["S"] for key in keys))
    index = f"/index/{asked['IndexName']}" if "IndexName" in asked else ""
    about = asked.get("Key") or asked.get("Item")
    return (_table(asked["TableName"]) + index,), (about["pk"]["S"],) if about else ()


def _table(name: str) -> str:
    return f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/{name}"


def _queue(asked: Mapping[str, Any]) -> Found:
    return (f"arn:aws:sqs:{REGION}:{ACCOUNT}:{asked['QueueUrl'].rpartition('/')[2]}",), ()


def _key(asked: Mapping[str, Any]) -> Found:
    """By the name it was asked for; what is to be opened says itself by which key, as moto writes it."""
    named = asked.get("KeyId")
    if named is None:
        named = f"key/{base64.b64decode(asked['CiphertextBlob'])[:KEY_ID_LENGTH].decode()}"
    return (named if named.startswith("arn:") else f"arn:aws:kms:{REGION}:{ACCOUNT}:{named}",), ()


def _execution(asked: Mapping[str, Any]) -> Found:
    return (asked.get("stateMachineArn") or asked["executionArn"],), ()


def _bus(asked: Mapping[str, Any]) -> Found:
    buses = dict.fromkeys(entry.get("EventBusName", "default") for entry in asked["Entries"])
    prefix = f"arn:aws:events:{REGION}:{ACCOUNT}:event-bus/"
    return tuple(bus if bus.startswith("arn:") else prefix + bus for bus in buses), ()


def _secret(asked: Mapping[str, Any]) -> Found:
    named = asked["SecretId"]
    # AWS puts six characters behind the name.
    arn = f"arn:aws:secretsmanager:{REGION}:{ACCOUNT}:secret:{named}-AbCdEf"
    return (named if named.startswith("arn:") else arn,), ()


def _parameter(asked: Mapping[str, Any]) -> Found:
    named = asked["Name"]
    arn = f"arn:aws:ssm:{REGION}:{ACCOUNT}:parameter/{named.lstrip('/')}"
    return (named if named.startswith("arn:") else arn,), ()


RESOURCES: Final[Mapping[str, Callable[[Mapping[str, Any]], Found]]] = {
    "dynamodb": _items,
    "events": _bus,
    "kms": _key,
    "secretsmanager": _secret,
    "sqs": _queue,
    "ssm": _parameter,
    "states": _execution,
}
"""How each service's requests name what they are about; whatever else there is, nobody is granted."""
