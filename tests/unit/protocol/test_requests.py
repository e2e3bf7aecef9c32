"""What a client may ask for, and the limits on it, each refused under the name of its field."""

from typing import Any

import pytest

from a2a_serverless.protocol.errors import InvalidParamsError
from a2a_serverless.protocol.objects import Message, Part, Role
from a2a_serverless.protocol.operations import OPERATIONS
from a2a_serverless.protocol.protojson import ProtoModel
from a2a_serverless.protocol.requests import (
    AuthenticationInfo,
    CancelTaskRequest,
    GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTasksRequest,
    ListTasksResponse,
    SendMessageConfiguration,
    SendMessageRequest,
    SendMessageResponse,
    TaskPushNotificationConfig,
)

BAD_IDS = [".", "..", "a b", "a/b", "ä", "a\n", "a" * 129, "%20"]
KILOBYTES_64 = {"k": "x" * (64 * 1024 - len('{"k":""}'))}
TOO_MUCH = {"k": KILOBYTES_64["k"] + "x"}


def message(**changes: Any) -> dict[str, Any]:
    return {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}], **changes}


def blamed(our: type[ProtoModel], value: object) -> list[str]:
    with pytest.raises(InvalidParamsError) as refused:
        our.from_dict(value)
    return [violation.field for violation in refused.value.violations]


@pytest.mark.parametrize("ident", BAD_IDS)
def test_ids_are_up_to_128_characters_of_a_plain_alphabet(ident: str) -> None:
    assert blamed(GetTaskRequest, {"id": ident}) == ["id"]
    assert blamed(GetTaskPushNotificationConfigRequest, {"taskId": ident, "id": ident}) == ["taskId", "id"]
    assert blamed(ListTasksRequest, {"contextId": ident}) == ["contextId"]
    sent = message(taskId=ident, contextId=ident, referenceTaskIds=["t", ident])
    assert blamed(SendMessageRequest, {"message": sent}) == [
        "message.contextId",
        "message.taskId",
        "message.referenceTaskIds[1]",
    ]


def test_the_longest_id_with_every_kind_of_character_is_accepted() -> None:
    longest = "aZ09_.:-" * 16

    assert GetTaskRequest.from_dict({"id": longest}).id == longest


@pytest.mark.parametrize("message_id", [" ", "\t\n", "m" * 257])
def test_a_message_id_is_up_to_256_characters_and_not_blank(message_id: str) -> None:
    assert blamed(SendMessageRequest, {"message": message(messageId=message_id)}) == ["message.messageId"]


def test_a_message_id_may_hold_any_character() -> None:
    request = SendMessageRequest.from_dict({"message": message(messageId="ü /" + "m" * 253)})

    assert len(request.message.message_id) == 256


def test_a_client_speaks_as_the_user() -> None:
    assert blamed(SendMessageRequest, {"message": message(role="ROLE_AGENT")}) == ["message.role"]


def test_a_message_has_one_to_a_hundred_parts() -> None:
    parts = [{"text": "hi"}] * 100

    assert len(SendMessageRequest.from_dict({"message": message(parts=parts)}).message.parts) == 100
    assert blamed(SendMessageRequest, {"message": message(parts=[*parts, {"text": "hi"}])}) == [
        "message.parts"
    ]
    assert blamed(SendMessageRequest, {"message": message(parts=[])}) == ["message.parts"]


@pytest.mark.parametrize("spelled", ["extensions", "referenceTaskIds", "reference_task_ids"])
def test_a_message_names_up_to_a_hundred_tasks_and_extensions(spelled: str) -> None:
    said = message(**{spelled: ["a"] * 100})

    assert SendMessageRequest.from_dict({"message": said})
    assert blamed(SendMessageRequest, {"message": message(**{spelled: ["a"] * 101})}) == [
        f"message.{spelled}"
    ]


def test_a_client_wants_up_to_a_hundred_media_types() -> None:
    wanted = {"message": message(), "configuration": {"acceptedOutputModes": ["text/plain"] * 101}}

    assert blamed(SendMessageRequest, wanted) == ["configuration.acceptedOutputModes"]


def test_every_list_that_is_too_long_is_named_at_once() -> None:
    said = message(parts=[{}] * 101, extensions=["a"] * 101, messageId="")

    assert blamed(SendMessageRequest, {"message": said}) == ["message.parts", "message.extensions"]


