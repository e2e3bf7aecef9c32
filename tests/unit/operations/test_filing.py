"""Files that an agent yields: stored piece by piece, held up where that is slow, given back when it ends."""

import asyncio
import hashlib
import threading
import time
import tracemalloc
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from a2a_serverless.agent import ArtifactChunk, ArtifactFile, Completed, Part, Turn, Update, Working
from a2a_serverless.operations.cancel import cancel_task
from a2a_serverless.operations.passage import WAITING_BYTES
from a2a_serverless.operations.running import Running, TurnHost
from a2a_serverless.operations.streams import send_streaming_message
from a2a_serverless.operations.turns import run_turn
from a2a_serverless.operations.waiting import TurnContinues
from a2a_serverless.ports import Caller, Policy
from a2a_serverless.protocol.extensions import Extension
from a2a_serverless.protocol.objects import Artifact, Task, TaskState
from a2a_serverless.protocol.requests import CancelTaskRequest
from a2a_serverless.tasks.content import ContentKind
from a2a_serverless.tasks.log import ArtifactUpdated, TurnSettled
from tests.fakes.ports import FakeContents
from tests.fakes.world import FakeUpload
from tests.unit.operations.world import CALLER, Fate, Fault, World, asking, message, plays

KB, MB = 1024, 1024 * 1024
LONG = 30.0


def pieces(*sizes: int) -> Iterator[bytes]:
    for number, size in enumerate(sizes):
        yield bytes([number % 256]) * size


async def slowly(*sizes: int) -> AsyncIterator[bytes]:
    for piece in pieces(*sizes):
        await asyncio.sleep(0)
        yield piece


def whole(*sizes: int) -> bytes:
    return b"".join(pieces(*sizes))


def delivered(agent: Callable[[Turn], AsyncIterator[Update]], **policy: Any) -> tuple[World, Task]:
    """What the task has become after the turn of an agent."""
    world = World(agent=agent, policy=Policy(**policy))
    return world, world.said("m")


def updates(world: World, task: Task) -> list[ArtifactUpdated]:
    return [entry for entry in world.entries(task.id) if isinstance(entry, ArtifactUpdated)]


# --- what becomes of it ------------------------------------------------


SIZES = [(), (0,), (1,), (60 * KB, 4 * KB), (64 * KB, 1), (3 * MB,), (MB, 5, 0, 2 * MB, 700 * KB)]


@pytest.mark.parametrize("given", ["pieces", "async pieces", "path", "bytes", "views"])
@pytest.mark.parametrize("sizes", SIZES)
def test_a_file_becomes_one_artifact_of_one_part(given: str, sizes: tuple[int, ...], tmp_path: Path) -> None:
    content = whole(*sizes)
    path = tmp_path / "file"
    path.write_bytes(content)
    ways: dict[str, Any] = {
        "pieces": pieces(*sizes),
        "async pieces": slowly(*sizes),
        "path": path,
        "bytes": content,
        "views": [memoryview(piece) for piece in pieces(*sizes)],
    }
    file = ArtifactFile(
        "dump",
        ways[given],
        media_type="application/zip",
        filename="dump.zip",
        name="The dump",
        description="Everything.",
        metadata={"rows": 3},
    )

    world, task = delivered(plays(file))

    assert task.status.state is TaskState.COMPLETED
    [update] = updates(world, task)
    assert (update.append, update.last_chunk) == (False, True)
    [part] = update.artifact.parts
    if len(content) <= 64 * KB:
        assert part.raw == content
        assert world.contents.stored == {}
    else:
        assert part.stored is not None
        assert (part.stored.byte_size, part.stored.kind) == (len(content), ContentKind.RAW)
        assert part.stored.sha256 == hashlib.sha256(content).hexdigest()
        assert world.contents.stored == {part.stored.key: (content, "application/zip")}
    [shown] = task.artifacts
    assert (shown.artifact_id, shown.name, shown.description) == ("dump", "The dump", "Everything.")
    assert shown.metadata == {"rows": 3}
    assert (shown.parts[0].media_type, shown.parts[0].filename) == ("application/zip", "dump.zip")


