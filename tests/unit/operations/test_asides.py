"""What tools and models do on the way: told to those who activated it, cut to size, and no turn's end."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any

import pytest

from a2a_serverless.agent import (
    ArtifactChunk,
    Completed,
    Part,
    Thinking,
    ToolCall,
    ToolResult,
    Usage,
    Working,
)
from a2a_serverless.operations.asides import MOST_NAME, PACE, TOO_LONG, Asides, Clip
from a2a_serverless.operations.streams import subscribe_to_task
from a2a_serverless.ports import Policy
from a2a_serverless.protocol.events import StreamResponse
from a2a_serverless.protocol.extensions import MOST_DEPTH, MOST_SAID, MOST_TEXT, Extension
from a2a_serverless.protocol.objects import TaskState
from a2a_serverless.protocol.requests import SubscribeToTaskRequest
from a2a_serverless.tasks.log import StatusChanged
from tests.unit.operations.world import CALLER, World, plays

TOOLS, USAGE, THINKING = (each.uri for each in (Extension.TOOLS, Extension.USAGE, Extension.THINKING))
EVERYTHING = frozenset(Extension)


@dataclass
class Stopwatch:
    """Time that passes when a test says so."""

    at: float = 100.0

    def __call__(self) -> float:
        return self.at


def told(*updates: Any, enabled: frozenset[Extension] = EVERYTHING) -> dict[str, Any]:
    """What is told of these updates together."""
    asides = Asides(enabled, Stopwatch())
    for update in updates:
        assert asides.wants(update)
        assert asides.add(update)
    return asides.tell()


def clipped(value: object) -> Any:
    return Clip().value(value)


# --- shapes --------------------------------------------------


def test_a_call_is_told_in_its_phases() -> None:
    calls = told(
        ToolCall("1", "search"),
        ToolCall("1", "search", {"query": "shoes"}),
        ToolResult("1", "search", ["red", "blue"]),
        ToolResult("2", "buy", error="sold out"),
    )

    assert calls == {
        TOOLS: {
            "calls": [
                {"callId": "1", "name": "search", "phase": "started"},
                {"callId": "1", "name": "search", "phase": "input", "input": {"query": "shoes"}},
                {"callId": "1", "name": "search", "phase": "completed", "output": ["red", "blue"]},
                {"callId": "2", "name": "buy", "phase": "failed", "error": "sold out"},
            ]
        }
    }


def test_a_call_without_arguments_has_its_input_and_one_without_an_answer_is_complete() -> None:
    calls = told(ToolCall("1", "now", {}), ToolResult("1", "now"))[TOOLS]["calls"]

    assert [call["phase"] for call in calls] == ["input", "completed"]
    assert (calls[0]["input"], calls[1]["output"]) == ({}, None)


def test_usage_is_added_up_and_thoughts_flow_together() -> None:
    assert told(Usage(10, 2, "m"), Thinking("One "), Usage(5, 1, "m"), Thinking("thought.")) == {
        USAGE: {"inputTokens": 15, "outputTokens": 3, "totalTokens": 18, "model": "m"},
        THINKING: {"text": "One thought."},
    }


def test_usage_of_another_model_is_told_apart() -> None:
    asides = Asides(EVERYTHING, Stopwatch())
    asides.add(Usage(1, 1, "m"))

    assert not asides.add(Usage(2, 2, "n"))
    assert asides.tell()[USAGE]["model"] == "m"
    assert asides.add(Usage(2, 2))
    assert asides.tell() == {USAGE: {"inputTokens": 2, "outputTokens": 2, "totalTokens": 4}}


def test_tokens_that_are_no_number_count_nothing() -> None:
    assert told(Usage(None, -1))[USAGE]["totalTokens"] == 0  # type: ignore[arg-type]


def test_thoughts_are_told_before_they_grow_too_long_and_one_too_long_is_cut() -> None:
    asides = Asides(EVERYTHING, Stopwatch())
    asides.add(Thinking("a" * MOST_TEXT))

    assert not asides.add(Thinking("b"))
    assert asides.tell() == {THINKING: {"text": "a" * MOST_TEXT}}
    assert asides.add(Thinking("b" * (MOST_TEXT + 1)))
    assert asides.tell() == {THINKING: {"text": "b" * MOST_TEXT, "truncated": True}}


def test_calls_that_say_much_are_told_one_by_one() -> None:
    asides = Asides(EVERYTHING, Stopwatch())
    long = {str(number): "\xe9" * MOST_TEXT for number in range(4)}

    assert asides.add(ToolCall("1", "t", long))
    assert not asides.add(ToolCall("2", "t", long))


@pytest.mark.parametrize(
    ("update", "extension"),
    [
        (ToolCall("1", "t"), Extension.TOOLS),
        (ToolResult("1", "t"), Extension.TOOLS),
        (Usage(1, 1), Extension.USAGE),
        (Thinking("hm"), Extension.THINKING),
    ],
)
def test_only_what_is_enabled_is_told(update: Any, extension: Extension) -> None:
    assert Asides(frozenset({extension})).wants(update)
    assert not Asides(EVERYTHING - {extension}).wants(update)


def test_the_first_is_due_at_once_and_later_ones_when_a_moment_has_passed() -> None:
    clock = Stopwatch()
    asides = Asides(EVERYTHING, clock)
    assert asides.due_in() == float("inf")
    asides.add(Thinking("a"))
    assert asides.due_in() <= 0

    asides.tell()
    asides.add(Thinking("b"))

    assert asides.due_in() == PACE
    clock.at += PACE
    assert asides.due_in() <= 0


def test_what_is_written_at_length_is_left_out() -> None:
    (call,) = told(ToolCall("1", "t", ["\x01" * MOST_TEXT] * 8))[TOOLS]["calls"]

    assert (call["input"], call["truncated"]) == (TOO_LONG, True)


def test_an_update_of_ones_own_kind_is_told_like_its_kind() -> None:
    class Search(ToolCall):
        pass

    assert told(Search("1", "search"))[TOOLS]["calls"][0]["phase"] == "started"


# --- what is not repeated --------------------------------------------------


def test_every_string_is_cut() -> None:
    clip = Clip()

    assert clip.value({"a": ["x" * (MOST_TEXT + 1)]}) == {"a": ["x" * MOST_TEXT]}
    assert clip.cut
    (call,) = told(ToolCall("1", "t", "x" * (MOST_TEXT + 1)))[TOOLS]["calls"]
    assert call["truncated"] is True


def test_what_is_too_deep_is_left_out() -> None:
    deep: Any = "bottom"
    for _ in range(MOST_DEPTH + 1):
        deep = [deep]
    clip = Clip()
    value: Any = clip.value(deep)
    for _ in range(MOST_DEPTH):
        (value,) = value

    assert value == "[truncated-depth]"
    assert clip.cut


def test_a_value_that_holds_itself_is_no_trouble() -> None:
    endless: list[Any] = []
    endless.append(endless)
    own: dict[str, Any] = {}
    own["me"] = own

    assert "[truncated-depth]" in str(clipped([endless, own]))


@pytest.mark.parametrize(
    "much", [["x" * 1000] * 1000, dict.fromkeys(map(str, range(100_000)), "y"), [0] * 10**6]
)
def test_what_is_too_long_is_left_out(much: Any) -> None:
    clip = Clip()

    said = str(clip.value(much))

    assert len(said) < 2 * MOST_SAID
    assert clip.cut


def test_bodies_are_not_repeated() -> None:
    output = {
        "artifact": {"filename": "a.png", "mediaType": "image/png", "content": "iVBOR", "path": "somewhere"},
        "artifacts": [{"name": "b", "text": "long"}],
        "page": {"content": "kept", "raw": "cut", "base64": "cut"},
        "image": b"\x00\x01",
    }

    assert clipped(output) == {
        "artifact": {
            "filename": "a.png", "mediaType": "image/png", "content": "[stripped]", "path": "[stripped]"
        },
        "artifacts": [{"name": "b", "text": "[stripped]"}],
        "page": {"content": "kept", "raw": "[stripped]", "base64": "[stripped]"},
        "image": "[2 bytes]",
    }  # fmt: skip


@pytest.mark.parametrize(
    "name",
    ["password", "db_password", "SecretAccessKey", "api-key", "X-Api-Key", "Authorization", "accessToken",
     "client_secret", "credentials"],
)  # fmt: skip
def test_what_looks_like_a_secret_is_not_repeated(name: str) -> None:
    assert clipped({name: "hunter2"}) == {name: "[redacted]"}
    assert clipped([{name: {"deep": "hunter2"}}]) == [{name: "[redacted]"}]


def test_numbers_of_tokens_are_no_secrets() -> None:
    given = {"max_tokens": 100, "inputTokens": 7, "token": 3}

    assert clipped(given) == given


class Colour(Enum):
    RED = "red"


@dataclass
class Found:
    name: str
    price: Decimal


class Odd:
    pass


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (None, None),
        (True, True),
        (3, 3),
        (2**53 + 1, "[54 bits]"),
        (10**4000, "[13288 bits]"),
        (1.5, 1.5),
        (float("nan"), "nan"),
        (float("inf"), "inf"),
        ("lone \ud800", "lone ?"),
        ({1: 2}, {"1": 2}),
        ((1, 2), [1, 2]),
        ({"x"}, ["x"]),
        (Colour.RED, "Colour.RED"),
        (datetime(2026, 1, 1, tzinfo=UTC), "2026-01-01 00:00:00+00:00"),
        (Found("shoe", Decimal("9.5")), {"name": "shoe", "price": "9.5"}),
        (Odd(), "[Odd]"),
        (Odd, "[type]"),
    ],
)
def test_whatever_a_tool_gives_becomes_json(value: object, said: object) -> None:
    assert clipped(value) == said
    StatusChanged(turn=1, status={"state": TaskState.WORKING}, metadata={"x": said})  # type: ignore[arg-type]


class Unspeakable:
    """Says nothing of itself."""

    def __str__(self) -> str:
        raise LookupError


class Detached(Mapping[str, int]):
    """Names what it has lost."""

    def __getitem__(self, name: str) -> int:
        raise LookupError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(["a"])

    def __len__(self) -> int:
        return 1


def test_what_cannot_be_looked_at_is_said_to_be_so() -> None:
    nothing: Any = Unspeakable()

    said = told(
        ToolCall(nothing, "t", {nothing: 1}),
        ToolResult("1", nothing, Detached()),
        ToolResult("1", "t", error=nothing),
        Thinking(nothing),
        Usage(1, 2, model=nothing),
    )

    assert said[TOOLS]["calls"] == [
        {"callId": "[unreadable]", "name": "t", "phase": "input", "input": {"[unreadable]": 1}},
        {"callId": "1", "name": "[unreadable]", "phase": "completed", "output": "[unreadable]"},
        {"callId": "1", "name": "t", "phase": "failed", "error": "[unreadable]"},
    ]
    assert said[THINKING] == {"text": "[unreadable]"}
    assert said[USAGE]["model"] == "[unreadable]"


def test_a_model_is_told_by_its_members() -> None:
    assert clipped(Part(text="hello"))["text"] == "hello"


def test_names_are_cut_too() -> None:
    (call,) = told(ToolCall("i" * 1000, "n" * 1000))[TOOLS]["calls"]

    assert (len(call["callId"]), len(call["name"])) == (MOST_NAME, MOST_NAME)


# --- in a turn --------------------------------------------------


def world(*enabled: Extension) -> World:
    return World(policy=Policy(extensions=frozenset(enabled), snapshot_settled=10**6))


def streamed(world: World, task_id: str, *activated: Extension) -> list[StreamResponse]:
    """What a stream that began before the turn shows to who activated these extensions."""
    caller = replace(CALLER, extensions=frozenset(each.uri for each in activated))
    until = world.clock.now() + timedelta(hours=1)
    frames = subscribe_to_task(world.ports, caller, SubscribeToTaskRequest(id=task_id), until, "1")
    return [frame.response for frame in frames if frame is not None]


def updates(frames: list[StreamResponse]) -> list[tuple[TaskState, Mapping[str, Any]]]:
    return [
        (frame.status_update.status.state, frame.status_update.metadata)
        for frame in frames
        if frame.status_update is not None
    ]


SAYS = (
    Working("Looking"),
    ToolCall("1", "find", {"what": "shoes"}),
    ArtifactChunk("a", "text"),
    Thinking("hm"),
    Completed("done"),
)


def test_what_is_not_enabled_leaves_no_event_and_costs_no_write() -> None:
    quiet, told_of = world(), world()
    quiet.agent, told_of.agent = plays(*SAYS), plays(SAYS[0], SAYS[2], SAYS[4])

    entries = quiet.entries(quiet.said("m").id), told_of.entries(told_of.said("m").id)

    assert [entry.kind for entry in entries[0]] == [entry.kind for entry in entries[1]]


def test_what_was_said_keeps_its_place_among_the_rest() -> None:
    talking = world(Extension.TOOLS, Extension.THINKING)
    talking.agent = plays(*SAYS)

    kinds = [
        (entry.kind, list(entry.metadata) if isinstance(entry, StatusChanged) else [])
        for entry in talking.entries(talking.said("m").id)
    ]

    assert kinds == [
        ("message", []),
        ("start", []),
        ("status", []),
        ("status", [TOOLS]),
        ("artifact", []),
        ("status", [THINKING]),
        ("settled", []),
    ]


def test_it_is_shown_to_those_who_activated_it_and_to_nobody_else() -> None:
    talking = world(Extension.TOOLS, Extension.THINKING)
    talking.agent = plays(*SAYS)
    task = talking.said("m")

    call = {"callId": "1", "name": "find", "phase": "input", "input": {"what": "shoes"}}
    plain = [(TaskState.WORKING, {}), (TaskState.WORKING, {}), (TaskState.COMPLETED, {})]
    assert updates(streamed(talking, task.id)) == plain
    shown = updates(streamed(talking, task.id, Extension.TOOLS))
    assert shown[2] == (TaskState.WORKING, {TOOLS: {"calls": [call]}})
    assert len(shown) == 4
    assert len(updates(streamed(talking, task.id, Extension.TOOLS, Extension.THINKING))) == 5


def test_it_changes_neither_the_status_nor_the_history_and_no_webhook_hears_of_it() -> None:
    talking = world(Extension.TOOLS)

    talking.agent = plays(Working("Looking"), ToolCall("1", "find"), ArtifactChunk("a", "text"))
    task = talking.said("m")
    key = CALLER.task(task.id)

    before, after = (talking.ports.tasks.load_up_to(key, position) for position in (3, 4))
    assert after.status == before.status
    assert after.status is not None
    assert after.status.message is not None
    assert [message.message_id for message in task.history] == ["m"]
    asides = [event for event in talking.tasks.log(key) if event.entry.kind == "status"]
    assert [event.pushes for event in asides] == ["progress", None]
