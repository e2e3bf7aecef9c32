"""`a2a-serverless call`: what is said, what is shown of it, and how it ends."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from a2a_serverless.cli.views import LiveView
from a2a_serverless.protocol.events import StreamResponse
from tests.unit.cli.caller import (
    COMPLETED,
    CONTEXT,
    TASK,
    URL,
    Caller,
    answered,
    artifact,
    card,
    piece,
    status,
    streamed,
    task,
)
from tests.unit.client.agents_on_paper import rpc_error

PERMISSION = {
    "schemaVersion": 1,
    "kind": "permission",
    "inputId": "q-1",
    "taskId": TASK,
    "contextId": CONTEXT,
    "tool": "stack.delete",
    "title": "Delete the stack shop?",
    "arguments": {"name": "shop"},
    "options": ["allow_once", "deny"],
}
QUESTION = {
    "messageId": "asked",
    "role": "ROLE_AGENT",
    "parts": [{"text": "Permission needed: Delete the stack shop?"}, {"data": PERMISSION}],
}


def asking() -> dict[str, Any]:
    waiting = task("INPUT_REQUIRED")
    waiting["status"]["message"] = QUESTION
    return waiting


def waiting() -> dict[str, Any]:
    return {"status": asking()["status"]}


def test_what_the_agent_makes_goes_to_standard_output(caller: Caller) -> None:
    ended = caller.run("call", URL, "Order ORD-1042 is damaged")

    assert (ended.exit_code, ended.stdout) == (0, "Approved. Reserve SKU-RED-42.\n")
    assert ended.stderr == f"task {TASK}: completed\n"
    assert caller.said["parts"] == [{"text": "Order ORD-1042 is damaged"}]


def test_a_stream_that_is_no_terminals_is_shown_line_by_line(caller: Caller) -> None:
    ended = caller.run("call", URL, "Order ORD-1042 is damaged", "--stream")

    assert ended.stdout.splitlines() == [
        f"task {TASK} of context {CONTEXT}: submitted",
        "working: Looking up the order",
        "artifact decision (Decision):",
        "Approved. Reserve SKU-RED-42.",
        "completed",
    ]


def test_lines_of_an_artifact_come_when_they_are_whole_and_others_in_between(caller: Caller) -> None:
    tools = {
        "urn:a2a-serverless:tools:v1": {
            "calls": [
                {"callId": "1", "name": "lookup", "phase": "input", "input": {"order": "ORD-1042"}},
                {"callId": "1", "name": "lookup", "phase": "failed", "error": "gone"},
                {"callId": "2", "name": "stock", "phase": "started"},
            ]
        },
        "urn:a2a-serverless:thinking:v1": {"text": "Hm."},
        "urn:a2a-serverless:usage:v1": {"inputTokens": 7, "outputTokens": 2, "model": "m"},
    }
    caller.answers(
        streamed(
            {"task": task("WORKING", artifacts=[artifact("old", {"text": "kept"})])},
            piece("a", "one\ntw"),
            piece("a", "o\nth", append=True),
            status("WORKING", metadata=tools),
            piece("b", "other"),
            piece("a", "ree", append=True),
            piece("a", "anew"),
            status("COMPLETED", "Done.\nReally."),
        )
    )

    assert caller.run("call", URL, "Hello", "--stream").stdout.splitlines()[1:] == [
        "artifact old:",
        "kept",
        "artifact a:",
        "one",
        "two",
        "th",
        'tool lookup is given: {"order": "ORD-1042"}',
        "tool lookup has failed: gone",
        "tool stock begins",
        "thinking: Hm.",
        "tokens: 7 in, 2 out, m",
        "artifact b:",
        "other",
        "artifact a:",
        "ree",
        "artifact a:",
        "anew",
        "completed: Done.",
        "Really.",
    ]


def test_programs_get_the_task_or_an_object_for_everything_that_happens(caller: Caller) -> None:
    whole = caller.read("call", URL, "Hello")
    each = caller.run("call", URL, "Hello", "--stream", "--json").stdout.splitlines()

    assert whole["task"]["artifacts"][0]["parts"] == [{"text": "Approved. Reserve SKU-RED-42."}]
    assert [next(iter(json.loads(line))) for line in each] == [
        "task",
        "statusUpdate",
        "artifactUpdate",
        "artifactUpdate",
        "statusUpdate",
    ]


def test_an_answer_without_a_task_is_printed(caller: Caller) -> None:
    message = {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "Hi."}, {"data": {"a": 1}}]}
    caller.answers(streamed({"message": message}))

    ended = caller.run("call", URL, "Hello")

    assert (ended.exit_code, ended.stdout, ended.stderr) == (0, 'Hi.\n{\n  "a": 1\n}\n', "")
    assert caller.read("call", URL, "Hello") == {"message": message}


def test_an_agent_that_does_not_stream_is_looked_at(caller: Caller) -> None:
    caller.paper.card = card(capabilities={})
    caller.answers(answered({"task": task("COMPLETED", artifacts=[artifact("a", {"text": "Done."})])}))

    ended = caller.run("call", URL, "Hello", "--stream")

    assert ended.stdout.splitlines() == [
        f"task {TASK} of context {CONTEXT}: completed",
        "artifact a:",
        "Done.",
    ]
    assert caller.paper.params()["configuration"]["returnImmediately"] is True


@pytest.mark.parametrize(
    ("last", "exit_status", "out", "err"),
    [
        (("COMPLETED", "All good."), 0, "All good.\n", f"task {TASK}: completed\n"),
        (("FAILED", "No."), 6, "", "error: the task has failed: No.\n"),
        (("REJECTED", "Never."), 6, "", "error: the task was rejected: Never.\n"),
        (("CANCELED", None), 6, "", "error: the task was canceled\n"),
        (
            ("INPUT_REQUIRED", "A photo, please."),
            7,
            "A photo, please.\n",
            f'task {TASK}: waits for an answer\nhint: a2a-serverless call {URL} --task {TASK} "…"\n',
        ),
        (
            ("AUTH_REQUIRED", "Sign in at https://idp.example"),
            8,
            "Sign in at https://idp.example\n",
            (
                f"task {TASK}: waits for an authorisation\n"
                f'hint: a2a-serverless call {URL} --task {TASK} "…"\n'
                f"hint: a2a-serverless task subscribe {URL} {TASK} --until-ended\n"
            ),
        ),
    ],
)
def test_where_the_task_stands_in_the_end_is_the_exit_status(
    caller: Caller, last: tuple[str, str | None], exit_status: int, out: str, err: str
) -> None:
    caller.answers(streamed({"task": task("SUBMITTED")}, status(*last)))

    ended = caller.run("call", URL, "Hello")

    assert (ended.exit_code, ended.stdout, ended.stderr) == (exit_status, out, err)


def test_a_permission_is_shown_with_both_answers_to_it(caller: Caller) -> None:
    caller.answers(streamed({"task": asking()}))

    ended = caller.run("call", URL, "Delete it")

    assert ended.exit_code == 7
    assert ended.stdout.splitlines()[0] == "Permission needed: Delete the stack shop?"
    assert '"name": "shop"' in ended.stdout
    assert ended.stderr.splitlines()[1:] == [
        f"hint: a2a-serverless call {URL} --task {TASK} --allow",
        f"hint: a2a-serverless call {URL} --task {TASK} --deny",
    ]


@pytest.mark.parametrize(
    ("told", "arguments"),
    [
        (streamed({"task": asking()}), ("call", URL, "Delete it", "--stream")),
        (
            streamed(
                {"task": task("WORKING")},
                {"statusUpdate": {**status("WORKING")["statusUpdate"], **waiting()}},
            ),
            ("call", URL, "Delete it", "--stream"),
        ),
        (streamed({"task": asking()}), ("task", "subscribe", URL, TASK)),
        (answered(asking()), ("task", "get", URL, TASK)),
    ],
)
def test_a_permission_is_shown_to_people_as_they_read_it(
    caller: Caller, told: Any, arguments: tuple[str, ...]
) -> None:
    caller.answers(told)

    shown = caller.run(*arguments).stdout

    assert "Permission needed: Delete the stack shop?\nArguments: {\n" in shown
    assert "schemaVersion" not in shown


def test_what_is_said_on_the_way_is_shown_alive_as_it_was_said(capsys: pytest.CaptureFixture[str]) -> None:
    view = LiveView()
    view.tell(StreamResponse.from_dict({"task": task("WORKING", says="[red]tag :heart: x[/red]")}))
    view.close()

    assert "  [red]tag :heart: x[/red]\n" in capsys.readouterr().out


@pytest.mark.parametrize(("flag", "word"), [("--allow", "allow_once"), ("--deny", "deny")])
def test_a_permission_is_decided_as_the_question_wants_it(caller: Caller, flag: str, word: str) -> None:
    caller.answers(answered(asking()), COMPLETED)

    assert caller.run("call", URL, "--task", TASK, flag).exit_code == 0
    assert caller.said["taskId"] == TASK
    assert caller.said["parts"] == [
        {
            "data": {
                "schemaVersion": 1,
                "kind": "permission",
                "taskId": TASK,
                "inputId": "q-1",
                "decision": word,
            }
        }
    ]


def test_where_nothing_is_asked_nothing_is_decided(caller: Caller) -> None:
    caller.answers(answered(task("INPUT_REQUIRED", says="A photo?")))

    ended = caller.run("call", URL, "--task", TASK, "--allow")

    assert (ended.exit_code, ended.stderr) == (3, f"error: task {TASK} asks for no permission\n")


def test_a_message_holds_what_was_typed_and_given(caller: Caller, tmp_path: Path) -> None:
    (tmp_path / "photo.png").write_bytes(b"png")
    (tmp_path / "more.json").write_text('["x"]')

    caller.run(
        *("call", URL, "-", "--file", "photo.png", "--data", '{"a": 1}', "--data", "@more.json"),
        *("--task", TASK, "--context", CONTEXT, "--skill", "greeting", "--message-id", "m-1"),
        *("--accept", "text/plain", "--accept", "image/png"),
        given="Grüße\n".encode(),
    )

    assert caller.said == {
        "messageId": "m-1",
        "role": "ROLE_USER",
        "taskId": TASK,
        "contextId": CONTEXT,
        "metadata": {"skill": "greeting"},
        "parts": [
            {"text": "Grüße"},
            {"data": {"a": 1}, "mediaType": "application/json"},
            {"data": ["x"], "mediaType": "application/json"},
            {"raw": "cG5n", "mediaType": "image/png", "filename": "photo.png"},
        ],
    }
    assert caller.paper.params()["configuration"] == {"acceptedOutputModes": ["text/plain", "image/png"]}


def test_a_message_may_be_a_file_alone(caller: Caller, tmp_path: Path) -> None:
    (tmp_path / "notes").write_bytes(b"?")

    assert caller.run("call", URL, "--file", "notes").exit_code == 0
    assert caller.said["parts"] == [
        {"raw": "Pw==", "mediaType": "application/octet-stream", "filename": "notes"}
    ]


def test_who_does_not_wait_is_told_which_task_it_is(caller: Caller) -> None:
    caller.answers(answered({"task": task("SUBMITTED")}))

    ended = caller.run("call", URL, "Hello", "--no-wait")

    assert (ended.exit_code, ended.stdout) == (0, "")
    assert ended.stderr.splitlines() == [
        f"task {TASK}: submitted",
        f"hint: a2a-serverless task subscribe {URL} {TASK}",
    ]
    assert caller.paper.params()["configuration"] == {"returnImmediately": True}


class Silent(httpx.AsyncByteStream):
    """An answer that stops after its first event and never ends."""

    def __init__(self, *pieces: bytes) -> None:
        self.pieces = pieces

    async def __aiter__(self) -> Any:
        import asyncio  # noqa: PLC0415

        for each in self.pieces:
            yield each
        await asyncio.Event().wait()


def test_who_has_waited_long_enough_is_told_how_to_go_on(caller: Caller) -> None:
    def begun(request: httpx.Request) -> httpx.Response:
        name = json.loads(request.content)["id"]
        frame = {"jsonrpc": "2.0", "id": name, "result": {"task": task("WORKING")}}
        stream = Silent(f"data: {json.dumps(frame)}\n\n".encode())
        return httpx.Response(200, headers={"Content-Type": "text/event-stream"}, stream=stream)

    caller.answers(begun)

    ended = caller.run("call", URL, "Hello", "--timeout", "0.3")

    assert ended.exit_code == 9
    assert ended.stderr.splitlines() == [
        "error: the task goes on after 0.3 s",
        f"hint: a2a-serverless task subscribe {URL} {TASK}",
    ]


class Interrupted(httpx.AsyncByteStream):
    """An answer that somebody interrupts after these events."""

    def __init__(self, *events: Any) -> None:
        self.events = events

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.frames = [{"jsonrpc": "2.0", "id": json.loads(request.content)["id"]}] * len(self.events)
        return httpx.Response(200, headers={"Content-Type": "text/event-stream"}, stream=self)

    async def __aiter__(self) -> Any:
        for frame, event in zip(self.frames, self.events, strict=True):
            yield f"data: {json.dumps({**frame, 'result': event})}\n\n".encode()
        raise KeyboardInterrupt


def test_a_task_that_could_not_be_canceled_on_ctrl_c_is_said_to_go_on(caller: Caller) -> None:
    caller.answers(
        Interrupted({"task": task("WORKING")}),
        lambda request: rpc_error(request, {"code": -32002, "message": "Task cannot be canceled"}),
    )

    ended = caller.run("call", URL, "Hello", "--cancel-on-interrupt")

    assert ended.exit_code == 130
    assert ended.stderr.splitlines() == [
        f"interrupted: task {TASK} may go on: Task cannot be canceled",
        f"hint: a2a-serverless task subscribe {URL} {TASK}",
    ]


def test_a_task_that_waits_is_said_to_wait_on_ctrl_c(caller: Caller) -> None:
    caller.answers(Interrupted({"task": task("WORKING")}, status("AUTH_REQUIRED", "Sign in.")))

    ended = caller.run("task", "subscribe", URL, TASK, "--until-ended")

    assert ended.exit_code == 130
    assert ended.stderr.splitlines() == [
        f"interrupted: task {TASK} waits",
        f'hint: a2a-serverless call {URL} --task {TASK} "…"',
    ]


def test_how_to_go_on_means_the_same_agent_and_the_same_task(caller: Caller) -> None:
    Path("mine.toml").write_text("", encoding="utf-8")
    caller.answers(streamed({"task": {**task("INPUT_REQUIRED"), "id": "; reboot"}}))

    ended = caller.run("call", URL, "Hello", "--tenant", "acme", "--config", "mine.toml")

    hint = ended.stderr.splitlines()[1]
    assert (
        hint == f"""hint: a2a-serverless call {URL} --tenant acme --config mine.toml --task '; reboot' "…\""""
    )


