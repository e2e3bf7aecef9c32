"""Earlier artifacts as an agent is given them: little at once, much by address, and opened piece by piece."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from a2a_serverless.agent import (
    ArtifactChunk,
    ArtifactFile,
    InputRequired,
    MemoryWorkspace,
    Part,
    Turn,
    Update,
)
from a2a_serverless.ports import Policy
from a2a_serverless.protocol.objects import Artifact, TaskState
from tests.unit.operations.world import World, message

KB, MB = 1024, 1024 * 1024


async def bytes_of(turn: Turn, part: Part) -> bytes:
    return b"".join([piece async for piece in turn.open(part)])


def seen(*first: Update, policy: Policy | None = None) -> tuple[World, list[Artifact], list[bytes]]:
    """What the second turn sees of what the first one yielded, and the bytes of every part of it."""
    artifacts: list[Artifact] = []
    contents: list[bytes] = []

    async def agent(turn: Turn) -> AsyncIterator[Update]:
        if not turn.history:
            for update in first:
                yield update
            yield InputRequired("And now?")
            return
        artifacts.extend(turn.artifacts)
        contents.extend([await bytes_of(turn, part) for each in turn.artifacts for part in each.parts])

    world = World(agent=agent, policy=policy or Policy())
    asked = world.said("m1")
    assert asked.status.state is TaskState.INPUT_REQUIRED
    done = world.said("m2", task_id=asked.id)
    assert done.status.state is TaskState.COMPLETED
    return world, artifacts, contents


def test_what_is_little_comes_as_it_was_yielded() -> None:
    parts = [Part(raw=bytes(MB)), Part(text="é" * 100_000), Part(data={"a": "é"})]

    _, [artifact], contents = seen(ArtifactChunk("a", parts=parts))

    assert list(artifact.parts) == parts
    assert contents == [bytes(MB), ("é" * 100_000).encode(), '{"a":"é"}'.encode()]


def test_a_big_file_comes_as_an_address_that_is_opened_piece_by_piece() -> None:
    content = bytes(range(256)) * 4 * 5 * KB
    file = ArtifactFile("dump", [content], media_type="a/b", filename="x.bin", metadata={"k": "v"})

    world, [artifact], contents = seen(file)

    [part] = artifact.parts
    [task] = world.logs()
    assert part.url == f"artifact:///{task.task_id}/dump/0"
    assert (part.raw, part.media_type, part.filename) == (None, "a/b", "x.bin")
    assert part.metadata["byteSize"] == len(content)
    assert contents == [content]
    assert artifact.metadata == {"k": "v"}


def test_of_many_chunks_as_many_come_at_once_as_are_little_together() -> None:
    chunks = [ArtifactChunk("a", parts=[Part(raw=bytes([n]) * MB)]) for n in range(10)]

    _, [artifact], contents = seen(*chunks)

    assert [part.url is None for part in artifact.parts] == [True] * 4 + [False] * 6
    assert contents == [bytes([n]) * MB for n in range(10)]


def test_an_artifact_is_not_read_until_the_agent_looks() -> None:
    read: list[str] = []

    async def agent(turn: Turn) -> AsyncIterator[Update]:
        if not turn.history:
            yield ArtifactChunk("a", parts=[Part(raw=bytes(MB))])
            yield InputRequired("?")
            return
        assert len(turn.artifacts) == 1
        assert read == []
        assert turn.artifacts[0].parts[0].raw == bytes(MB)
        assert len(read) == 1

    world = World(agent=agent)
    get = world.contents.get

    def watched(key: str) -> bytes:
        if key.startswith("content/"):
            read.append(key)
        return get(key)

    world.contents.get = watched  # type: ignore[method-assign]
    asked = world.said("m1")
    read.clear()
    assert world.said("m2", task_id=asked.id).status.state is TaskState.COMPLETED


@pytest.mark.parametrize(
    ("url", "error"),
    [
        ("artifact:///{task}/none/0", FileNotFoundError),
        ("artifact:///{task}/small/0", FileNotFoundError),
        ("artifact:///{task}/dump/1", FileNotFoundError),
        ("artifact:///{task}/dump", FileNotFoundError),
        ("artifact:///elsewhere/dump/0", FileNotFoundError),
        ("artifact:///", FileNotFoundError),
        ("file:///none", FileNotFoundError),
        ("file:///../x", ValueError),
        ("https://example.com/x", ValueError),
    ],
)
def test_an_address_of_nothing_opens_nothing(url: str, error: type[Exception]) -> None:
    raised: list[BaseException] = []

    async def agent(turn: Turn) -> AsyncIterator[Update]:
        if not turn.history:
            yield ArtifactChunk("small", "text")
            yield ArtifactFile("dump", [bytes(5 * MB)])
            yield InputRequired("?")
            return
        try:
            await bytes_of(turn, Part(url=url.format(task=turn.task_id)))
        except (OSError, ValueError) as found:
            raised.append(found)

    world = World(agent=agent)
    world.said("m2", task_id=world.said("m1").id)

    [found] = raised
    assert type(found) is error


def test_an_artifact_of_another_conversation_is_not_there() -> None:
    found: list[Any] = []

    async def agent(turn: Turn) -> AsyncIterator[Update]:
        text = turn.message.parts[0].text or ""
        if text == "go":
            yield ArtifactFile("dump", [bytes(5 * MB)])
            return
        try:
            found.append(await bytes_of(turn, Part(url=f"artifact:///{text}/dump/0")))
        except FileNotFoundError:
            found.append(None)

    world = World(agent=agent)
    one = world.said("m1", context_id="one")
    world.said("m2", one.id, context_id="two")
    world.said("m3", one.id, context_id="one")

    assert found == [None, bytes(5 * MB)]


def test_bytes_that_are_gone_are_not_found() -> None:
    raised: list[BaseException] = []

    async def agent(turn: Turn) -> AsyncIterator[Update]:
        if not turn.history:
            yield ArtifactFile("dump", [bytes(5 * MB)])
            yield InputRequired("?")
            return
        try:
            await bytes_of(turn, turn.artifacts[0].parts[0])
        except FileNotFoundError as found:
            raised.append(found)

    world = World(agent=agent)
    asked = world.said("m1")
    world.contents.stored.clear()
    world.said("m2", task_id=asked.id)

    assert len(raised) == 1


def test_without_a_deployment_parts_are_opened_too() -> None:
    async def tried() -> None:
        workspace = MemoryWorkspace()
        await workspace.write("a b.txt", b"hello")
        turn = Turn(message("m"), "t", "c", host=None, workspace=workspace)  # type: ignore[arg-type]
        assert await bytes_of(turn, Part(raw=b"raw")) == b"raw"
        assert await bytes_of(turn, Part(raw=b"")) == b""
        assert await bytes_of(turn, Part(url="file:///a%20b.txt")) == b"hello"
        with pytest.raises(FileNotFoundError):
            await bytes_of(turn, Part(url="artifact:///t/a/0"))

    asyncio.run(tried())