def test_a_file_up_to_256_kb_is_shown_as_it_came_and_a_bigger_one_as_its_address() -> None:
    files = [ArtifactFile(f"f{size}", [bytes(size)]) for size in (256 * KB, 256 * KB + 1)]

    _, task = delivered(plays(*files))

    small, big = (artifact.parts[0] for artifact in task.artifacts)
    assert small == Part(raw=bytes(256 * KB), media_type="application/octet-stream")
    assert (big.raw, big.url) == (None, f"https://agent.example/artifacts/{task.id}/f{256 * KB + 1}/0")
    assert big.metadata == {
        "byteSize": 256 * KB + 1,
        "sha256": hashlib.sha256(bytes(256 * KB + 1)).hexdigest(),
    }


def test_every_key_ends_in_who_wrote_it_and_no_two_are_alike() -> None:
    files = [ArtifactFile("a", [bytes(100 * KB)]), ArtifactFile("b", [bytes(100 * KB)])]

    world, task = delivered(plays(*files))

    [started, *_] = [event.writer for event in world.tasks.log(CALLER.task(task.id))[1:]]
    first, second = world.contents.stored
    assert first != second
    assert all(key.startswith(f"content//{CALLER.owner}/{task.id}/1/file-") for key in (first, second))
    assert all(key.endswith(started) for key in (first, second))


def test_a_file_takes_the_place_of_an_artifact_of_its_name_and_text_before_it_goes_out_first() -> None:
    world, task = delivered(
        plays(
            ArtifactChunk("log", "one "),
            ArtifactChunk("log", "two"),
            ArtifactChunk("dump", "old"),
            ArtifactFile("dump", [b"new"]),
        )
    )

    assert [update.artifact.artifact_id for update in updates(world, task)] == ["log", "log", "dump", "dump"]
    assert task.artifacts[1] == Artifact(
        artifact_id="dump", parts=(Part(raw=b"new", media_type="application/octet-stream"),)
    )
    [settled] = [entry for entry in world.entries(task.id) if isinstance(entry, TurnSettled)]
    assert settled.completes == ("log",)


@pytest.mark.parametrize(
    "file",
    [
        ArtifactFile("..", [b"x"]),
        ArtifactFile(7, [b"x"]),  # type: ignore[arg-type]
        ArtifactFile("a", ["text"]),  # type: ignore[list-item]
        ArtifactFile("a", "text"),  # type: ignore[arg-type]
        ArtifactFile("a", None),  # type: ignore[arg-type]
        ArtifactFile("a", 7),  # type: ignore[arg-type]
        ArtifactFile("a", [b"x"], media_type=7),  # type: ignore[arg-type]
        ArtifactFile("a", [b"x"], filename=b"x"),  # type: ignore[arg-type]
        ArtifactFile("a", [b"x"], metadata={"x": object()}),
        ArtifactFile("a", Path("/nowhere/to/be/found")),
    ],
)
def test_what_is_no_file_fails_the_turn_and_leaves_nothing(file: ArtifactFile) -> None:
    world, task = delivered(plays(ArtifactChunk("kept", "this"), file))

    assert task.status.state is TaskState.FAILED
    assert [artifact.artifact_id for artifact in task.artifacts] == ["kept"]
    assert all(upload.fate != "open" for upload in world.contents.uploads)


def test_bytes_are_not_asked_for_when_what_describes_them_is_unsound() -> None:
    asked: list[int] = []

    def watched() -> Iterator[bytes]:
        asked.append(1)
        yield b"x"

    delivered(plays(ArtifactFile("a", watched(), filename=7)))  # type: ignore[arg-type]

    assert asked == []


# --- how it is stored ------------------------------------------------