def test_how_to_go_on_names_the_route_whose_credentials_were_shown(caller: Caller) -> None:
    route = f'[[routes]]\nname = "paper"\nurl = "{URL}"\ntoken = "hunter2"'
    Path("a2a-serverless.toml").write_text(route, encoding="utf-8")
    caller.answers(answered({"task": task("SUBMITTED")}))

    ended = caller.run("call", "--route-name", "paper", "Hello", "--no-wait")

    line = ended.stderr.splitlines()[1].removeprefix("hint: ")
    assert line == f"a2a-serverless task subscribe --route-name paper {TASK}"
    caller.answers(answered(task("COMPLETED")))
    assert caller.run(*line.replace("subscribe", "get").split()[1:]).exit_code == 0
    assert caller.paper.asked[-1].headers["Authorization"] == "Bearer hunter2"


def test_who_has_heard_nothing_can_say_it_again_as_the_same(caller: Caller) -> None:
    caller.answers(
        lambda _: httpx.Response(200, headers={"Content-Type": "text/event-stream"}, stream=Silent())
    )

    ended = caller.run("call", URL, "Hello", "--timeout", "0.2", "--message-id", "m-7")

    assert ended.exit_code == 9
    assert ended.stderr.splitlines() == [
        f"error: {URL} has not answered in 0.2 s",
        "hint: sent again with --message-id m-7 it counts once",
    ]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("call",), "TEXT is missing"),
        (("call", URL), "TEXT is missing"),
        (("call", URL, " "), "there is nothing to say"),
        (("call", "agent.example", "Hello"), "'Hello' is one word too many"),
        (("call", URL, "Hello", "you"), "'you' is one word too many"),
        (("call", "Hello"), "say which agent"),
        (("call", URL, "--data", "{"), "--data is not JSON"),
        (("call", URL, "x", "--allow"), "--allow and --deny decide for a --task"),
        (("call", URL, "x", "--stream", "--no-wait"), "--stream shows what --no-wait does not wait for"),
        (("call", "https://me:hunter2@agent.example", "x"), "the address holds credentials"),
        (("call", URL, "x", "--route-name", "orders"), "give either a URL or --route-name"),
        (("call", URL, "x", "--header", "X-Key"), "a header is written as --header NAME:VALUE"),
        (("call", URL, "x", "--basic-username", "me"), "needs both a name and a password"),
        (("call", URL, "x", "--token", "hünter2"), "the token has characters that no header can hold"),
        (
            ("call", URL, "x", "--header", "Content-Length:5"),
            "the header Content-Length is not for who calls",
        ),
        (
            ("call", URL, "x", "--extension", "urn:ü:v1"),
            "the extension has characters that no header can hold",
        ),
        (("call", URL, "x", "--extension", "a\nb"), "the extension has characters that no header can hold"),
        (
            ("task", "subscribe", URL, TASK, "--last-event-id", "\x01"),
            "the event's id has characters that no",
        ),
        (("call", URL, "x", "--require-signature"), "a signature is required, and nobody is trusted"),
    ],
)
def test_what_makes_no_sense_is_one_line_and_asks_nobody(
    caller: Caller, arguments: tuple[str, ...], words: str
) -> None:
    ended = caller.run(*arguments)

    assert (ended.exit_code, ended.stdout) == (2, "")
    assert ended.stderr.startswith("error: ")
    assert words in ended.stderr.splitlines()[0]
    assert "hunter2" not in ended.output
    assert caller.paper.asked == []


