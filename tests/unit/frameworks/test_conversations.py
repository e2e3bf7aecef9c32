"""What every bridge remembers, asks and says, on a framework of ten lines."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest

from a2a_serverless.agent import (
    Agent,
    Artifact,
    ArtifactChunk,
    Failed,
    InputRequired,
    MemoryWorkspace,
    Part,
    Permission,
    Turn,
    Update,
    WorkspaceFullError,
)
from a2a_serverless.agent.rehearsal import TaskState, rehearse
from a2a_serverless.frameworks.conversations import bridged
from a2a_serverless.frameworks.keeping import FOLDER, LONG, bring_back, put_away
from a2a_serverless.frameworks.messages import Response, given, plain
from a2a_serverless.frameworks.runs import (
    Earlier,
    NotDoneError,
    Over,
    Question,
    Stopped,
)
from a2a_serverless.protocol.objects import Task, TaskStatus
from tests.unit.frameworks.callers import Host, chunks_of, text_of, turn, updates_of

Step = Update | Stopped | Over


def echoing(*questions: Question, remembers: int = 10_000, **kept: Any) -> Agent:
    """A framework that asks its questions, then says what it remembers and what was answered."""

    async def run(turn: Turn, earlier: Earlier, response: Response) -> AsyncGenerator[Step, None]:
        if earlier.stopped is None:
            messages = [*earlier.messages, {"user": str((await given(turn))[0])}]
            if questions:
                yield Stopped({"messages": messages, **kept}, questions)
                return
        else:
            messages = earlier.stopped["messages"]
        heard = [message["user"][:9] for message in messages if "user" in message]
        said = ", ".join([*heard, *map(json.dumps, earlier.answers.values())])
        for chunk in response.text(said):
            yield chunk
        yield Over([*messages, {"agent": said}], lambda message: "user" in message, earlier.rest)

    return bridged(run, failures={}, memory="memory", remembers=remembers)


def exchanges(happened: Any) -> list[Any]:
    return list(happened.saved["memory"]["exchanges"])


def test_what_is_too_much_loses_whole_exchanges_oldest_first() -> None:
    happened = rehearse(echoing(remembers=3_000), *(letter * 500 for letter in "abcdefgh"))

    assert [exchange[0]["user"][0] for exchange in exchanges(happened)] == list("defgh")
    assert all(len(exchange) == 2 for exchange in exchanges(happened))
    assert text_of(happened).startswith("ccccccccc, ddddddddd")


def test_one_exchange_that_is_too_much_is_forgotten_at_once() -> None:
    happened = rehearse(echoing(remembers=500), "a", "b" * 600, "c")

    assert text_of(happened) == "c"


def test_long_strings_are_files_and_go_with_the_exchange_that_had_them() -> None:
    happened = rehearse(echoing(remembers=700), "a" * LONG, "b")
    assert [name.startswith(FOLDER) for name in happened.files] == [True]
    assert text_of(happened) == "aaaaaaaaa, b"

    longer = rehearse(echoing(remembers=700), "a" * LONG, *(letter * 200 for letter in "bcd"))
    assert longer.files == {}


def test_the_same_string_is_one_file() -> None:
    assert len(rehearse(echoing(), "a" * LONG, "a" * LONG).files) == 1


def test_an_exchange_whose_file_is_gone_is_left_out() -> None:
    workspace = MemoryWorkspace()
    state: dict[str, Any] = {}
    served = echoing()
    for text in ("a" * LONG, "b"):
        updates_of(served, turn(text, state=state, workspace=workspace))
    workspace.files.clear()

    assert "".join(chunks_of(updates_of(served, turn("c", state=state, workspace=workspace)))) == "b, c"


def test_files_are_text_whatever_characters_they_have() -> None:
    async def there_and_back() -> Any:
        workspace = MemoryWorkspace()
        kept = await put_away(workspace, {"a": ["\ud800é" * LONG, 1, None, ("b",)]})
        return kept, await bring_back(workspace, kept)

    kept, back = asyncio.run(there_and_back())
    assert len(json.dumps(kept)) < 200
    assert back == {"a": ["\ud800é" * LONG, 1, None, ["b"]]}


ASK = Question("where", "Where to?", {"choices": ["Rome"]})


def test_a_question_is_asked_with_its_data_and_answered_in_words_or_json() -> None:
    happened = rehearse(echoing(ASK, Question("when", "When?")), "Send", "Rome", Part(data=[1, 2]))

    assert happened.turns[0].updates == (InputRequired("Where to?", [Part(data={"choices": ["Rome"]})]),)
    assert text_of(happened) == 'Send, "Rome", [1, 2]'


def test_permissions_that_are_decided_at_once_hold_nobody_up() -> None:
    permission = Question("may", permission=Permission("pay", "Pay?", arguments={"amount": 3}))
    host = Host(allows=True)
    updates = updates_of(echoing(permission), turn("Pay", host=host))

    assert host.asked == [Permission("pay", "Pay?", arguments={"amount": 3})]
    assert "".join(chunks_of(updates)) == "Pay, true"


def test_another_task_of_the_conversation_leaves_the_one_that_waits_alone() -> None:
    state: dict[str, Any] = {}

    def say(agent: Agent, text: str, task_id: str) -> str:
        return "".join(chunks_of(updates_of(agent, turn(text, state=state, task_id=task_id))))

    assert say(echoing(), "one", "t1") == "one"
    assert say(echoing(ASK), "two", "t2") == ""
    assert say(echoing(), "three", "t3") == "one, three"
    assert say(echoing(ASK), "Rome", "t2") == 'one, two, "Rome"'

    # What was said meanwhile is not lost, and what was asked is no longer waited for.
    assert say(echoing(), "four", "t4") == "one, three, two, four"
    assert state["memory"]["waiting"] == {}


def test_a_run_whose_task_was_cancelled_waits_no_longer() -> None:
    state: dict[str, Any] = {}
    for name in ("t1", "t2"):
        updates_of(echoing(ASK), turn("Send", state=state, task_id=name))
    earlier = [
        Task(id="t1", status=TaskStatus(state=TaskState.CANCELED)),
        Task(id="t2", status=TaskStatus(state=TaskState.INPUT_REQUIRED)),
    ]
    updates_of(echoing(), turn("Go", state=state, task_id="t3", earlier_tasks=earlier))

    assert list(state["memory"]["waiting"]) == ["t2"]


def test_few_runs_wait_and_the_oldest_is_forgotten() -> None:
    state: dict[str, Any] = {}
    for number in range(6):
        updates_of(echoing(ASK), turn("Send", state=state, task_id=f"t{number}"))

    assert list(state["memory"]["waiting"]) == ["t2", "t3", "t4", "t5"]


def test_a_run_that_is_too_big_to_wait_fails_and_is_forgotten() -> None:
    happened = rehearse(echoing(ASK, remembers=2_000, run="x" * 3_000), "Send")

    assert happened.state is TaskState.FAILED
    assert happened.text == "The agent has a question, but too much to remember until it is answered."
    assert happened.saved["memory"]["waiting"] == {}


def test_older_exchanges_make_room_for_a_run_that_waits() -> None:
    state: dict[str, Any] = {}
    for letter in "ab":
        updates_of(echoing(), turn(letter * 500, state=state))
    updates_of(echoing(ASK, remembers=2_500, run="x" * 500), turn("c", state=state))

    assert [exchange[0]["user"][0] for exchange in state["memory"]["exchanges"]] == ["b"]


class Full(MemoryWorkspace):
    """A workspace that takes nothing more."""

    async def write(self, *_: Any, **__: Any) -> Any:
        raise WorkspaceFullError


def test_what_the_workspace_has_no_room_for_is_not_remembered() -> None:
    state: dict[str, Any] = {}
    for text in ("a", "b" * LONG):
        updates_of(echoing(), turn(text, state=state, workspace=Full()))
    assert [exchange[0]["user"] for exchange in state["memory"]["exchanges"]] == ["a"]

    (failed,) = updates_of(echoing(ASK, run="x" * LONG), turn("c", state=state, workspace=Full()))
    assert isinstance(failed, Failed)
    assert failed.text == "The agent has a question, but too much to remember until it is answered."


def test_what_a_framework_keeps_besides_messages_is_forgotten_when_it_alone_is_too_much() -> None:
    rests: list[Any] = []

    async def run(_: Turn, earlier: Earlier, __: Response) -> AsyncGenerator[Step, None]:
        rests.append(earlier.rest)
        yield Over(
            [{"user": "a"}], lambda _: True, rest={"size": len(rests), "filled": "x" * 600 * len(rests)}
        )

    rehearse(bridged(run, failures={}, memory="memory", remembers=1_000), "a", "b", "c")

    assert [rest and rest["size"] for rest in rests] == [None, 1, None]


def test_a_run_whose_files_are_gone_says_so() -> None:
    workspace, state = MemoryWorkspace(), dict[str, Any]()
    served = echoing(ASK, run="x" * LONG)
    updates_of(served, turn("Send", state=state, workspace=workspace))
    workspace.files.clear()
    (failed,) = updates_of(served, turn("Rome", state=state, workspace=workspace))

    assert failed.text == "What the agent had begun is lost. Please start again."  # type: ignore[union-attr]
    assert state["memory"]["waiting"] == {}


def test_a_run_that_ends_without_an_answer_is_not_remembered() -> None:
    async def run(_: Turn, __: Earlier, ___: Response) -> AsyncGenerator[Step, None]:
        raise NotDoneError("No.")
        yield

    happened = rehearse(bridged(run, failures={}, memory="memory"), "Go")

    assert (happened.state, happened.text) == (TaskState.FAILED, "No.")
    assert happened.saved["memory"]["exchanges"] == []


def test_text_goes_on_in_the_artifact_of_an_earlier_turn_as_a_paragraph_of_its_own() -> None:
    before = Artifact(artifact_id="response", parts=(Part(text="Before."),))
    response = Response(turn("Go", artifacts=[before]))
    chunks = [*response.text(""), *response.text("After"), *response.text("."), *response.end()]

    assert chunks == [
        ArtifactChunk("response", "\n\nAfter", append=True),
        ArtifactChunk("response", "."),
        ArtifactChunk("response", last_chunk=True),
    ]


@pytest.mark.parametrize(
    ("part", "read"),
    [
        (Part(text="a"), "a"),
        (Part(data=None), "null"),
        (Part(data={"ü": 1}), '{"ü": 1}'),
        (Part(raw="ü".encode(), media_type="text/plain; charset=utf-8"), "file-1:\nü"),
        (Part(raw=b"{}", filename="a.json"), "a.json:\n{}"),
        (Part(raw=b"<a/>", media_type="image/svg+xml"), "file-1:\n<a/>"),
    ],
)
def test_text_and_json_are_text_for_a_model(part: Part, read: str) -> None:
    assert asyncio.run(given(turn(part))) == [read]


def test_bytes_that_are_no_text_are_a_file() -> None:
    (file,) = asyncio.run(given(turn(Part(raw=b"\xff", filename="notes.txt"))))

    assert not isinstance(file, str)
    assert (file.name, file.media_type, file.content) == ("notes.txt", "text/plain", b"\xff")


def something() -> None: ...


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ({1: b"a"}, {"1": "YQ=="}),
        (float("nan"), "NaN"),
        (ValueError("odd"), "odd"),
        ([something], [str(something)]),
    ],
)
def test_whatever_tools_take_and_give_is_shown_as_json(value: Any, shown: Any) -> None:
    made: Callable[[Any], Any] = plain
    assert made(value) == shown
    json.dumps(made(value), allow_nan=False)