class Slow(FakeContents):
    """Contents that take bytes only when a test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.may_go_on = threading.Semaphore(0)
        self.waits = threading.Semaphore(0)

    def upload(self, key: str, media_type: str) -> FakeUpload:
        """Begin to store what comes in pieces."""
        upload = super().upload(key, media_type)
        write = upload.write

        def held_up(piece: bytes | bytearray | memoryview) -> None:
            self.waits.release()
            assert self.may_go_on.acquire(timeout=LONG)
            write(piece)

        upload.write = held_up  # type: ignore[method-assign]
        return upload


@contextmanager
def at_work(
    agent: Callable[[Turn], AsyncIterator[Update]], **policy: Any
) -> Iterator[tuple[World, Slow, str]]:
    """A turn that is being run in a thread of its own, with contents that are slow."""
    world, contents = World(agent=agent, policy=Policy(**policy)), Slow()
    world.ports = replace(world.ports, contents=contents)
    task = world.send("m")
    thread = threading.Thread(target=world.run_turns)
    thread.start()
    try:
        yield world, contents, task.id
    finally:
        contents.may_go_on.release(1000)
        thread.join(LONG)
        assert not thread.is_alive()


def test_bytes_are_asked_for_no_faster_than_they_are_stored() -> None:
    asked: list[int] = []

    async def bytes_of_the_agent() -> AsyncIterator[bytes]:
        for number in range(20):
            asked.append(number)
            yield bytes(MB)

    with at_work(plays(ArtifactFile("a", bytes_of_the_agent()))) as (_, contents, _task):
        for stored in range(5):
            assert contents.waits.acquire(timeout=LONG)
            assert len(asked) == stored + 1
            contents.may_go_on.release()
    assert asked == list(range(20))


def test_the_agents_loop_is_free_while_its_bytes_are_stored() -> None:
    beats: list[int] = []

    async def agent(_: Turn) -> AsyncIterator[Update]:
        async def beat() -> None:
            while True:
                beats.append(1)
                await asyncio.sleep(0)

        beating = asyncio.create_task(beat())
        yield ArtifactFile("a", [bytes(MB)])
        beating.cancel()

    with at_work(agent) as (_, contents, _task):
        assert contents.waits.acquire(timeout=LONG)
        before = len(beats)
        until = time.monotonic() + LONG
        while len(beats) < before + 100:
            assert time.monotonic() < until


def test_a_task_is_cancelled_while_its_file_is_stored_and_nothing_of_it_stays() -> None:
    closed = threading.Event()

    async def endless() -> AsyncIterator[bytes]:
        try:
            while True:
                yield bytes(MB)
        finally:
            closed.set()

    with at_work(plays(ArtifactFile("a", endless())), cancel_check=0.01) as (world, contents, task_id):
        assert contents.waits.acquire(timeout=LONG)
        cancel_task(world.ports, CALLER, CancelTaskRequest(id=task_id))
        contents.may_go_on.release(10)

    assert closed.is_set()
    assert [upload.fate for upload in contents.uploads] == ["aborted"]
    assert contents.stored == {}
    task = world.get(task_id)
    assert (task.status.state, task.artifacts) == (TaskState.CANCELED, ())


def test_an_agent_that_waits_for_its_own_bytes_is_cancelled_too() -> None:
    waits = threading.Event()

    async def silent() -> AsyncIterator[bytes]:
        yield bytes(MB)
        waits.set()
        await asyncio.Event().wait()

    with at_work(plays(ArtifactFile("a", silent())), cancel_check=0.01) as (world, contents, task_id):
        contents.may_go_on.release(10)
        assert waits.wait(LONG)
        cancel_task(world.ports, CALLER, CancelTaskRequest(id=task_id))

    assert [upload.fate for upload in contents.uploads] == ["aborted"]


def test_progress_that_was_reported_before_is_seen_while_a_file_is_stored() -> None:
    agent = plays(
        Working("packing"),
        ArtifactChunk("log", "a"),
        ArtifactChunk("log", "b"),
        ArtifactFile("a", [bytes(MB)]),
    )

    with at_work(agent) as (world, contents, task_id):
        assert contents.waits.acquire(timeout=LONG)
        until = time.monotonic() + LONG
        while [part.text for artifact in world.get(task_id).artifacts for part in artifact.parts] != ["ab"]:
            assert time.monotonic() < until
        status = world.get(task_id).status
        assert status.message is not None
        assert status.message.parts[0].text == "packing"


@pytest.mark.parametrize("given", ["pieces", "async pieces"])
def test_bytes_that_break_off_fail_the_turn_and_leave_nothing(given: str) -> None:
    def broken() -> Iterator[bytes]:
        yield bytes(MB)
        raise OSError("the disk is gone")

    async def broken_later() -> AsyncIterator[bytes]:
        for piece in broken():
            yield piece

    world, task = delivered(plays(ArtifactFile("a", broken() if given == "pieces" else broken_later())))

    assert (task.status.state, task.artifacts) == (TaskState.FAILED, ())
    assert [upload.fate for upload in world.contents.uploads] == ["aborted"]
    [(error, _)] = world.incidents.reported
    assert isinstance(error, OSError)


def test_a_checkpoint_in_the_middle_of_a_file_gives_it_back() -> None:
    async def agent(turn: Turn) -> AsyncIterator[Update]:
        async def content() -> AsyncIterator[bytes]:
            yield bytes(MB)
            if turn.segment == 1:
                await turn.checkpoint(resume_after=1)
            yield bytes(MB)

        yield ArtifactFile("a", content())

    world = World(agent=agent)
    task = world.send("m")
    key = world.turn(task.id)
    with pytest.raises(TurnContinues):
        run_turn(world.ports, agent, key, lambda: 60.0)
    run_turn(world.ports, agent, key, lambda: 60.0)

    assert [upload.fate for upload in world.contents.uploads] == ["aborted", "finished"]
    [update] = updates(world, world.get(task.id))
    assert update.artifact.parts[0].stored is not None
    assert update.artifact.parts[0].stored.byte_size == 2 * MB


def test_an_invocation_that_runs_out_of_time_gives_back_what_is_on_its_way() -> None:
    async def endless() -> AsyncIterator[bytes]:
        while True:
            yield bytes(MB)
            await asyncio.sleep(0)

    world = World(agent=plays(ArtifactFile("a", endless())))
    task = world.send("m")
    until = time.monotonic() + 0.3

    run_turn(world.ports, world.agent, world.turn(task.id), lambda: until - time.monotonic())

    assert world.get(task.id).status.state is TaskState.FAILED
    assert [upload.fate for upload in world.contents.uploads] == ["aborted"]


# --- what a crash leaves ------------------------------------------------


@pytest.mark.parametrize("step", ["upload", "write", "finish", "abort"])
def test_a_store_that_fails_at_any_step_fails_the_turn_and_shows_nothing(step: str) -> None:
    class Failing(FakeContents):
        def upload(self, key: str, media_type: str) -> FakeUpload:
            if step == "upload":
                raise OSError(step)
            upload = super().upload(key, media_type)

            def fails(*_: object) -> None:
                raise OSError(step)

            setattr(upload, "finish" if step == "abort" else step, fails)
            if step == "abort":
                upload.abort = fails  # type: ignore[method-assign]
            return upload

    world = World(agent=plays(ArtifactFile("a", [bytes(MB)])))
    world.ports = replace(world.ports, contents=Failing())

    task = world.said("m")

    assert (task.status.state, task.artifacts) == (TaskState.FAILED, ())
    assert world.contents.stored == {}


@pytest.mark.parametrize("fault", [Fault.DIES_BEFORE, Fault.DIES_AFTER, Fault.ANSWER_LOST])
def test_a_turn_that_dies_around_its_file_ends_with_the_whole_file_or_without_it(fault: Fault) -> None:
    content = whole(MB, MB)
    for at in range(1, 12):
        world = World(agent=plays(Working("packing"), ArtifactFile("a", [content]), Completed("packed")))
        world.send("m")
        for key in world.running():
            world.invoke(key, world.doomed(Fate(at, fault)))
        world.recover()

        task = world.get(world.executions.started[0].task.task_id)
        assert task.status.state in (TaskState.COMPLETED, TaskState.FAILED)
        for artifact in world.load(task.id).artifacts:
            [part] = artifact.parts
            assert part.stored is not None
            assert world.contents.get(part.stored.key) == content
        if task.status.state is TaskState.COMPLETED:
            assert len(task.artifacts) == 1


# --- how much memory it takes ------------------------------------------------


def test_an_agent_far_ahead_with_big_chunks_is_held_up_before_it_fills_the_memory() -> None:
    made: list[int] = []

    async def agent(_: Turn) -> AsyncIterator[Update]:
        for number in range(50):
            made.append(number)
            yield ArtifactChunk("a", parts=[Part(raw=bytes(MB))])

    running = Running(agent, Turn(message("m"), "t", "c", TurnHost(lambda: 60.0)))
    taken = [running.next(LONG) for _ in range(10)]
    running.next(0.2)

    assert len(taken) == 10
    assert len(made) <= 11 + WAITING_BYTES // MB + 1
    assert running.stop(LONG)


def test_a_file_of_any_size_takes_a_few_megabytes() -> None:
    class Forgetful(FakeContents):
        def upload(self, key: str, media_type: str) -> FakeUpload:
            upload = super().upload(key, media_type)
            upload.write = lambda _: None  # type: ignore[method-assign,assignment]
            return upload

    async def content() -> AsyncIterator[bytes]:
        for _ in range(100):
            yield bytes(300 * KB)

    world = World(agent=plays(ArtifactFile("a", content())))
    world.ports = replace(world.ports, contents=Forgetful())
    world.send("m")

    tracemalloc.start()
    world.run_turns()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak < 8 * MB


# --- what callers are told of it ------------------------------------------------

TELLING = Policy(extensions=frozenset({Extension.ARTIFACTS}))
ACTIVATING = replace(CALLER, extensions=frozenset({Extension.ARTIFACTS.uri}))


def test_callers_who_activated_the_extension_are_told_what_each_part_is() -> None:
    content = bytes(300 * KB)
    world = World(
        agent=plays(
            ArtifactFile("big", [content], media_type="a/b", filename="b.bin"),
            ArtifactChunk("small", "é", parts=[Part(url="file:///x"), Part(data=[1])]),
        ),
        policy=TELLING,
    )
    task_id = world.said("m").id

    big, small = world.get(task_id, caller=ACTIVATING).artifacts

    uri = "urn:a2a-serverless:artifacts:v1"
    digest = hashlib.sha256(content).hexdigest()
    told = {"byteSize": 300 * KB, "sha256": digest, "mediaType": "a/b", "filename": "b.bin"}
    assert big.parts[0].metadata == {"byteSize": 300 * KB, "sha256": digest, uri: told}
    assert (big.extensions, small.extensions) == ((uri,), (uri,))
    assert [part.metadata.get(uri, {}).get("byteSize") for part in small.parts] == [2, None, 3]
    assert small.parts[0].metadata[uri]["mediaType"] == "text/plain"


@pytest.mark.parametrize(
    ("policy", "caller"), [(TELLING, CALLER), (Policy(), ACTIVATING)], ids=["not activated", "not enabled"]
)
def test_nobody_else_is_told(policy: Policy, caller: Caller) -> None:
    world = World(agent=plays(ArtifactFile("a", [b"x"])), policy=policy)

    [artifact] = world.get(world.said("m").id, caller=caller).artifacts

    assert (artifact.parts[0].metadata, artifact.extensions) == ({}, ())


def test_streams_tell_of_what_is_whole_and_not_of_pieces() -> None:
    world = World(agent=plays(ArtifactChunk("text", "a"), ArtifactFile("file", [b"x"])), policy=TELLING)
    stream = send_streaming_message(
        world.ports, ACTIVATING, asking(message("m")), world.clock.now() + timedelta(minutes=1)
    )
    frames = [next(stream)]
    world.run_turns()
    frames += [frame for frame in stream if frame is not None]

    shown = [
        frame.response.artifact_update.artifact
        for frame in frames
        if frame and frame.response.artifact_update
    ]
    assert [(each.artifact_id, bool(each.parts[0].metadata)) for each in shown] == [
        ("text", False),
        ("file", True),
    ]
