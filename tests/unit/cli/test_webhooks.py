"""`a2a-serverless push create|get|list|delete`: the webhooks of a task, and no secret of theirs."""

from typing import Any

import pytest

from tests.unit.cli.caller import TASK, URL, Caller, answered
from tests.unit.client.agents_on_paper import rpc_error

HOOK = "https://hooks.example/a2a"


def config(name: str = "w-1", **more: Any) -> dict[str, Any]:
    return {"id": name, "taskId": TASK, "url": HOOK, "authentication": {"scheme": "Bearer"}, **more}


def test_a_webhook_is_registered_and_its_id_printed(caller: Caller) -> None:
    caller.answers(answered(config(token="hunter2")))

    ended = caller.run(
        *("push", "create", URL, TASK, HOOK, "--id", "w-1", "--notification-token", "env:T"),
        *("--auth-scheme", "Bearer", "--auth-credentials", "hunter3"),
        environment={"T": "hunter2"},
    )

    assert (ended.exit_code, ended.stdout, ended.stderr) == (0, "w-1\n", "")
    assert caller.paper.params() == {
        "id": "w-1",
        "taskId": TASK,
        "url": HOOK,
        "token": "hunter2",
        "authentication": {"scheme": "Bearer", "credentials": "hunter3"},
    }
    assert caller.read("push", "create", URL, TASK, HOOK) == config()


def test_a_secret_that_an_agent_repeats_is_not_shown(caller: Caller) -> None:
    caller.answers(lambda request: rpc_error(request, {"code": -32602, "message": "hunter2 is too short"}))

    ended = caller.run("push", "create", URL, TASK, HOOK, "--notification-token", "hunter2")

    assert (ended.exit_code, ended.stderr) == (1, "error: [secret] is too short\n")


def test_credentials_need_a_scheme(caller: Caller) -> None:
    ended = caller.run("push", "create", URL, TASK, HOOK, "--auth-credentials", "hunter2")

    assert (ended.exit_code, caller.paper.asked) == (2, [])
    assert ended.stderr == "error: --auth-credentials need an --auth-scheme, such as Bearer\n"


def test_a_webhook_is_read_and_those_of_a_task_are_listed(caller: Caller) -> None:
    caller.answers(answered(config(token="hunter2")))
    one = caller.run("push", "get", URL, TASK, "w-1")
    assert caller.paper.params() == {"taskId": TASK, "id": "w-1"}
    assert caller.read("push", "get", URL, TASK, "w-1") == config()

    caller.answers(answered({"configs": [config(), config("w-2")], "nextPageToken": "more"}))
    several = caller.run("push", "list", URL, TASK, "--page-size", "2")

    assert one.stdout == f"config        w-1\nwebhook       {HOOK}\nauthenticates Bearer\n"
    assert several.stdout.splitlines() == [
        "config  webhook                    authenticates",
        f"w-1     {HOOK}  Bearer",
        f"w-2     {HOOK}  Bearer",
    ]
    next_page = f"a2a-serverless push list {URL} {TASK} --page-token more --page-size 2"
    assert several.stderr == f"hint: the next page is {next_page}\n"
    assert caller.read("push", "list", URL, TASK)["nextPageToken"] == "more"


def test_where_there_is_none_that_is_said(caller: Caller) -> None:
    caller.answers(answered({"configs": []}))

    assert caller.run("push", "list", URL, TASK).stdout == "No webhook.\n"
    assert caller.read("push", "list", URL, TASK) == {"configs": []}


def test_a_webhook_is_deleted(caller: Caller) -> None:
    caller.answers(answered({}))

    assert caller.run("push", "delete", URL, TASK, "w-1").stdout == f"w-1 of task {TASK} is deleted\n"
    assert caller.read("push", "delete", URL, TASK, "w-1") == {"deleted": "w-1", "task": TASK}
    assert caller.paper.params() == {"taskId": TASK, "id": "w-1"}


@pytest.mark.parametrize("name", ["get", "delete"])
def test_both_ids_are_needed(caller: Caller, name: str) -> None:
    ended = caller.run("push", name, URL, TASK)

    assert (ended.exit_code, ended.stderr) == (
        2,
        "error: CONFIG is missing\nhint: it is [URL] TASK CONFIG\n",
    )
