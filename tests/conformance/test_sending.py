"""SendMessage, its waiting and its history (specification 3.1.1, 3.2, 3.3.1, 3.4)."""

import pytest

from a2a_serverless.ports import Policy
from tests.conformance.requirements import requirement
from tests.conformance.wire import Client, Connect, Deployment, Refused


@requirement("3.1.1:answers-with-a-task")
def test_a_message_begins_a_task_and_the_answer_is_that_task(client: Client) -> None:
    answer = client.send("tck-complete-task")

    assert list(answer) == ["task"]
    assert answer["task"]["status"]["message"]["parts"] == [{"text": "Hello from TCK"}]


@requirement("3.1.1:answers-with-a-message")
def test_an_agent_may_answer_with_a_message_and_no_task(client: Client) -> None:
    answer = client.send("tck-message-response", message_id="m-1")

    assert list(answer) == ["message"]
    assert answer["message"]["role"] == "ROLE_AGENT"
    assert answer["message"]["contextId"]
    assert client.list()["tasks"] == []


@requirement("3.1.1:ended-task-takes-no-message")
@pytest.mark.parametrize(
    "trigger", ["tck-complete-task", "tck-task-failure", "tck-reject-task", "tck-input-required"]
)
def test_a_task_that_has_ended_takes_no_further_message(client: Client, trigger: str) -> None:
    task = client.task(trigger)
    if trigger == "tck-input-required":
        task = client.cancel(task["id"])

    with pytest.raises(Refused, match="UNSUPPORTED_OPERATION"):
        client.send("once more", taskId=task["id"])

    assert client.get(task["id"]) == task


@requirement("3.1.1:unknown-task-takes-no-message")
def test_a_message_to_an_unknown_task_is_refused_and_begins_none(client: Client) -> None:
    with pytest.raises(Refused, match="TASK_NOT_FOUND"):
        client.send("hello", taskId="no-such-task", contextId="a-context")

    assert client.list()["tasks"] == []


@requirement("3.1.1:media-types-are-checked")
def test_a_part_of_a_type_that_the_agent_does_not_take_is_refused(connect: Connect) -> None:
    client = connect(Deployment(policy=Policy(input_modes=("text/plain",))))

    with pytest.raises(Refused, match="CONTENT_TYPE_NOT_SUPPORTED") as refused:
        client.send("", parts=[{"text": "hi"}, {"raw": "aGk=", "mediaType": "image/png"}])

    assert refused.value.metadata["field"] == "message.parts[1].mediaType"
    assert client.list()["tasks"] == []


@requirement("3.2.2:waits-until-terminal")
def test_a_blocking_answer_is_the_ended_task_with_its_artifacts(client: Client) -> None:
    task = client.task("tck-artifact-data")

    assert task["status"]["state"] == "TASK_STATE_COMPLETED"
    assert task["artifacts"] == [
        {"artifactId": "artifact", "parts": [{"data": {"key": "value", "count": 42}}]}
    ]


@requirement("3.2.2:waits-until-interrupted")
@pytest.mark.parametrize(
    ("trigger", "state"),
    [
        ("tck-input-required", "TASK_STATE_INPUT_REQUIRED"),
        ("tck-auth-required", "TASK_STATE_AUTH_REQUIRED"),
    ],
)
def test_a_blocking_answer_comes_when_the_agent_needs_the_caller(
    client: Client, trigger: str, state: str
) -> None:
    task = client.task(trigger)

    assert task["status"]["state"] == state
    assert task["status"]["message"]["parts"]


@requirement("3.2.2:returns-immediately")
def test_an_immediate_answer_is_the_task_in_progress_which_goes_on(client: Client) -> None:
    task = client.task("tck-complete-task", configuration={"returnImmediately": True})
    assert task["status"]["state"] in {"TASK_STATE_SUBMITTED", "TASK_STATE_WORKING"}

    client.deployment.let_pass(1)

    assert client.get(task["id"])["status"]["state"] == "TASK_STATE_COMPLETED"


@requirement("3.3.1:a-message-is-admitted-once")
def test_a_message_sent_twice_is_one_task_that_ran_once(client: Client) -> None:
    first = client.task("tck-complete-task", message_id="m-1")
    second = client.task("tck-complete-task", message_id="m-1")

    assert second == first
    assert len(client.deployment.executions.started) == 1


