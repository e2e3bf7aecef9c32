"""Big content: put away before it is logged, brought back or addressed when a task is shown."""

import hashlib
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import unquote

import pytest

from a2a_serverless.agent import ArtifactChunk, InputRequired, Turn, Update
from a2a_serverless.operations.contents import stow
from a2a_serverless.operations.read import list_tasks
from a2a_serverless.operations.serving import Served, find_content
from a2a_serverless.operations.streams import send_streaming_message
from a2a_serverless.ports import Caller, Policy
from a2a_serverless.protocol.errors import TaskNotFoundError
from a2a_serverless.protocol.objects import Message, Part, Task
from a2a_serverless.protocol.requests import ListTasksRequest
from tests.unit.operations.world import BOB, CALLER, ELSEWHERE, World, asking, message, plays

KB = 1024
LOGGED, INLINE = 64 * KB, 256 * KB


def text_of(size: int) -> Part:
    return Part(text="é" * (size // 2) + "x" * (size % 2), media_type="text/markdown", filename="å.md")


def raw_of(size: int) -> Part:
    return Part(raw=bytes(range(256)) * (size // 256) + b"\xff" * (size % 256), metadata={"k": [1, None]})


def data_of(size: int) -> Part:
    return Part(data={"k": "é" + "x" * (size - 10)}, filename="d.json")


KINDS = {"text": text_of, "raw": raw_of, "data": data_of}
TYPES = {"text": "text/markdown", "raw": "application/octet-stream", "data": "application/json"}


def bytes_of(part: Part) -> bytes:
    if part.text is not None:
        return part.text.encode()
    if part.raw is not None:
        return part.raw
    return json.dumps(part.data, ensure_ascii=False, separators=(",", ":")).encode()


def served(world: World, url: str | None, caller: Caller = CALLER) -> Served:
    """What the artifacts route answers for an address that a task was shown with."""
    tenant = f"/{caller.tenant}" if caller.tenant else ""
    route = f"{caller.base_url}{tenant}/artifacts/"
    assert url is not None
    assert url.startswith(route)
    task_id, *place = map(unquote, url.removeprefix(route).split("/"))
    return find_content(world.ports, caller, task_id, place)


def content_of(world: World, found: Served) -> bytes:
    """All of its bytes."""
    return b"".join(found.pieces(world.contents, 0, found.byte_size - 1))


def sent(world: World, said: Message, caller: Caller = CALLER) -> Task:
    answered = world.answer(asking(said), caller)
    assert answered.task is not None
    return answered.task


@pytest.mark.parametrize("kind", KINDS)
def test_the_sizes_are_what_these_tests_think(kind: str) -> None:
    assert [len(bytes_of(KINDS[kind](size))) for size in (LOGGED, LOGGED + 1, INLINE + 1)] == [
        LOGGED,
        LOGGED + 1,
        INLINE + 1,
    ]


# --- what is put away -------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("size", "away"), [(LOGGED, 0), (LOGGED + 1, 1), (INLINE, 1), (INLINE + 1, 1)])
def test_content_above_64_kb_is_not_in_the_log(kind: str, size: int, away: int) -> None:
    world, part = World(), KINDS[kind](size)

    task = sent(world, message("m", part))

    assert len(world.contents.stored) == away
    for content, media_type in world.contents.stored.values():
        assert (content, media_type) == (bytes_of(part), TYPES[kind])
    assert all(len(entry.to_json()) < 2 * LOGGED for entry in world.entries(task.id))


def test_of_many_parts_the_biggest_are_put_away_until_the_rest_fits() -> None:
    world = World()
    parts = [Part(text=letter * size * KB) for letter, size in (("a", 10), ("b", 40), ("c", 30), ("d", 20))]

    kept = stow(world.ports, parts, "place", "me")

    assert [part.which() for part in kept] == ["text", "stored", "text", "text"]
    assert list(world.contents.stored) == ["place/1-me"]


def test_two_writers_of_one_position_never_share_an_object() -> None:
    world = World()

    for writer, text in (("one", "a"), ("two", "b")):
        stow(world.ports, [Part(text=text * 2 * LOGGED)], "place", writer)

    assert {key: content[:1] for key, (content, _) in world.contents.stored.items()} == {
        "place/0-one": b"a",
        "place/0-two": b"b",
    }


def test_an_address_is_kept_as_it_is() -> None:
    part = Part(url="https://example.com/x", media_type="image/png", filename="x.png")
    world = World(agent=plays(ArtifactChunk("a", parts=[part])))

    task = world.said("m")

    assert task.artifacts[0].parts == (part,)


# --- how it is shown -------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [10, LOGGED, LOGGED + 1, INLINE])
def test_content_up_to_256_kb_is_shown_as_it_came(kind: str, size: int) -> None:
    world, part = World(), KINDS[kind](size)

    task = sent(world, message("m", part))

    assert task.history[0].parts == (part,)
    assert world.get(task.id).history[0].parts == (part,)


@pytest.mark.parametrize("kind", KINDS)
def test_content_above_256_kb_is_shown_as_an_address_with_its_description(kind: str) -> None:
    world, part = World(), KINDS[kind](INLINE + 1)

    task = sent(world, message("m", Part(text="see"), part))

    shown = task.history[0].parts[1]
    assert shown == Part(
        url=f"https://agent.example/artifacts/{task.id}/history/0/1",
        media_type=TYPES[kind],
        filename=part.filename,
        metadata={
            **part.metadata,
            "byteSize": INLINE + 1,
            "sha256": hashlib.sha256(bytes_of(part)).hexdigest(),
        },
    )
    [key] = world.contents.stored
    assert served(world, shown.url) == Served(
        byte_size=INLINE + 1,
        sha256=hashlib.sha256(bytes_of(part)).hexdigest(),
        media_type=TYPES[kind],
        filename=part.filename,
        expires=datetime.fromtimestamp(world.load(task.id).expires, UTC),
        key=key,
    )
    assert content_of(world, served(world, shown.url)) == bytes_of(part)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("artifact_id", ["report", "history", "status", "a:b.c_d-e"])
def test_a_big_artifact_is_served_to_whoever_owns_its_task(kind: str, artifact_id: str) -> None:
    part = KINDS[kind](INLINE + 1)
    world = World(agent=plays(ArtifactChunk(artifact_id, "first"), ArtifactChunk(artifact_id, parts=[part])))

    task = world.said("m")

    small, big = task.artifacts[0].parts
    assert small == Part(text="first")
    assert content_of(world, served(world, big.url)) == bytes_of(part)


def test_every_message_of_a_history_is_served_from_the_address_it_is_shown_with() -> None:
    world = World()
    first, second = Part(text="a" * (INLINE + 1)), Part(text="b" * (INLINE + 1))
    asked = world.said("m0", "ask")
    asked = sent(world, message("m1", Part(text="ask again"), first, task_id=asked.id))
    world.run_turns()
    sent(world, message("m2", second, task_id=asked.id))

    for length in (None, 3, 1):
        shown = world.get(asked.id, history_length=length).history
        (big,) = shown[-1].parts
        assert content_of(world, served(world, big.url)) == b"b" * (INLINE + 1)
    before = world.get(asked.id, history_length=3).history[0].parts[1]
    assert content_of(world, served(world, before.url)) == b"a" * (INLINE + 1)


def test_a_cut_history_is_served_from_the_same_addresses_by_every_operation() -> None:
    world = World()
    big = Part(text="b" * (INLINE + 1))
    asked = world.said("m0", "ask")

    answered = world.answer(asking(message("m1", big, task_id=asked.id), history_length=1)).task
    listed = list_tasks(world.ports, CALLER, ListTasksRequest(history_length=1)).tasks

    assert answered is not None
    for shown in (answered, *listed):
        (said,) = shown.history
        assert said.message_id == "m1"
        assert content_of(world, served(world, said.parts[0].url)) == b"b" * (INLINE + 1)


def test_what_a_tenants_caller_is_shown_lies_below_the_tenant() -> None:
    world = World()

    task = sent(world, message("m", text_of(INLINE + 1)), ELSEWHERE)

    url = task.history[0].parts[0].url
    assert url == f"https://agent.example/elsewhere/artifacts/{task.id}/history/0/0"
    assert served(world, url, ELSEWHERE).byte_size == INLINE + 1


def test_a_question_above_64_kb_is_shown_and_then_part_of_the_history() -> None:
    world = World(agent=plays(InputRequired("q" * INLINE)))

    asked = world.said("m0")
    world.send("m1", task_id=asked.id)

    assert asked.status.message is not None
    assert asked.status.message.parts == (Part(text="q" * INLINE),)
    assert world.get(asked.id).history[1].parts == (Part(text="q" * INLINE),)
    assert len(world.contents.stored) == 1


def test_a_status_that_a_smaller_limit_no_longer_inlines_is_served() -> None:
    world = World(agent=plays(InputRequired("q" * 1000)))
    asked = world.said("m0")
    world.ports = replace(world.ports, policy=Policy(inline_limit=999))

    status = world.get(asked.id).status

    assert status.message is not None
    assert content_of(world, served(world, status.message.parts[0].url)) == b"q" * 1000


def test_streamed_text_that_grew_big_is_put_away_when_its_turn_ends_and_served_from_there() -> None:
    pieces = [ArtifactChunk("a", "x" * 60 * KB) for _ in range(5)]
    world = World(agent=plays(*pieces))

    (part,) = world.said("m").artifacts[0].parts

    [key] = world.contents.stored
    assert key.startswith(f"content//{CALLER.owner}/")
    assert content_of(world, served(world, part.url)) == b"x" * 300 * KB


# --- to whom -------------------------------------------------


def test_nobody_else_is_served_and_neither_is_what_is_not_there() -> None:
    world = World(agent=plays(ArtifactChunk("a", parts=[Part(url="https://example.com")])))
    task = sent(world, message("m", text_of(INLINE + 1)))
    world.run_turns()
    place = ["history", "0", "0"]
    assert find_content(world.ports, CALLER, task.id, place).filename == "å.md"

    for caller, task_id, where in (
        (BOB, task.id, place),
        (ELSEWHERE, task.id, place),
        (CALLER, "never-was", place),
        *((CALLER, task.id, where) for where in NOWHERE),
    ):
        with pytest.raises(TaskNotFoundError):
            find_content(world.ports, caller, task_id, where)


NOWHERE = [
    [],
    ["history"],
    ["history", "0"],
    ["history", "0", "1"],
    ["history", "1", "0"],
    ["history", "-1", "0"],
    ["history", "00", "0"],
    ["history", "0", "0", "0"],
    ["status", "0"],
    ["status", "message", "0"],
    ["a", "0"],
    ["a", "x"],
    ["b", "0"],
]


# --- and to the agent -------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [10, LOGGED + 1, INLINE + 1])
def test_the_agent_is_given_the_original_whatever_its_size(kind: str, size: int) -> None:
    part = KINDS[kind](size)
    seen: list[Any] = []

    async def agent(turn: Turn) -> AsyncIterator[Update]:
        seen.append(turn.message.parts[0])
        seen.append([said.parts[0] for said in turn.history])
        seen.append([made.parts[0] for made in turn.artifacts])
        yield ArtifactChunk("a", parts=[turn.message.parts[0]])
        yield InputRequired("?")

    world = World(agent=agent)
    task = sent(world, message("m", part))
    world.run_turns()
    world.said("m1", task_id=task.id)

    assert seen[:3] == [part, [], []]
    assert seen[4:] == [[part, Part(text="?")], [part]]


# --- and never too much at once -------------------------------------------------


def test_an_answer_shows_so_much_inline_in_all_and_the_addresses_of_the_rest() -> None:
    parts = [raw_of(100 * KB) for _ in range(6)]
    world = World(agent=plays(ArtifactChunk("a", parts=parts)), policy=Policy(answer_limit=350 * KB))
    task = sent(world, message("m", Part(text="small")))
    world.run_turns()

    shown = world.get(task.id).artifacts[0].parts

    assert [part.url is None for part in shown] == [True] * 3 + [False] * 3
    assert [content_of(world, served(world, part.url)) for part in shown[3:]] == [
        part.raw for part in parts[3:]
    ]


def test_every_frame_of_a_stream_is_an_answer_of_its_own() -> None:
    chunks = [ArtifactChunk("a", parts=[raw_of(100 * KB)]) for _ in range(3)]
    world = World(agent=plays(*chunks), policy=Policy(answer_limit=150 * KB))
    stream = send_streaming_message(
        world.ports, CALLER, asking(message("m", Part(text="go"))), world.clock.now() + timedelta(minutes=1)
    )
    frames = [next(stream)]
    world.run_turns()
    frames += [frame for frame in stream if frame is not None]

    updates = [frame.response.artifact_update for frame in frames if frame is not None]
    assert [part.raw is not None for update in updates if update for part in update.artifact.parts] == [
        True
    ] * 3