@pytest.mark.parametrize(
    ("answer", "exit_status", "line"),
    [
        (lambda _: httpx.Response(401), 5, "error: Authentication is required"),
        (lambda _: httpx.Response(403), 5, "error: Permission denied"),
        (
            lambda request: rpc_error(request, {"code": -32001, "message": "Task not found"}),
            3,
            "error: Task not found",
        ),
        (
            lambda request: rpc_error(
                request,
                {
                    "code": -32602,
                    "message": "Invalid parameters",
                    "data": [
                        {
                            "@type": "type.googleapis.com/google.rpc.BadRequest",
                            "fieldViolations": [{"field": "message.parts", "description": "is required"}],
                        }
                    ],
                },
            ),
            1,
            "error: Invalid parameters: message.parts is required",
        ),
        (lambda _: httpx.Response(200, text="<html>"), 1, f"error: {URL}: the answer (status 200) is not"),
    ],
)
def test_what_the_agent_says_against_it_is_one_line(
    caller: Caller, answer: Any, exit_status: int, line: str
) -> None:
    caller.answers(answer)

    ended = caller.run("call", URL, "Hello")

    assert (ended.exit_code, ended.stdout) == (exit_status, "")
    assert ended.stderr.startswith(line)


def test_nothing_that_an_agent_says_can_do_something_to_the_terminal(caller: Caller) -> None:
    caller.answers(
        streamed({"task": task("SUBMITTED")}, piece("a", "\x1b[2J\r\n\tfine"), status("COMPLETED"))
    )

    assert caller.run("call", URL, "Hello").stdout == "\\x1b[2J\\x0d\n    fine\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("x\udcff",), "word 3 of the command line is no text in UTF-8"),
        (("x", "--data", "NaN"), "--data holds a number that is not finite"),
        (("x", "--data", "1e999"), "--data holds a number that is not finite"),
        (("x", "--basic-username", "a:b", "--basic-password", "c"), "holds no colon"),
        (("x", "--header", "a b: c"), "'a b' is no name of a header"),
        (("x", "--timeout", "nan"), "Invalid value for '--timeout'"),
    ],
)
def test_what_could_not_be_sent_is_refused(caller: Caller, arguments: tuple[str, ...], words: str) -> None:
    ended = caller.run("call", URL, *arguments)

    assert (ended.exit_code, ended.stdout, caller.paper.asked) == (2, "", [])
    assert words in ended.stderr


@pytest.mark.parametrize("url", ["http://[::1", "https://", "https://agent.example:99999", "https://:80"])
def test_an_address_that_is_none_is_refused(caller: Caller, url: str) -> None:
    assert caller.run("call", url, "x").exit_code == 2
    assert caller.run("card", "lint", url).exit_code == 2
