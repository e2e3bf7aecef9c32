"""What requests may hold and how answers and errors look (specification 3.3.2, 5.4 to 5.7)."""

import re
from dataclasses import replace

import pytest

from a2a_serverless.protocol.errors import A2AError
from a2a_serverless.tasks.fold import LoggedTask
from a2a_serverless.tasks.log import TaskKey
from tests.conformance.requirements import requirement
from tests.conformance.wire import ROWS, Client, Connect, Deployment, Refused
from tests.fakes.ports import FakeTable, FakeTasks

MILLISECONDS = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


def message(**fields: object) -> dict[str, object]:
    return {"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}], **fields}}


@requirement("3.3.2:fields-are-named")
@pytest.mark.parametrize(
    ("fields", "blamed"),
    [
        ({}, {"message": "is required"}),
        (
            {"message": {}},
            {
                "message.messageId": "is required",
                "message.role": "is required",
                "message.parts": "is required",
            },
        ),
        (message(parts=[]), {"message.parts": "must have at least one element"}),
        (message(role="USER"), {"message.role": "must be one of ROLE_USER, ROLE_AGENT"}),
        (message(parts=[{"raw": "@@@"}]), {"message.parts[0].raw": "must be base64"}),
    ],
)
def test_every_wrong_field_is_named_with_what_is_wrong(
    client: Client, fields: dict[str, object], blamed: dict[str, str]
) -> None:
    with pytest.raises(Refused, match="INVALID_PARAMS") as refused:
        client.call("SendMessage", fields)

    assert refused.value.fields == blamed


@requirement("3.3.2:all-input-is-validated")
@pytest.mark.parametrize(
    ("fields", "blamed"),
    [
        (message(messageId="x" * 257), "message.messageId"),
        (message(messageId=" "), "message.messageId"),
        (message(role="ROLE_AGENT"), "message.role"),
        (message(taskId="a/b"), "message.taskId"),
        (message(contextId="c" * 129), "message.contextId"),
        (message(referenceTaskIds=["ok", "not ok"]), "message.referenceTaskIds[1]"),
        (message(metadata={"x": "y" * 70_000}), "message.metadata"),
        (message(parts=[{"text": "a", "url": "https://b"}]), "message.parts[0]"),
        (message(parts=[{"text": "a"}] * 101), "message.parts"),
        (message(parts=[{"text": 1}]), "message.parts[0].text"),
        ({**message(), "configuration": {"historyLength": -1}}, "configuration.historyLength"),
        ({**message(), "configuration": {"returnImmediately": "yes"}}, "configuration.returnImmediately"),
    ],
)
def test_a_value_outside_its_limits_is_refused_by_name_and_nothing_begins(
    client: Client, fields: dict[str, object], blamed: str
) -> None:
    with pytest.raises(Refused, match="INVALID_PARAMS") as refused:
        client.call("SendMessage", fields)

    assert list(refused.value.fields) == [blamed]
    assert client.list()["tasks"] == []


@requirement("5.4:errors-have-their-row")
def test_the_table_of_errors_is_the_specifications() -> None:
    rows = {
        error.reason: (error.code, int(error.http_status), error.status)
        for error in A2AError.__subclasses__()
    }

    assert {reason: rows[reason] for reason in ROWS} == ROWS


@requirement("5.4:errors-have-their-row")
def test_an_error_reaches_the_client_as_its_row(client: Client) -> None:
    with pytest.raises(Refused) as refused:
        client.get("no-such-task")

    assert (refused.value.reason, refused.value.message) == ("TASK_NOT_FOUND", "Task not found")


class BrokenTasks(FakeTasks):
    def load(self, key: TaskKey, *, about: int = 0) -> LoggedTask:
        raise RuntimeError("secret at /var/task/secret.py")


@requirement("3.3.2:faults-say-nothing")
def test_an_unexpected_fault_says_nothing_but_where_its_story_is(connect: Connect) -> None:
    deployment = Deployment()
    broken = BrokenTasks(FakeTable(deployment.clock))
    deployment.endpoint = replace(deployment.endpoint, ports=replace(deployment.ports, tasks=broken))

    with pytest.raises(Refused, match="INTERNAL_ERROR") as refused:
        connect(deployment).get("a-task")

    assert (refused.value.message, refused.value.metadata) == ("Internal error", {"errorId": "incident-1"})
    [(error, _)] = deployment.ports.incidents.reported  # type: ignore[attr-defined]
    assert str(error) == "secret at /var/task/secret.py"


@requirement("5.5:camel-case-and-enum-names")
def test_answers_are_spelled_as_protojson(client: Client) -> None:
    task = client.task("tck-artifact-file")

    assert task["status"]["state"] == "TASK_STATE_COMPLETED"
    assert task["artifacts"] == [
        {
            "artifactId": "artifact",
            "parts": [
                {
                    "raw": "R2VuZXJhdGVkIGZpbGUgY29udGVudA==",
                    "filename": "output.txt",
                    "mediaType": "text/plain",
                }
            ],
        }
    ]
    assert task["history"][0].keys() == {"messageId", "role", "parts", "contextId", "taskId"}


@requirement("5.6.1:timestamps")
def test_timestamps_are_printed_in_utc_with_milliseconds(client: Client) -> None:
    assert MILLISECONDS.fullmatch(client.task()["status"]["timestamp"])


@requirement("5.6.1:timestamps")
@pytest.mark.parametrize("offset", ["2026-11-30T17:30:00+05:30", "2026-11-30T12:00:00.000000Z"])
def test_timestamps_of_any_offset_are_read_as_the_moment_they_are(client: Client, offset: str) -> None:
    task = client.task()

    assert [each["id"] for each in client.list(statusTimestampAfter=offset)["tasks"]] == [task["id"]]


@requirement("5.6.1:timestamps")
@pytest.mark.parametrize("moment", ["1700000000", "2026-11-30", "2026-11-30T12:00:00", "yesterday", "now"])
def test_a_timestamp_that_is_none_is_refused(client: Client, moment: str) -> None:
    with pytest.raises(Refused, match="INVALID_PARAMS") as refused:
        client.list(statusTimestampAfter=moment)

    assert list(refused.value.fields) == ["statusTimestampAfter"]


@requirement("5.7:unknown-fields")
def test_unknown_fields_are_ignored_wherever_they_are(client: Client) -> None:
    task = client.task("tck-complete-task", kind="message", parts=[{"text": "hi", "kind": "text"}])

    assert "kind" not in task["history"][0]
    assert client.get(task["id"], unknown="1") == task


@requirement("5.7:proto-spelling")
def test_fields_may_be_sent_in_the_protos_spelling(client: Client) -> None:
    task = client.task("tck-input-required", context_id="my-context")

    assert task["contextId"] == "my-context"
    assert client.list(context_id="my-context", page_size=3)["pageSize"] == 3
    assert "history" not in client.get(task["id"], history_length=0)
