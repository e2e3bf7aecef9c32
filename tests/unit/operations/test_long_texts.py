"""Texts that stream for long: written about twice, shown by address, and read without being read."""

import hashlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, cast

import pytest

from a2a_serverless.agent import ArtifactChunk, Completed, InputRequired, Part, Turn, Update
from a2a_serverless.operations.serving import find_content
from a2a_serverless.operations.streams import subscribe_to_task
from a2a_serverless.ports import Policy, TaskStore
from a2a_serverless.protocol.objects import TaskState
from a2a_serverless.protocol.requests import SubscribeToTaskRequest
from a2a_serverless.tasks.content import ContentKind
from a2a_serverless.tasks.fold import LoggedTask, fold
from a2a_serverless.tasks.log import ArtifactUpdated
from tests.unit.operations.world import CALLER, Fate, Fault, World

KB, MB = 1024, 1024 * 1024
LINE = "héllo wörld, this is a line of a log that goes on and on for as long as it takes\n" * 12


def streams(*texts: tuple[str, int], ends: Any = None) -> Callable[[Turn], AsyncIterator[Update]]:
    """An agent that streams each text so many times, line by line, as one artifact."""

    async def agent(_: Turn) -> AsyncIterator[Update]:
        for text, times in texts:
            for _number in range(times):
                yield ArtifactChunk("log", text)
        if ends is not None:
            yield ends

    return agent


@dataclass
class Counting:
    """A store that counts how much is written into snapshots."""

    tasks: TaskStore
    kept: list[int] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.tasks, name)

    def write_snapshot(self, key: Any, task: LoggedTask) -> None:
        """Count, and keep it."""
        self.kept.append(len(task.to_json()))
        self.tasks.write_snapshot(key, task)


def whole(world: World, task_id: str, index: int = 0) -> bytes:
    """What the artifacts route serves of a part."""
    found = find_content(world.ports, CALLER, task_id, ["log", str(index)])
    return b"".join(found.pieces(world.contents, 0, found.byte_size - 1))


def test_a_long_text_is_written_twice_and_not_once_with_every_snapshot() -> None:
    times = 6 * MB // len(LINE)
    world = World(agent=streams((LINE, times)))
    counting = Counting(world.ports.tasks)
    world.ports = replace(world.ports, tasks=cast("TaskStore", counting))

    world.said("m")

    assert len(counting.kept) >= 3
    assert sum(counting.kept) < 2 * 6 * MB
    assert counting.kept[-1] < 10 * KB


