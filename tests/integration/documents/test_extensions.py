"""What the documentation says of permissions, long turns and extensions is what happens."""

import json
import textwrap
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any

import pytest

import a2a_serverless.agent as api
from a2a_serverless.agent import (
    ArtifactFile,
    Part,
    Thinking,
    ToolCall,
    ToolResult,
    Turn,
    Update,
    Usage,
)
from a2a_serverless.operations.asides import (
    MOST_DEPTH,
    MOST_SAID,
    MOST_TEXT,
    PACE,
    REDACTED,
    STRIPPED,
    TOO_DEEP,
    TOO_LONG,
    Asides,
)
from a2a_serverless.operations.permissions import MOST_ASKED
from a2a_serverless.operations.waiting import TurnWaits
from a2a_serverless.ports import Policy
from a2a_serverless.protocol.extensions import Extension, PermissionMode
from a2a_serverless.protocol.objects import TaskState
from a2a_serverless.tasks.log import StatusChanged
from tests.integration.documents.fenced import ROOT, examples
from tests.unit.operations.permitted import answered, question
from tests.unit.operations.world import CALLER, World

DOCUMENT = "layers/core/a2a_serverless/operations/README.md"
TEXT = (ROOT / DOCUMENT).read_text(encoding="utf-8")
ASKS, REMEMBERS, *_ = examples(DOCUMENT, "python", after="## Permission")
(LOOKS,) = examples(DOCUMENT, "python", after="## Long turns")
QUESTION, ANSWER, AUTOMATIC = map(json.loads, examples(DOCUMENT, "json", after="## Permission"))


def shown(section: str) -> Any:
    return json.loads(examples(DOCUMENT, "json", after=section)[0])


def agent_of(code: str, **names: Any) -> Callable[[Turn], AsyncIterator[Update]]:
    """An agent whose body is an example, and which completes where the example ends."""
    body = textwrap.indent(code, "    ")
    source = f"async def agent(turn):\n{body}\n    yield Completed('done')\n"
    scope = {**vars(api), **names}
    exec(source, scope)  # noqa: S102  an example of our own
    made: Callable[[Turn], AsyncIterator[Update]] = scope["agent"]
    return made


@pytest.mark.parametrize(
    ("section", "extension", "said"),
    [
        (
            "### Tools",
            Extension.TOOLS,
            [
                ToolCall("1", "search"),
                ToolCall("1", "search", {"query": "shoes", "api_key": "hunter2"}),
                ToolResult("1", "search", ["red", "blue"]),
                ToolResult("2", "buy", error="sold out"),
            ],
        ),
        ("### Usage", Extension.USAGE, [Usage(10, 2, "a-model")]),
        ("### Thinking", Extension.THINKING, [Thinking("Shoes are nice.")]),
    ],
)
def test_each_shape_that_is_shown_is_told(section: str, extension: Extension, said: list[Any]) -> None:
    asides = Asides(frozenset(Extension))
    for update in said:
        asides.add(update)

    assert asides.tell() == {extension.uri: shown(section)}


def test_what_is_shown_of_artifacts_is_told() -> None:
    file = ArtifactFile("a", [b"hello world"], media_type="text/plain", filename="a.txt")

    async def agent(_: Turn) -> AsyncIterator[Update]:
        yield file

    world = World(agent=agent, policy=Policy(extensions=frozenset({Extension.ARTIFACTS})))
    caller = replace(CALLER, extensions=frozenset({Extension.ARTIFACTS.uri}))

    (artifact,) = world.get(world.said("m").id, caller=caller).artifacts

    assert artifact.parts[0].metadata[Extension.ARTIFACTS.uri] == shown("### Artifacts")


@pytest.mark.parametrize("extension", Extension)
def test_every_extension_is_in_the_table(extension: Extension) -> None:
    assert f"| `{extension.uri}` |" in TEXT


@pytest.mark.parametrize(
    "said",
    [
        f"at most {MOST_TEXT:,} characters",
        f"at most {MOST_DEPTH}\nlevels",
        f"{MOST_SAID:,} characters",
        f"`{TOO_DEEP}`",
        f"`{TOO_LONG}`",
        f"`{STRIPPED}`",
        f"`{REDACTED}`",
        f"at most {MOST_ASKED // 1024} KB",
    ],
)
def test_the_limits_are_those_that_are_kept(said: str) -> None:
    assert said in TEXT
    assert PACE == 0.25


def test_the_agent_that_is_shown_asks_what_is_shown_and_takes_the_answer_that_is_shown() -> None:
    world = World(agent=agent_of(ASKS))
    asked = world.said("m0", context_id="c")
    envelope = question(asked)

    assert envelope == {**QUESTION, "inputId": envelope["inputId"], "taskId": asked.id}
    assert envelope["inputId"].rpartition(".")[2] == QUESTION["inputId"].rpartition(".")[2]
    answer = {**ANSWER, "taskId": asked.id, "inputId": envelope["inputId"]}
    assert ANSWER["inputId"] == QUESTION["inputId"]
    assert answered(world, "m1", asked, Part(data=answer)).status.state is TaskState.COMPLETED


def test_a_deployment_that_decides_says_what_is_shown() -> None:
    world = World(agent=agent_of(ASKS), policy=Policy(permissions=PermissionMode.DENY))

    entries = world.entries(world.said("m").id)

    (said,) = [entry.metadata for entry in entries if isinstance(entry, StatusChanged)]
    assert said == {Extension.PERMISSIONS.uri: AUTOMATIC}


def test_the_loop_that_is_shown_asks_about_each_once() -> None:
    world = World(agent=agent_of(REMEMBERS, targets=("one", "two")))
    task = world.said("m0")
    for number in (1, 2):
        answer = {
            **ANSWER, "taskId": task.id, "inputId": question(task)["inputId"]
        }  # fmt: skip
        task = answered(world, f"m{number}", task, Part(data=answer))

    assert task.status.state is TaskState.COMPLETED


def test_the_turn_that_is_shown_waits_and_ends() -> None:
    found = iter([False, True])
    world = World(agent=agent_of(LOOKS, look=lambda: next(found)))
    task_id = world.send("m").id
    key = world.turn(task_id)

    for _ in range(4):  # a minute is two waits, and the example asks for one twice
        with pytest.raises(TurnWaits):
            world.invoke(key)
        world.clock.sleep(30)
    world.invoke(key)

    assert world.get(task_id).status.state is TaskState.COMPLETED
