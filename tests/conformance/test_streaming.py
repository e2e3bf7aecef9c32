"""SendStreamingMessage and SubscribeToTask (specification 3.1.2, 3.1.6, 3.5.2)."""

import hashlib
import re
from collections.abc import Iterable
from typing import Any

import pytest

from a2a_serverless.bindings.caller import Admittance, Token
from a2a_serverless.ports import Policy
from tests.conformance.requirements import requirement
from tests.conformance.wire import Client, Connect, Deployment, Refused, Stream

STREAMING = frozenset({"streaming"})


@pytest.fixture
def client(connect: Connect) -> Client:
    """A client of a deployment that streams."""
    return connect(Deployment(policy=Policy(capabilities=STREAMING)))


def told(frames: Iterable[Any]) -> list[str]:
    """Each frame in a word: the state of a task or update, or that an artifact or a message came."""
    words = []
    for frame in frames:
        ((kind, said),) = frame.items()
        state = said.get("status", {}).get("state", "").removeprefix("TASK_STATE_")
        words.append({"task": f"task {state}", "statusUpdate": state}.get(kind, kind))
    return words


def opened(stream: Stream) -> Any:
    """The task a stream begins with."""
    frame = next(stream)
    assert list(frame) == ["task"]
    return frame["task"]


@requirement("3.1.2:task-first")
@pytest.mark.parametrize(
    ("trigger", "updates"),
    [
        ("tck-complete-task", ["WORKING", "COMPLETED"]),
        ("tck-stream-001", ["WORKING", "WORKING", "artifactUpdate", "COMPLETED"]),
        ("tck-task-failure", ["WORKING", "FAILED"]),
        ("tck-reject-task", ["WORKING", "REJECTED"]),
    ],
)
def test_a_streamed_message_shows_its_task_and_then_its_updates(
    client: Client, trigger: str, updates: list[str]
) -> None:
    stream = client.stream(trigger)

    task = opened(stream)
    frames = list(stream)

    assert task["status"]["state"] == "TASK_STATE_SUBMITTED"
    assert told(frames) == updates
    for frame in frames:
        (update,) = frame.values()
        assert (update["taskId"], update["contextId"]) == (task["id"], task["contextId"])


@requirement("3.1.2:task-first")
def test_what_was_streamed_is_what_the_task_then_says(client: Client) -> None:
    stream = client.stream("tck-stream-001")
    task = opened(stream)
    *_, artifact, status = list(stream)

    read = client.get(task["id"])

    assert read["status"] == status["statusUpdate"]["status"]
    assert read["artifacts"] == [artifact["artifactUpdate"]["artifact"]]
    assert read["history"] == task["history"]


@requirement("3.1.2:message-alone")
def test_a_message_answer_is_the_whole_stream(client: Client) -> None:
    frames = list(client.stream("tck-message-response"))

    assert told(frames) == ["message"]
    assert frames[0]["message"]["role"] == "ROLE_AGENT"
    assert client.list()["tasks"] == []


@requirement("3.1.2:closes-at-the-end")
@pytest.mark.parametrize("trigger", ["tck-complete-task", "tck-task-failure", "tck-reject-task"])
def test_a_stream_closes_right_after_a_terminal_status(client: Client, trigger: str) -> None:
    begun = client.deployment.clock.now()

    *_, last = list(client.stream(trigger))

    assert last["statusUpdate"]["status"]["state"] in {
        "TASK_STATE_COMPLETED",
        "TASK_STATE_FAILED",
        "TASK_STATE_REJECTED",
    }
    assert (client.deployment.clock.now() - begun).total_seconds() < 1


@requirement("11.7:closes-at-a-question")
def test_a_stream_closes_at_a_question_and_the_answer_opens_another(client: Client) -> None:
    stream = client.stream("tck-input-required")
    task = opened(stream)
    assert told(stream) == ["WORKING", "INPUT_REQUIRED"]

    answered = client.stream("tck-complete-task", taskId=task["id"])

    again = opened(answered)
    assert (again["id"], again["contextId"]) == (task["id"], task["contextId"])
    assert again["status"]["state"] == "TASK_STATE_WORKING"
    assert told(answered) == ["WORKING", "COMPLETED"]


