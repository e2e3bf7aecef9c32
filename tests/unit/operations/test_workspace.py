"""The files of a conversation in a turn: read and written where they lie, published by its end alone."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import pytest

from a2a_serverless.agent import (
    Completed,
    Failed,
    MemoryWorkspace,
    Turn,
    Update,
    Workspace,
    WorkspaceFile,
    WorkspaceFullError,
)
from a2a_serverless.operations.files import upload_key
from a2a_serverless.operations.remembered import Remembered, remembered
from a2a_serverless.operations.turns import run_turn
from a2a_serverless.operations.waiting import TurnContinues
from a2a_serverless.operations.workspace import KeptWorkspace, in_thread, pieces
from a2a_serverless.ports import FilePolicy, Policy, TurnKey
from a2a_serverless.protocol.objects import Part, TaskState
from tests.fakes.ports import FakeContents, fake_ports
from tests.unit.operations.world import CALLER, Died, World, asking, message

KEY = TurnKey(CALLER.task("t"), 1)
T = TypeVar("T")


def kept(policy: Policy | None = None) -> KeptWorkspace:
    ports = fake_ports(policy=policy or Policy())
    return KeptWorkspace(ports, KEY, "c", expires=10**12)


EITHER = pytest.mark.parametrize("make", [kept, MemoryWorkspace], ids=["kept", "in memory"])
"""What a test of an agent may rely upon is what a deployment does."""

Make = Callable[[], Workspace]


def run(awaited: Awaitable[T]) -> T:
    async def wait() -> T:
        return await awaited

    return asyncio.run(wait())


async def in_pieces(*content: bytes) -> AsyncIterator[bytes]:
    for piece in content:
        yield piece


async def all_of(opened: AsyncIterator[bytes]) -> list[bytes]:
    return [piece async for piece in opened]


# --- what an agent may rely upon -------------------------------------------------


@EITHER
def test_a_file_is_read_as_it_was_written(make: Make) -> None:
    workspace = make()

    file = run(workspace.write("notes/plan.md", b"# Plan", "text/markdown"))

    digest = hashlib.sha256(b"# Plan").hexdigest()
    assert file == WorkspaceFile("notes/plan.md", "text/markdown", 6, digest)
    assert run(workspace.read("notes/plan.md")) == b"# Plan"
    assert run(all_of(workspace.open("notes/plan.md"))) == [b"# Plan"]
    assert run(workspace.list()) == [file]


@EITHER
def test_what_comes_in_pieces_is_one_file(make: Make) -> None:
    workspace = make()

    file = run(workspace.write("a.bin", in_pieces(b"one ", b"", b"two")))

    assert (file.byte_size, file.sha256) == (7, hashlib.sha256(b"one two").hexdigest())
    assert file.media_type == "application/octet-stream"
    assert run(workspace.read("a.bin")) == b"one two"


@EITHER
def test_a_file_may_be_empty(make: Make) -> None:
    workspace = make()
    run(workspace.write("a", b""))
    run(workspace.write("b", in_pieces()))

    assert [run(workspace.read(name)) for name in ("a", "b")] == [b"", b""]
    assert run(all_of(workspace.open("a"))) == []


@EITHER
def test_a_file_is_replaced_by_one_of_its_name_and_deleted_quietly(make: Make) -> None:
    workspace = make()
    run(workspace.write("a", b"one"))

    run(workspace.write("a", b"two", "text/plain"))
    assert [(each.name, each.media_type) for each in run(workspace.list())] == [("a", "text/plain")]
    run(workspace.delete("a"))
    run(workspace.delete("a"))

    assert run(workspace.list()) == []


@EITHER
def test_files_are_listed_by_name_below_a_prefix(make: Make) -> None:
    workspace = make()
    for name in ("b/2", "a", "b/1", "bb"):
        run(workspace.write(name, b""))

    assert [file.name for file in run(workspace.list())] == ["a", "b/1", "b/2", "bb"]
    assert [file.name for file in run(workspace.list("b/"))] == ["b/1", "b/2"]


@EITHER
@pytest.mark.parametrize(
    "name", ["", "/a", "../a", "a/../b", "a/./b", "a//b", "a/", "a\\b", "a\nb", "x" * 513]
)
def test_a_name_stays_inside(make: Make, name: str) -> None:
    workspace = make()

    with pytest.raises(ValueError, match="file's name is"):
        run(workspace.write(name, b""))

    assert run(workspace.list()) == []


@EITHER
def test_what_is_not_there_is_not_found(make: Make) -> None:
    workspace = make()

    with pytest.raises(FileNotFoundError):
        run(workspace.read("a"))
    with pytest.raises(FileNotFoundError):
        run(all_of(workspace.open("a")))


# --- what a deployment does -------------------------------------------------


@pytest.mark.parametrize("content", [b"four!", [b"fo", b"ur", b"!"]])
def test_a_file_has_so_many_bytes_at_most(content: Any) -> None:
    workspace = kept(Policy(files=FilePolicy(most_bytes=4)))
    given = content if isinstance(content, bytes) else in_pieces(*content)

    with pytest.raises(WorkspaceFullError, match="at most 4 bytes"):
        run(workspace.write("a", given))

    assert run(workspace.list()) == []
    contents: Any = workspace.ports.contents
    assert contents.stored == {}
    assert [upload.fate for upload in contents.uploads] == ["aborted"] * (not isinstance(content, bytes))


def test_a_conversation_keeps_so_many_files_at_most() -> None:
    workspace = kept(Policy(files=FilePolicy(most=1)))
    run(workspace.write("a", b"one"))

    with pytest.raises(WorkspaceFullError, match="at most 1 files"):
        run(workspace.write("b", b"two"))
    run(workspace.write("a", b"three"))
    run(workspace.delete("a"))
    run(workspace.write("b", b"two"))

    assert [file.name for file in run(workspace.list())] == ["b"]


def test_two_files_that_are_written_at_once_do_not_both_take_the_last_place() -> None:
    workspace = kept(Policy(files=FilePolicy(most=1)))

    async def both() -> list[Any]:
        writing = (workspace.write(name, in_pieces(b"x")) for name in ("a", "b"))
        return await asyncio.gather(*writing, return_exceptions=True)

    outcomes = run(both())

    assert [type(each) for each in outcomes].count(WorkspaceFullError) == 1
    assert len(run(workspace.list())) == 1


def test_content_that_breaks_off_leaves_no_file() -> None:
    async def breaks() -> AsyncIterator[bytes]:
        yield b"one"
        raise ConnectionResetError

    workspace = kept()

    with pytest.raises(ConnectionResetError):
        run(workspace.write("a", breaks()))

    assert run(workspace.list()) == []
    contents: Any = workspace.ports.contents
    assert [upload.fate for upload in contents.uploads] == ["aborted"]


def test_a_file_whose_bytes_are_gone_is_not_found() -> None:
    workspace = kept()
    run(workspace.write("a", b"one"))
    contents: Any = workspace.ports.contents
    contents.stored.clear()

    with pytest.raises(FileNotFoundError):
        run(workspace.read("a"))
    with pytest.raises(FileNotFoundError):
        run(all_of(workspace.open("a")))


def test_every_write_has_a_key_of_its_own_below_its_turn() -> None:
    workspace = kept()

    for content in (b"one", b"two"):
        run(workspace.write("a", content))

    contents: Any = workspace.ports.contents
    assert sorted(content for content, _ in contents.stored.values()) == [b"one", b"two"]
    prefix = f"files/{CALLER.tenant}/{CALLER.owner}/c/{KEY.name}/"
    assert all(key.startswith(prefix) for key in contents.stored)


@dataclass
class SlowContents(FakeContents):
    """Contents whose pieces are told of when they are asked for and when they are closed."""

    closed: list[str] = field(default_factory=list)

    def pieces(self, key: str, first: int = 0, last: int | None = None) -> Generator[bytes]:
        """Two pieces."""
        try:
            yield b"one"
            yield b"two"
        finally:
            self.closed.append(key)


def test_who_stops_reading_closes_what_is_read() -> None:
    contents = SlowContents()
    workspace = replace(kept(), ports=fake_ports(contents=contents))
    run(workspace.write("a", b"x"))

    async def one() -> bytes:
        opened: Any = workspace.open("a")
        piece = await anext(opened)
        await opened.aclose()
        return bytes(piece)

    assert run(one()) == b"one"
    assert len(contents.closed) == 1


def test_who_is_cancelled_waits_for_the_thread_that_works_for_it() -> None:
    async def cancelled() -> list[str]:
        events: list[str] = []
        loop = asyncio.get_running_loop()
        begun, may_end = asyncio.Event(), asyncio.Event()

        def work() -> None:
            loop.call_soon_threadsafe(begun.set)
            asyncio.run_coroutine_threadsafe(may_end.wait(), loop).result(30)
            events.append("worked")

        task = asyncio.create_task(in_thread(work))
        await begun.wait()
        task.cancel()
        may_end.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        return [*events, "cancelled"]

    assert run(cancelled()) == ["worked", "cancelled"]


def test_pieces_are_fetched_one_by_one() -> None:
    fetched: list[int] = []

    def coming() -> Generator[bytes]:
        for number in (1, 2, 3):
            fetched.append(number)
            yield bytes([number])

    async def first() -> int:
        opened: Any = pieces(coming)
        await anext(opened)
        known = len(fetched)
        await opened.aclose()
        return known

    assert run(first()) == 1


# --- from turn to turn -------------------------------------------------


class Filing:
    """An agent that does to its files what its message says, then notes which there are."""

    def __init__(self) -> None:
        self.seen: list[dict[str, bytes]] = []

    async def __call__(self, turn: Turn) -> AsyncIterator[Update]:
        word, *names = (turn.message.parts[0].text or "").split()
        for name in names:
            if word == "delete":
                await turn.workspace.delete(name)
            else:
                await turn.workspace.write(name, word.encode())
        listed = await turn.workspace.list()
        self.seen.append({file.name: await turn.workspace.read(file.name) for file in listed})
        if word == "die":
            raise Died
        if word == "crash":
            raise RuntimeError
        yield Failed("told to") if word == "fail" else Completed()


@pytest.fixture
def filing() -> Filing:
    return Filing()


def say(world: World, text: str, context: str = "c") -> TaskState:
    """What becomes of a message in a conversation."""
    number = f"m-{len(world.logs())}"
    task = world.answer(asking(message(number, Part(text=text), context_id=context))).task
    assert task is not None
    world.run_turns()
    return world.get(task.id).status.state


def test_files_are_kept_from_turn_to_turn_of_their_conversation(filing: Filing) -> None:
    world = World(agent=filing)

    for text in ("one a b", "two b", "delete a", "look"):
        say(world, text)
    say(world, "look", context="d")

    assert filing.seen == [
        {"a": b"one", "b": b"one"},
        {"a": b"one", "b": b"two"},
        {"b": b"two"},
        {"b": b"two"},
        {},
    ]


@pytest.mark.parametrize("word", ["crash", "die"])
def test_a_turn_that_crashed_leaves_nothing_behind(filing: Filing, word: str) -> None:
    world = World(agent=filing)
    say(world, "one a")

    assert say(world, f"{word} a b") is TaskState.FAILED
    say(world, "look")

    assert filing.seen[-1] == {"a": b"one"}


def test_a_turn_that_says_that_it_failed_keeps_its_files(filing: Filing) -> None:
    world = World(agent=filing)

    assert say(world, "fail a") is TaskState.FAILED
    say(world, "look")

    assert filing.seen[-1] == {"a": b"fail"}


def test_a_conversation_without_files_is_remembered_as_it_always_was(filing: Filing) -> None:
    async def agent(turn: Turn) -> AsyncIterator[Update]:
        turn.state["n"] = turn.state.get("n", 0) + 1
        yield Completed()

    world = World(agent=agent)
    say(world, "go")

    ((content, media_type),) = [
        stored for key, stored in world.contents.stored.items() if key.startswith("state/")
    ]
    assert (content, media_type) == (b'{"n": 1}', "application/json")


def test_a_state_that_was_stored_before_there_were_files_is_read_whatever_it_holds() -> None:
    ports = fake_ports()
    ports.contents.put("state/t/o/c/t-1-abc", b'{"files": 1, "state": {"x": 2}}', "application/json")

    assert remembered(ports, "state/t/o/c/t-1-abc") == Remembered({"files": 1, "state": {"x": 2}}, {})
    assert remembered(ports, None) == Remembered()


def test_memory_that_is_gone_is_told_of_and_the_conversation_goes_on_without(filing: Filing) -> None:
    world = World(agent=filing)
    say(world, "one a")
    world.contents.stored.clear()

    assert say(world, "look") is TaskState.COMPLETED

    assert filing.seen[-1] == {}
    assert [type(error) for error, _ in world.incidents.reported] == [KeyError]


def test_a_checkpoint_keeps_files_for_its_turn_and_only_its_end_for_the_conversation() -> None:
    seen: list[list[str]] = []

    async def agent(turn: Turn) -> AsyncIterator[Update]:
        seen.append([file.name for file in await turn.workspace.list()])
        if turn.message.parts[0].text == "look":
            yield Completed()
            return
        if turn.segment == 1:
            await turn.workspace.write("a", b"one")
            await turn.workspace.delete("cup.png")
            await turn.checkpoint(5)
        if turn.segment == 2:
            await turn.workspace.write("b", b"two")
            await turn.checkpoint(5)
        raise RuntimeError

    world = World(agent=agent)
    key = CALLER.context("c")
    from_caller = world.ports.uploads
    from_caller.put(upload_key(key, "cup.png"), b"cup", "image/png")  # type: ignore[attr-defined]
    said = message("m", Part(text="go"), Part(url="file:///cup.png"), context_id="c")
    task = world.answer(asking(said)).task
    assert task is not None
    for _ in range(3):
        with suppress(TurnContinues):
            run_turn(world.ports, agent, world.turn(task.id), lambda: 60.0)
    world.executions.status[world.turn(task.id)] = "ended"
    say(world, "look")

    assert world.get(task.id).status.state is TaskState.FAILED
    assert seen == [["cup.png"], ["a"], ["a", "b"], []]
