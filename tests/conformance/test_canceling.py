"""CancelTask (specification 3.1.5)."""

import pytest

from tests.conformance.requirements import requirement
from tests.conformance.wire import Client, Refused


@requirement("3.1.5:cancels")
@pytest.mark.parametrize("immediately", [True, False])
def test_a_task_that_has_not_ended_is_canceled_whether_it_works_or_waits(
    client: Client, *, immediately: bool
) -> None:
    task = client.task("tck-input-required", configuration={"returnImmediately": immediately})

    canceled = client.cancel(task["id"])
    client.deployment.let_pass(5)

    assert canceled["status"]["state"] == "TASK_STATE_CANCELED"
    assert client.get(task["id"]) == canceled


@requirement("3.1.5:ended-task-is-not-cancelable")
@pytest.mark.parametrize("trigger", ["tck-complete-task", "tck-task-failure", "tck-reject-task"])
def test_canceling_an_ended_task_is_refused_and_leaves_it_as_it_is(client: Client, trigger: str) -> None:
    task = client.task(trigger)

    with pytest.raises(Refused, match="TASK_NOT_CANCELABLE"):
        client.cancel(task["id"])

    assert client.get(task["id"]) == task


@requirement("3.1.5:ended-task-is-not-cancelable")
def test_canceling_twice_is_refused_the_second_time(client: Client) -> None:
    task = client.task("tck-input-required")
    canceled = client.cancel(task["id"])

    with pytest.raises(Refused, match="TASK_NOT_CANCELABLE"):
        client.cancel(task["id"])

    assert client.get(task["id"]) == canceled


@requirement("3.1.5:unknown-task")
def test_canceling_an_unknown_task_finds_none(client: Client) -> None:
    with pytest.raises(Refused, match="TASK_NOT_FOUND"):
        client.cancel("no-such-task")