@requirement("7.6.1:stays-open-for-an-authorisation")
def test_a_stream_stays_open_while_an_authorisation_is_awaited(client: Client) -> None:
    stream = client.stream("tck-auth-required")
    task = opened(stream)
    assert told([next(stream), next(stream)]) == ["WORKING", "AUTH_REQUIRED"]
    client.deployment.let_pass(120)

    client.send("tck-complete-task", taskId=task["id"])

    assert told(stream) == ["WORKING", "COMPLETED"]


@requirement("7.6.1:stays-open-for-an-authorisation")
def test_a_subscription_stays_open_while_an_authorisation_is_awaited(client: Client) -> None:
    task = client.task("tck-auth-required")
    stream = client.subscribe(task["id"])
    assert opened(stream) == task

    client.cancel(task["id"])

    assert told(stream) == ["CANCELED"]


@requirement("3.1.2:checks-like-sending")
@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"taskId": "no-such-task"}, "TASK_NOT_FOUND"),
        ({"parts": []}, "INVALID_PARAMS"),
        ({"contextId": "a/b"}, "INVALID_PARAMS"),
        ({"parts": [{"raw": "aGk=", "mediaType": "image/png"}]}, "CONTENT_TYPE_NOT_SUPPORTED"),
        ({"configuration": {"historyLength": -1}}, "INVALID_PARAMS"),
        (
            {"configuration": {"taskPushNotificationConfig": {"url": "https://example.com/hook"}}},
            "PUSH_NOTIFICATION_NOT_SUPPORTED",
        ),
    ],
)
def test_what_cannot_be_sent_cannot_be_streamed(
    connect: Connect, fields: dict[str, Any], reason: str
) -> None:
    client = connect(Deployment(policy=Policy(capabilities=STREAMING, input_modes=("text/plain",))))

    def refusal(ask: Any) -> tuple[str, Any]:
        with pytest.raises(Refused, match=reason) as refused:
            ask("hello", message_id="m-1", **fields)
        return str(refused.value), refused.value.metadata

    assert refusal(client.stream) == refusal(client.send)
    assert client.list()["tasks"] == []


@requirement("3.1.2:checks-like-sending")
def test_a_task_that_has_ended_or_works_takes_no_further_streamed_message(client: Client) -> None:
    ended = client.task("tck-complete-task")
    working = client.task("tck-complete-task", configuration={"returnImmediately": True})

    for task in (ended, working):
        with pytest.raises(Refused, match="UNSUPPORTED_OPERATION"):
            client.stream("once more", taskId=task["id"])


@requirement("3.1.2:history-wanted")
@pytest.mark.parametrize(("length", "shown"), [(0, 0), (1, 1), (10, 3)])
def test_a_stream_begins_with_as_much_history_as_was_wanted(client: Client, length: int, shown: int) -> None:
    task = client.task("tck-input-required first")

    stream = client.stream("tck-complete-task", taskId=task["id"], configuration={"historyLength": length})

    assert len(opened(stream).get("history", [])) == shown


@requirement("4.2.2:chunks")
def test_chunks_put_together_in_order_are_the_artifact(client: Client) -> None:
    stream = client.stream("tck-stream-artifact-chunked")
    task = opened(stream)
    chunks = [frame["artifactUpdate"] for frame in stream if "artifactUpdate" in frame]

    assert [chunk.get("append", False) for chunk in chunks] == [False, *[True] * (len(chunks) - 1)]
    assert [chunk.get("lastChunk", False) for chunk in chunks] == [*[False] * (len(chunks) - 1), True]
    parts = [part for chunk in chunks for part in chunk["artifact"]["parts"]]
    (artifact,) = client.get(task["id"])["artifacts"]
    assert {chunk["artifact"]["artifactId"] for chunk in chunks} == {artifact["artifactId"]}
    assert parts == artifact["parts"]