def test_the_longer_a_text_the_bigger_its_chunks() -> None:
    world = World(agent=streams((LINE, 3 * MB // len(LINE))))

    task = world.said("m")

    chunks = [
        len(entry.artifact.parts[0].text or "")
        for entry in world.entries(task.id)
        if isinstance(entry, ArtifactUpdated)
    ]
    assert max(chunks[:30]) < 4096 + len(LINE)
    assert 16 * KB <= max(chunks) < 16 * KB + len(LINE)
    assert len(chunks) < 450


def test_a_settled_task_shows_its_long_text_by_an_address_and_does_not_hold_it() -> None:
    times = 400 * KB // len(LINE)
    world = World(agent=streams((LINE, times)))

    task = world.said("m")

    content = (LINE * times).encode()
    [part] = task.artifacts[0].parts
    assert part.url == f"https://agent.example/artifacts/{task.id}/log/0"
    assert part.metadata == {"byteSize": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    assert part.media_type == "text/plain"
    [logged] = world.load(task.id).artifacts[0].parts
    assert logged.text is None
    assert logged.stored is not None
    assert logged.stored.kind is ContentKind.TEXT
    assert whole(world, task.id) == content


def test_what_is_kept_shows_what_the_log_tells() -> None:
    world = World(agent=streams((LINE, 400 * KB // len(LINE))))
    task = world.said("m")

    key = CALLER.task(task.id)
    unaided = fold(LoggedTask(task_id=task.id), world.tasks.log(key))

    aided = world.load(task.id)
    assert aided.artifacts[0].parts[0].stored is not None
    [part] = unaided.artifacts[0].parts
    assert (part.text or "").encode() == whole(world, task.id)
    assert unaided.model_copy(update={"artifacts": (), "snapshot": 0}) == aided.model_copy(
        update={"artifacts": (), "snapshot": 0}
    )


def test_a_text_that_fits_into_an_answer_stays_where_it_is() -> None:
    times = 200 * KB // len(LINE)
    world = World(agent=streams((LINE, times)))

    task = world.said("m")

    assert task.artifacts[0].parts == (Part(text=LINE * times),)
    assert not [key for key in world.contents.stored if "snapshot-" in key]


def test_a_turn_that_ends_soon_after_a_snapshot_puts_its_long_text_away_too() -> None:
    world = World(agent=streams((LINE, 400)), policy=Policy(snapshot_every=50))

    task = world.said("m")

    assert world.load(task.id).artifacts[0].parts[0].stored is not None


def test_a_later_turn_adds_to_a_text_that_was_put_away() -> None:
    times = 400 * KB // len(LINE)

    async def agent(turn: Turn) -> AsyncIterator[Update]:
        for number in range(times):
            yield ArtifactChunk("log", LINE, append=True if turn.history or number else None)
        if not turn.history:
            yield InputRequired("More?")

    world = World(agent=agent)
    asked = world.said("m1")
    task = world.said("m2", task_id=asked.id)

    assert task.status.state is TaskState.COMPLETED
    content = (LINE * times).encode()
    assert [part.url is not None for part in task.artifacts[0].parts] == [True, True]
    assert (whole(world, task.id, 0), whole(world, task.id, 1)) == (content, content)


@pytest.mark.parametrize("position", [3, 30, 199, 200, 201, 205])
def test_a_stream_gone_on_with_says_the_same_from_any_position(position: int) -> None:
    times = 2 * MB // len(LINE)
    world = World(agent=streams((LINE, times)))
    task = world.said("m")

    frames = [
        frame.response
        for frame in subscribe_to_task(
            world.ports,
            CALLER,
            SubscribeToTaskRequest(id=task.id),
            world.clock.now() + timedelta(minutes=1),
            str(position),
        )
        if frame is not None
    ]

    opening = frames[0].task
    assert opening is not None
    shown = sum(
        len((part.text or "").encode()) or part.metadata["byteSize"]
        for artifact in opening.artifacts
        for part in artifact.parts
    )
    followed = [
        part.text or ""
        for frame in frames
        if frame.artifact_update
        for part in frame.artifact_update.artifact.parts
    ]
    assert shown + len("".join(followed).encode()) == len((LINE * times).encode())


@pytest.mark.parametrize("fault", [Fault.DIES_BEFORE, Fault.DIES_AFTER, Fault.ANSWER_LOST])
def test_a_turn_that_dies_while_it_puts_a_text_away_loses_nothing_of_it(fault: Fault) -> None:
    policy = Policy(inline_limit=2000, log_limit=4000, chunk_size=40, snapshot_every=5, snapshot_settled=2)
    times = 12
    for at in range(1, 40):
        world = World(agent=streams((LINE, times), ends=Completed("done")), policy=policy)
        sent = world.send("m")
        for key in world.running():
            world.invoke(key, world.doomed(Fate(at, fault)))
        world.recover()

        task = world.load(sent.id)
        events = fold(LoggedTask(task_id=sent.id), world.tasks.log(CALLER.task(sent.id)))
        assert task.terminal
        for number, artifact in enumerate(events.artifacts):
            [part] = artifact.parts
            kept = task.artifacts[number].parts[0]
            content = kept.text.encode() if kept.text else whole(world, sent.id)
            assert content == (part.text or "").encode()
        if task.current.state is TaskState.COMPLETED:
            assert whole(world, sent.id) == (LINE * times).encode()
