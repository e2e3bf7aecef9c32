"""`a2a-serverless task …`: tasks as people and programs read them, and the command lines that go on."""

import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.caller import (
    CONTEXT,
    TASK,
    URL,
    Caller,
    answered,
    artifact,
    piece,
    status,
    streamed,
    task,
)
from tests.unit.client.agents_on_paper import rpc_error

OTHER_TASK = "7c9e6679-7425-40de-944b-e07fc1f90ae8"


def page(*tasks: Any, token: str = "", total: int | None = None) -> dict[str, Any]:
    return {
        "tasks": list(tasks),
        "nextPageToken": token,
        "pageSize": 50,
        "totalSize": len(tasks) if total is None else total,
    }


def test_a_task_is_told_with_what_was_said_and_made(caller: Caller) -> None:
    history = [
        {"messageId": "1", "role": "ROLE_USER", "parts": [{"text": "Hello"}]},
        {"messageId": "2", "role": "ROLE_AGENT", "parts": [{"text": "Hi"}]},
    ]
    made = [artifact("a", {"text": "one"}, {"raw": "cG5n", "mediaType": "image/png"}, name="First")]
    caller.answers(answered(task("COMPLETED", says="Done.", artifacts=made, history=history)))

    ended = caller.run("task", "get", URL, TASK, "--history", "2")

    assert (ended.exit_code, ended.stderr) == (0, "")
    assert ended.stdout == (
        f"task     {TASK}\ncontext  {CONTEXT}\nstate    completed since 2026-11-30T12:00:00Z\n\nDone.\n\n"
        "# a (First)\none\n[image/png: 3 bytes]\n\nyou: Hello\n\nagent: Hi\n"
    )
    assert caller.paper.params() == {"id": TASK, "historyLength": 2}


def test_a_text_ends_in_one_line_end_however_its_artifact_does(caller: Caller) -> None:
    for text in ("one", "one\n"):
        caller.answers(answered(task("COMPLETED", artifacts=[artifact("a", {"text": text})])))
        assert caller.run("task", "get", URL, TASK).stdout.endswith("\n# a\none\n")


def test_a_task_is_given_to_programs_as_the_protocol_has_it(caller: Caller) -> None:
    told = task("COMPLETED", artifacts=[artifact("a", {"text": "one"})])
    caller.answers(answered(told))

    assert caller.read("task", "get", URL, TASK) == told


def test_tasks_are_listed_with_their_whole_ids(caller: Caller) -> None:
    caller.answers(answered(page(task("INPUT_REQUIRED", says="A photo " + "please " * 20), task("WORKING"))))

    ended = caller.run("task", "list", URL)

    header, first, second, summary = ended.stdout.splitlines()
    assert header.split("  ")[0].strip() == "task"
    assert first.startswith(f"{TASK}  waits for an answer  {CONTEXT}  2026-11-30T12:00:00Z  A photo please")
    assert first.endswith(" …")
    assert second.split() == [TASK, "working", CONTEXT, "2026-11-30T12:00:00Z"]
    assert (summary, ended.stderr) == ("All 2 tasks.", "")


def test_the_next_page_is_a_command_line_that_is_ready(caller: Caller) -> None:
    caller.answers(answered(page(task("WORKING"), token="more of them", total=7)))
    filters = ("--state", "input-required", "--context", CONTEXT, "--page-size", "1")

    ended = caller.run("task", "list", URL, *filters)

    assert ended.stdout.splitlines()[-1] == "1 of 7 tasks."
    line = ended.stderr.removeprefix("hint: the next page is ").rstrip("\n")
    assert caller.run(*shlex.split(line)[1:]).exit_code == 0
    assert caller.paper.params() == {
        "status": "TASK_STATE_INPUT_REQUIRED",
        "contextId": CONTEXT,
        "pageSize": 1,
        "pageToken": "more of them",
    }


@pytest.mark.parametrize("state", ["working", "WORKING", "TASK_STATE_WORKING"])
def test_a_state_may_be_written_in_any_way(caller: Caller, state: str) -> None:
    caller.answers(answered(page()))

    assert caller.run("task", "list", URL, "--state", state).stdout == "No task.\n"
    assert caller.paper.params() == {"status": "TASK_STATE_WORKING"}


def test_a_time_without_a_zone_is_utc(caller: Caller) -> None:
    caller.answers(answered(page()))

    caller.run("task", "list", URL, "--since", "2026-11-30T12:00", "--artifacts")

    assert caller.paper.params() == {
        "statusTimestampAfter": "2026-11-30T12:00:00.000Z",
        "includeArtifacts": True,
    }


@pytest.mark.parametrize(
    ("arguments", "error", "hint"),
    [
        (("list", URL, "--state", "done"), "'done' is no state of a task", "there are submitted, working, "),
        (("list", URL, "--since", "noon"), "'noon' is no time", "such as "),
        (("get", URL), "TASK is missing", "it is [URL] TASK"),
        (("cancel",), "TASK is missing", "it is [URL] TASK"),
        (("get", "agent.example", TASK), f"{TASK!r} is one word too many", "an address begins with"),
    ],
)
def test_what_makes_no_sense_is_said_with_what_would(
    caller: Caller, arguments: tuple[str, ...], error: str, hint: str
) -> None:
    ended = caller.run("task", *arguments)

    assert ended.exit_code == 2
    assert ended.stderr.startswith(f"error: {error}\nhint: {hint}")