@requirement("3.1.6:task-first")
@pytest.mark.parametrize("trigger", ["tck-input-required", "tck-auth-required"])
def test_a_subscription_begins_with_the_task_as_it_is_read(client: Client, trigger: str) -> None:
    task = client.task(trigger)

    assert opened(client.subscribe(task["id"])) == client.get(task["id"])


@requirement("3.1.6:task-first")
def test_a_subscription_before_anything_happened_misses_nothing(client: Client) -> None:
    task = client.task("tck-stream-001", configuration={"returnImmediately": True})

    stream = client.subscribe(task["id"])

    assert opened(stream) == task
    assert told(stream) == ["WORKING", "WORKING", "artifactUpdate", "COMPLETED"]


@requirement("3.1.6:follows-to-the-end")
def test_a_subscription_stays_open_through_questions_until_the_task_has_ended(client: Client) -> None:
    task = client.task("tck-input-required")
    stream = client.subscribe(task["id"])
    opened(stream)
    client.deployment.let_pass(60)

    client.send("tck-input-required again", taskId=task["id"])
    assert told([next(stream), next(stream)]) == ["WORKING", "INPUT_REQUIRED"]
    client.send("tck-complete-task", taskId=task["id"])

    assert told(stream) == ["WORKING", "COMPLETED"]


@requirement("3.1.6:ended-task")
@pytest.mark.parametrize("trigger", ["tck-complete-task", "tck-task-failure", "tck-reject-task"])
def test_a_task_that_has_ended_cannot_be_subscribed_to(client: Client, trigger: str) -> None:
    task = client.task(trigger)

    with pytest.raises(Refused, match="UNSUPPORTED_OPERATION"):
        client.subscribe(task["id"])


@requirement("3.1.6:ended-task")
def test_a_canceled_task_cannot_be_subscribed_to(client: Client) -> None:
    task = client.cancel(client.task("tck-input-required")["id"])

    with pytest.raises(Refused, match="UNSUPPORTED_OPERATION"):
        client.subscribe(task["id"])


@requirement("3.1.6:unknown-task")
def test_a_task_that_is_not_there_cannot_be_subscribed_to(client: Client) -> None:
    with pytest.raises(Refused, match="TASK_NOT_FOUND"):
        client.subscribe("no-such-task")


@requirement("3.5.2:order")
def test_events_come_in_the_order_of_their_times_and_each_once(client: Client) -> None:
    frames = list(client.stream("tck-stream-artifact-chunked"))

    kinds = told(frames)
    assert kinds[:3] == ["task SUBMITTED", "WORKING", "WORKING"]
    assert kinds[-1] == "COMPLETED"
    assert set(kinds[3:-1]) == {"artifactUpdate"}
    times = [
        found["status"]["timestamp"] for frame in frames for found in frame.values() if "status" in found
    ]
    assert times == sorted(times)
    texts = [
        part["text"]
        for frame in frames
        if "artifactUpdate" in frame
        for part in frame["artifactUpdate"]["artifact"]["parts"]
    ]
    assert "".join(texts) == "chunk one, chunk two, chunk three"


@requirement("3.5.2:many-streams")
def test_every_stream_of_a_task_shows_the_same_events(client: Client) -> None:
    task = client.task("tck-input-required")
    streams = [client.subscribe(task["id"]) for _ in range(3)]
    first, *others = [opened(stream) for stream in streams]
    assert others == [first, first]

    sending = client.stream("tck-stream-artifact-chunked", taskId=task["id"])

    begun = opened(sending)
    assert begun["status"]["state"] == "TASK_STATE_WORKING"
    shown = list(sending)
    assert [list(stream) for stream in streams] == [shown] * 3


@requirement("3.5.2:many-streams")
def test_who_comes_late_sees_what_the_others_see_from_then_on(client: Client) -> None:
    task = client.task("tck-input-required")
    early = client.subscribe(task["id"])
    opened(early)
    client.send("tck-input-required again", taskId=task["id"])
    late = client.subscribe(task["id"])
    assert opened(late)["history"][-1]["parts"] == [{"text": "tck-input-required again"}]

    client.send("tck-complete-task", taskId=task["id"])

    seen = list(early)
    assert told(seen) == ["WORKING", "INPUT_REQUIRED", "WORKING", "COMPLETED"]
    assert list(late) == seen[2:]