def test_metadata_is_up_to_64_kilobytes_of_json_in_each_place() -> None:
    parts = [{"text": "hi"}, {"text": "hi", "metadata": TOO_MUCH}]

    assert SendMessageRequest.from_dict({"message": message(metadata=KILOBYTES_64), "metadata": KILOBYTES_64})
    assert blamed(SendMessageRequest, {"message": message(metadata=TOO_MUCH, parts=parts)}) == [
        "message.metadata",
        "message.parts[1].metadata",
    ]
    assert blamed(SendMessageRequest, {"message": message(), "metadata": TOO_MUCH}) == ["metadata"]
    assert blamed(CancelTaskRequest, {"id": "t", "metadata": TOO_MUCH}) == ["metadata"]


def test_metadata_is_measured_as_bytes_of_utf8() -> None:
    assert blamed(CancelTaskRequest, {"id": "t", "metadata": {"k": "ü" * 32 * 1024}}) == ["metadata"]


def test_what_an_agent_says_is_not_held_to_the_limits() -> None:
    said = Message(message_id="m" * 300, role=Role.AGENT, parts=(Part(text="hi"),) * 101, metadata=TOO_MUCH)

    assert SendMessageResponse(message=said).message == said


@pytest.mark.parametrize("length", [0, 1, "7", 2**31 - 1])
def test_a_history_length_may_be_zero_and_is_kept_apart_from_none(length: object) -> None:
    assert GetTaskRequest.from_dict({"id": "t", "historyLength": length}).history_length == int(str(length))
    assert GetTaskRequest.from_dict({"id": "t"}).history_length is None


def test_a_negative_history_length_is_refused_everywhere() -> None:
    assert blamed(GetTaskRequest, {"id": "t", "historyLength": -1}) == ["historyLength"]
    assert blamed(ListTasksRequest, {"historyLength": -1}) == ["historyLength"]
    assert blamed(SendMessageRequest, {"message": message(), "configuration": {"historyLength": -1}}) == [
        "configuration.historyLength"
    ]


@pytest.mark.parametrize("size", [-1, 0, 101])
def test_a_page_has_one_to_a_hundred_entries(size: int) -> None:
    assert blamed(ListTasksRequest, {"pageSize": size}) == ["pageSize"]
    assert ListTasksRequest.from_dict({"pageSize": 100}).page_size == 100


def test_the_page_size_of_webhooks_has_no_presence_so_zero_is_unset() -> None:
    assert ListTaskPushNotificationConfigsRequest.from_dict({"taskId": "t", "pageSize": 0}).page_size is None
    assert blamed(ListTaskPushNotificationConfigsRequest, {"taskId": "t", "pageSize": 101}) == ["pageSize"]


@pytest.mark.parametrize("tenant", ["a b", "a/b", "a:b", "ä", "t" * 65, ".", ".."])
def test_a_tenant_is_up_to_64_characters_that_can_stand_in_a_path(tenant: str) -> None:
    assert blamed(GetExtendedAgentCardRequest, {"tenant": tenant}) == ["tenant"]


def test_no_tenant_can_be_mistaken_for_the_first_segment_of_a_route() -> None:
    for operation in OPERATIONS:
        first_segment = operation.path.split("/")[1]
        assert blamed(GetExtendedAgentCardRequest, {"tenant": first_segment}) == ["tenant"]


def test_an_empty_tenant_is_none() -> None:
    assert GetExtendedAgentCardRequest.from_dict({"tenant": ""}).tenant is None


def test_a_webhook_without_a_url_or_a_scheme_is_left_to_whoever_judges_all_of_them() -> None:
    webhook = TaskPushNotificationConfig.from_dict({"authentication": {}})

    assert webhook.url == ""
    assert webhook.authentication == AuthenticationInfo(scheme="")


def test_secrets_of_a_webhook_are_not_in_its_repr() -> None:
    authentication = AuthenticationInfo(scheme="Bearer", credentials="secret")
    webhook = TaskPushNotificationConfig(
        url="https://example.com", token="secret", authentication=authentication
    )

    assert "secret" not in repr(webhook)
    assert webhook.to_dict()["authentication"] == {"scheme": "Bearer", "credentials": "secret"}


def test_blocking_is_the_default_and_is_not_printed() -> None:
    assert SendMessageConfiguration().return_immediately is False
    assert SendMessageConfiguration().to_dict() == {}


def test_a_page_of_tasks_always_has_its_four_members() -> None:
    page = ListTasksResponse(tasks=(), next_page_token="", page_size=50, total_size=0)

    assert page.to_dict() == {"tasks": [], "nextPageToken": "", "pageSize": 50, "totalSize": 0}
    assert ListTasksResponse.from_dict({"pageSize": 50}) == page
