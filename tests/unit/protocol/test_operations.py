"""The table of operations, against the official service descriptor and the routes it is annotated with."""

import re
from typing import Any

import pytest
from a2a.types import a2a_pb2
from google.api.annotations_pb2 import http

from a2a_serverless.protocol.card import AgentCapabilities
from a2a_serverless.protocol.operations import OPERATION_OF_METHOD, OPERATIONS, Operation
from a2a_serverless.protocol.protojson import json_name

SERVICE = a2a_pb2.DESCRIPTOR.services_by_name["A2AService"]

every_operation = pytest.mark.parametrize("operation", OPERATIONS, ids=lambda row: row.method)


def official_route(method: str) -> tuple[str, str]:
    """Verb and path of the annotation, with its variables in our spelling."""
    rule: Any = SERVICE.methods_by_name[method].GetOptions().Extensions[http]
    verb = rule.WhichOneof("pattern")
    path = re.sub(r"\{(\w+)(=[^}]*)?\}", lambda match: f"{{{json_name(match[1])}}}", getattr(rule, verb))
    return verb.upper(), path


def test_the_table_has_the_eleven_operations_of_the_service() -> None:
    assert len(OPERATIONS) == 11
    assert OPERATION_OF_METHOD.keys() == set(SERVICE.methods_by_name)


@every_operation
def test_types_and_streaming_are_those_of_the_service(operation: Operation) -> None:
    official = SERVICE.methods_by_name[operation.method]

    assert operation.request.__name__ == official.input_type.name
    assert (operation.response.__name__ if operation.response else "Empty") == official.output_type.name
    assert operation.streams == official.server_streaming


@every_operation
def test_the_route_is_the_annotated_one(operation: Operation) -> None:
    verb, path = official_route(operation.method)

    assert operation.path == path
    assert verb in operation.verbs


def test_only_a_subscription_has_two_verbs() -> None:
    assert {row.method: row.verbs for row in OPERATIONS if len(row.verbs) > 1} == {
        "SubscribeToTask": ("POST", "GET")
    }


@every_operation
def test_what_the_route_names_is_a_field_of_the_request(operation: Operation) -> None:
    fields = {info.alias for info in operation.request.model_fields.values()}

    assert set(re.findall(r"\{(\w+)\}", operation.path)) <= fields
    assert "tenant" in fields


def test_an_optional_operation_names_the_capability_it_needs() -> None:
    needed = {row.method: row.capability for row in OPERATIONS if row.capability}

    assert set(needed.values()) <= AgentCapabilities.model_fields.keys()
    assert needed == {
        "SendStreamingMessage": "streaming",
        "SubscribeToTask": "streaming",
        "CreateTaskPushNotificationConfig": "push_notifications",
        "GetTaskPushNotificationConfig": "push_notifications",
        "ListTaskPushNotificationConfigs": "push_notifications",
        "DeleteTaskPushNotificationConfig": "push_notifications",
        "GetExtendedAgentCard": "extended_agent_card",
    }