@requirement("3.5.2:streams-are-apart")
def test_leaving_one_stream_changes_nothing_for_another(client: Client) -> None:
    task = client.task("tck-input-required")
    leaving, staying = client.subscribe(task["id"]), client.subscribe(task["id"])
    opened(leaving)
    opened(staying)

    leaving.close()
    client.send("tck-complete-task", taskId=task["id"])

    assert told(staying) == ["WORKING", "COMPLETED"]
    with pytest.raises(StopIteration):
        next(leaving)


@requirement("3.5.2:task-is-apart")
def test_a_task_goes_on_though_nobody_looks(client: Client) -> None:
    stream = client.stream("tck-artifact-text")
    task = opened(stream)

    stream.close()
    client.deployment.let_pass(1)

    assert client.get(task["id"])["status"]["state"] == "TASK_STATE_COMPLETED"


@requirement("3.1.5:cancel-closes")
def test_canceling_ends_every_stream_with_that_status_once(client: Client) -> None:
    task = client.task("tck-input-required")
    streams = [client.subscribe(task["id"]) for _ in range(2)]
    for stream in streams:
        opened(stream)

    canceled = client.cancel(task["id"])

    for stream in streams:
        (last,) = stream
        assert last["statusUpdate"]["status"] == canceled["status"]


@requirement("5.6.1:timestamps")
def test_every_status_of_a_stream_has_its_time_in_milliseconds(client: Client) -> None:
    frames = list(client.stream("tck-stream-001"))

    times = [
        found["status"]["timestamp"] for frame in frames for found in frame.values() if "status" in found
    ]
    assert len(times) == 4
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", time) for time in times)


def guarded() -> Deployment:
    tokens = [Token(name, hashlib.sha256(name.encode()).digest()) for name in ("alice", "bob")]
    return Deployment(policy=Policy(capabilities=STREAMING), admittance=Admittance(tokens=tokens))


@requirement("13.1:foreign-is-missing")
def test_a_stream_of_somebody_elses_task_is_one_of_a_task_that_is_not_there(connect: Connect) -> None:
    client = connect(guarded())
    alice, bob = (client.with_headers(authorization=f"Bearer {name}") for name in ("alice", "bob"))
    task = alice.task("tck-input-required")

    def refusals(task_id: str) -> list[str]:
        found = []
        for method, fields in (
            ("SubscribeToTask", {"id": task_id}),
            ("SendStreamingMessage", bob.message("hi", "m-1", taskId=task_id)),
        ):
            with pytest.raises(Refused, match="TASK_NOT_FOUND") as refused:
                bob.open(method, fields)
            found.append(f"{refused.value} {refused.value.metadata}")
        return found

    assert refusals(task["id"]) == refusals("no-such-task")
    assert opened(alice.subscribe(task["id"])) == task


@requirement("13.1:tenants-are-apart")
def test_a_stream_belongs_to_its_tenant(client: Client) -> None:
    stream = client.stream("tck-input-required", tenant="acme")
    task = opened(stream)
    assert told(stream) == ["WORKING", "INPUT_REQUIRED"]

    assert opened(client.subscribe(task["id"], tenant="acme"))["id"] == task["id"]
    for other in ({}, {"tenant": "another"}):
        with pytest.raises(Refused, match="TASK_NOT_FOUND"):
            client.subscribe(task["id"], **other)


@requirement("3.3.2:credentials-are-required")
def test_nothing_is_streamed_without_credentials(connect: Connect) -> None:
    client = connect(guarded())

    for method, fields in (
        ("SendStreamingMessage", client.message("hi")),
        ("SubscribeToTask", {"id": "t"}),
    ):
        with pytest.raises(Refused, match="UNAUTHENTICATED"):
            client.open(method, fields)
    assert client.deployment.executions.started == []