@requirement("3.3.1:a-message-id-is-for-one-message")
def test_another_message_under_a_used_id_is_refused(client: Client) -> None:
    client.task("tck-complete-task", message_id="m-1")

    with pytest.raises(Refused, match="INVALID_PARAMS") as refused:
        client.send("tck-complete-task, but other words", message_id="m-1")

    assert list(refused.value.fields) == ["message.messageId"]


@requirement("3.2.4:no-history-wanted")
def test_no_history_is_shown_when_none_is_wanted(client: Client) -> None:
    task = client.task("tck-complete-task", configuration={"historyLength": 0})

    assert "history" not in task
    assert "history" not in client.get(task["id"], historyLength=0)
    assert "history" not in client.list(historyLength=0)["tasks"][0]


@requirement("3.2.4:recent-history-wanted")
def test_a_short_history_is_its_most_recent_end_and_the_stored_one_stays_whole(client: Client) -> None:
    task = client.task("tck-input-required first")
    client.send("tck-complete-task second", taskId=task["id"])
    whole = client.get(task["id"])["history"]

    assert len(whole) == 3
    assert client.get(task["id"], historyLength=2)["history"] == whole[-2:]
    assert client.list(historyLength=1)["tasks"][0]["history"] == whole[-1:]
    assert client.get(task["id"], historyLength=100)["history"] == whole


@requirement("3.2.4:negative-history")
def test_a_negative_history_length_is_refused_by_name(client: Client) -> None:
    for method, fields, name in (
        ("GetTask", {"id": "x", "historyLength": -1}, "historyLength"),
        ("ListTasks", {"historyLength": -1}, "historyLength"),
    ):
        with pytest.raises(Refused, match="INVALID_PARAMS") as refused:
            client.call(method, fields)
        assert list(refused.value.fields) == [name]


@requirement("3.4.1:context-is-generated")
def test_a_message_without_a_context_gets_one(client: Client) -> None:
    first, second = client.task(), client.task()

    assert first["contextId"]
    assert first["contextId"] != second["contextId"]
    assert client.get(first["id"])["contextId"] == first["contextId"]


@requirement("3.4.1:context-of-the-client")
def test_a_context_named_by_the_client_is_kept(client: Client) -> None:
    assert client.task(contextId="my-context")["contextId"] == "my-context"


@requirement("3.4.2:task-ids-are-ours")
def test_every_new_task_has_an_id_of_its_own(client: Client) -> None:
    ids = {client.task(contextId="my-context")["id"] for _ in range(3)}

    assert len(ids) == 3


@requirement("3.4.3:context-is-inferred")
def test_an_answer_that_names_only_its_task_stays_in_the_tasks_context(client: Client) -> None:
    task = client.task("tck-input-required")

    answered = client.task("tck-complete-task", taskId=task["id"])

    assert (answered["id"], answered["contextId"]) == (task["id"], task["contextId"])
    assert answered["status"]["state"] == "TASK_STATE_COMPLETED"
    assert {message["contextId"] for message in answered["history"]} == {task["contextId"]}


@requirement("3.4.3:mismatch-is-refused")
def test_a_context_that_is_not_the_tasks_is_refused(client: Client) -> None:
    task = client.task("tck-input-required")

    with pytest.raises(Refused, match="INVALID_PARAMS") as refused:
        client.send("tck-complete-task", taskId=task["id"], contextId="another-context")

    assert list(refused.value.fields) == ["message.contextId"]
    assert client.get(task["id"]) == task


@requirement("3.4:one-turn-at-a-time")
def test_a_context_that_is_working_takes_no_further_message(client: Client) -> None:
    task = client.task("tck-complete-task", configuration={"returnImmediately": True})

    with pytest.raises(Refused, match="UNSUPPORTED_OPERATION") as refused:
        client.send("tck-complete-task", contextId=task["contextId"])

    assert refused.value.message == "Task is already working."


@requirement("3.7:history-is-kept")
def test_the_messages_of_a_task_are_its_history_in_order(client: Client) -> None:
    task = client.task("tck-input-required one", message_id="m-1")
    client.task("tck-input-required two", message_id="m-2", taskId=task["id"])
    task = client.task("tck-complete-task three", message_id="m-3", taskId=task["id"])

    spoken = [m for m in task["history"] if m["role"] == "ROLE_USER"]
    assert [m["messageId"] for m in spoken] == ["m-1", "m-2", "m-3"]
    assert [m["parts"] for m in spoken] == [
        [{"text": "tck-input-required one"}],
        [{"text": "tck-input-required two"}],
        [{"text": "tck-complete-task three"}],
    ]
    assert {m["taskId"] for m in task["history"]} == {task["id"]}