def test_a_task_that_is_not_there_is_told_apart(caller: Caller) -> None:
    caller.answers(lambda request: rpc_error(request, {"code": -32001, "message": "Task not found"}))

    ended = caller.run("task", "get", URL, TASK)

    assert ended.exit_code == 3
    assert ended.stderr.startswith("error: Task not found\nhint: ")


def test_a_task_is_canceled(caller: Caller) -> None:
    caller.answers(answered(task("CANCELED")))

    assert caller.run("task", "cancel", URL, TASK).stdout == f"task {TASK}: canceled\n"
    assert caller.paper.params() == {"id": TASK}
    assert caller.read("task", "cancel", URL, TASK)["status"]["state"] == "TASK_STATE_CANCELED"


def test_a_task_is_followed_to_its_end(caller: Caller) -> None:
    caller.answers(streamed({"task": task("WORKING")}, piece("a", "Done."), status("COMPLETED")))

    ended = caller.run("task", "subscribe", URL, TASK)

    assert ended.exit_code == 0
    assert ended.stdout.splitlines()[1:] == ["artifact a:", "Done.", "completed"]
    assert caller.paper.params() == {"id": TASK}


def test_a_task_that_waits_already_is_shown_with_what_it_waits_for(caller: Caller) -> None:
    caller.answers(streamed({"task": task("AUTH_REQUIRED", says="Sign in at https://idp.example")}))

    ended = caller.run("task", "subscribe", URL, TASK)

    assert ended.exit_code == 8
    assert ended.stdout.splitlines()[1:] == ["waits for an authorisation: Sign in at https://idp.example"]


def test_a_question_that_was_answered_meanwhile_is_not_shown(caller: Caller) -> None:
    caller.answers(
        streamed({"task": task("INPUT_REQUIRED", says="A photo?")}, status("WORKING"), status("COMPLETED"))
    )

    ended = caller.run("task", "subscribe", URL, TASK, "--until-ended")

    assert ended.stdout.splitlines()[1:] == ["working", "completed"]


def test_what_no_text_is_has_lines_of_its_own(caller: Caller) -> None:
    parts = ({"text": "See"}, {"data": {"a": 1}}, {"raw": "eg==", "mediaType": "image/png"}, {"text": "end"})
    made = artifact("a", *parts)
    update = {"artifactUpdate": {"taskId": TASK, "contextId": CONTEXT, "artifact": made}}
    whole = {"task": task("COMPLETED", says="Done.", artifacts=[made])}
    lines = ["artifact a:", "See", "{", '  "a": 1', "}", "[image/png: 1 bytes]", "end"]

    caller.answers(streamed({"task": task("WORKING")}, update, status("COMPLETED")), streamed(whole))
    growing, at_once = (caller.run("call", URL, "Hello", "--stream") for _ in range(2))

    assert growing.stdout.splitlines()[1:] == [*lines, "completed"]
    assert at_once.stdout.splitlines()[1:] == [*lines, "completed: Done."]


def test_a_task_is_followed_until_it_waits_or_on(caller: Caller) -> None:
    told = ({"task": task("WORKING")}, status("INPUT_REQUIRED", "A photo?"), status("COMPLETED"))
    caller.answers(streamed(*told))

    waits = caller.run("task", "subscribe", URL, TASK)
    ended = caller.run("task", "subscribe", URL, TASK, "--until-ended", "--last-event-id", "7")

    assert (waits.exit_code, ended.exit_code) == (7, 0)
    assert waits.stdout.splitlines()[-1] == "waits for an answer: A photo?"
    assert ended.stdout.splitlines()[-1] == "completed"
    assert caller.paper.asked[-1].headers["Last-Event-ID"] == "7"


def test_a_task_that_has_ended_is_shown_as_it_is(caller: Caller) -> None:
    caller.answers(
        lambda request: rpc_error(request, {"code": -32004, "message": "The task has ended"}),
        answered(task("FAILED", says="No.", artifacts=[artifact("a", {"text": "half"})])),
    )

    ended = caller.run("task", "subscribe", URL, TASK)

    assert ended.exit_code == 6
    assert ended.stdout.splitlines()[1:] == ["artifact a:", "half"]
    assert ended.stderr == "error: the task has failed: No.\n"


def test_what_a_task_made_is_saved(caller: Caller, tmp_path: Path) -> None:
    caller.answers(answered(task("COMPLETED", artifacts=[artifact("a", {"text": "one"})])))

    ended = caller.run("task", "get", URL, TASK, "--out", "made")

    assert ended.stdout.splitlines()[-1] == "saved made/a.txt"
    assert (tmp_path / "made" / "a.txt").read_text() == "one"
    assert caller.read("task", "get", URL, TASK, "--out", "made")["saved"] == ["made/a-2.txt"]
