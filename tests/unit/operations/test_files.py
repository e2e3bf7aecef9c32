"""Files that a caller uploads and names: what a name means, whose it is, and what the agent gets of it."""

import hashlib
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from a2a_serverless.agent import Completed, InputRequired, Turn, Update
from a2a_serverless.operations.files import create_file, upload_key
from a2a_serverless.operations.read import get_task
from a2a_serverless.ports import Caller, FilePolicy, Policy
from a2a_serverless.ports.uploads import GoneError
from a2a_serverless.protocol.errors import (
    ContentTypeNotSupportedError,
    InvalidParamsError,
    UnsupportedOperationError,
)
from a2a_serverless.protocol.files import CreateFileRequest, CreateFileResponse
from a2a_serverless.protocol.objects import Part, Task, TaskState
from a2a_serverless.protocol.requests import GetTaskRequest
from tests.fakes.ports import FakeUploads
from tests.unit.operations.world import (
    BOB,
    CALLER,
    ELSEWHERE,
    Died,
    Fate,
    Fault,
    World,
    asking,
    message,
)

CUP = b"\x89PNG of a cup"
CUP_DIGEST = hashlib.sha256(CUP).hexdigest()
MIB = 1024 * 1024


def request(**fields: Any) -> CreateFileRequest:
    given = {"contextId": "c", "name": "cup.png", "mediaType": "image/png", "byteSize": len(CUP)}
    return CreateFileRequest.from_dict({**given, **fields})


class Seen:
    """An agent that notes what it is given."""

    def __init__(self, *ends: Callable[[], Update]) -> None:
        self.turns: list[Turn] = []
        self.read: list[bytes] = []
        self.ends = list(ends)

    async def __call__(self, turn: Turn) -> AsyncIterator[Update]:
        self.turns.append(turn)
        self.read += [await each.read() for each in turn.attachments]
        yield self.ends.pop(0)() if self.ends else Completed()


def uploads(world: World) -> FakeUploads:
    assert isinstance(world.ports.uploads, FakeUploads)
    return world.ports.uploads


def upload(
    world: World, content: bytes = CUP, name: str = "cup.png", *, caller: Caller = CALLER, context: str = "c"
) -> Part:
    """Play a client that uploads a file; returns the part to send."""
    asked = request(name=name, contextId=context, byteSize=len(content))
    offered: CreateFileResponse = create_file(world.ports, caller, asked)
    uploads(world).put(upload_key(caller.context(context), name), content, asked.media_type)
    return offered.part


def send(world: World, number: str, *parts: Part, context: str = "c", caller: Caller = CALLER) -> Task:
    said = message(number, Part(text="look"), *parts, context_id=context)
    task = world.answer(asking(said), caller).task
    assert task is not None
    world.run_turns()
    return get_task(world.ports, caller, GetTaskRequest(id=task.id))


# --- the offer -------------------------------------------------


def test_an_offer_says_how_to_upload_and_what_to_send() -> None:
    world = World()

    offered = create_file(world.ports, CALLER, request(name="photos/a b.png", sha256=CUP_DIGEST.upper()))

    assert offered.part == Part(url="file:///photos/a%20b.png", filename="a b.png", media_type="image/png")
    assert offered.upload.method == "PUT"
    assert offered.upload.headers == {"Content-Type": "image/png"}
    assert offered.upload.expires_at == world.clock.now() + timedelta(minutes=15)
    ((key, (file, until)),) = uploads(world).offered.items()
    assert key == upload_key(CALLER.context("c"), "photos/a b.png")
    assert (file.media_type, file.byte_size, file.sha256) == ("image/png", len(CUP), CUP_DIGEST)
    assert until == offered.upload.expires_at
    assert world.table.items == {}


@pytest.mark.parametrize(
    ("fields", "blamed"),
    [
        ({"name": "../x"}, "name"),
        ({"name": "/etc/passwd"}, "name"),
        ({"name": "a//b"}, "name"),
        ({"name": ""}, "name"),
        ({"name": "x" * 513}, "name"),
        ({"name": "a\nb"}, "name"),
        ({"mediaType": "image"}, "mediaType"),
        ({"mediaType": "image/png\r\nX-Injected: 1"}, "mediaType"),
        ({"byteSize": -1}, "byteSize"),
        ({"byteSize": "many"}, "byteSize"),
        ({"sha256": "abc"}, "sha256"),
        ({"contextId": "../c"}, "contextId"),
        ({"contextId": ""}, "contextId"),
    ],
)
def test_a_file_that_cannot_be_is_refused_by_name(fields: dict[str, Any], blamed: str) -> None:
    with pytest.raises(InvalidParamsError) as error:
        request(**fields)

    assert {each.field for each in error.value.violations} == {blamed}


def test_a_file_that_is_too_large_is_refused() -> None:
    world = World()
    most = 25 * MIB
    create_file(world.ports, CALLER, request(byteSize=most))

    with pytest.raises(InvalidParamsError) as error:
        create_file(world.ports, CALLER, request(byteSize=most + 1))

    assert [each.field for each in error.value.violations] == ["byteSize"]


def test_a_file_of_a_type_that_the_agent_does_not_take_is_refused() -> None:
    world = World(policy=Policy(input_modes=("text/plain",)))

    with pytest.raises(ContentTypeNotSupportedError) as error:
        create_file(world.ports, CALLER, request())

    assert error.value.metadata == {"field": "mediaType", "mediaType": "image/png"}


def test_nothing_is_offered_where_files_are_switched_off() -> None:
    world = World(policy=Policy(files=FilePolicy(uploads=False)))

    with pytest.raises(UnsupportedOperationError):
        create_file(world.ports, CALLER, request())


# --- what the agent gets -------------------------------------------------


def test_a_small_file_reaches_the_agent_as_bytes_with_all_that_is_known_of_it() -> None:
    seen = Seen()
    world = World(agent=seen)

    send(world, "m", upload(world))

    (turn,) = seen.turns
    assert turn.message.parts[1] == Part(raw=CUP, filename="cup.png", media_type="image/png")
    (attachment,) = turn.attachments
    assert (attachment.part, attachment.filename, attachment.media_type) == (1, "cup.png", "image/png")
    assert (attachment.byte_size, attachment.sha256) == (len(CUP), CUP_DIGEST)
    assert attachment.source == "file:///cup.png"
    assert seen.read == [CUP]


def test_a_large_file_is_named_to_the_agent_which_opens_it_piece_by_piece() -> None:
    pieces: list[bytes] = []

    async def agent(turn: Turn) -> AsyncIterator[Update]:
        part = turn.message.parts[1]
        assert (part.url, part.raw) == ("file:///big.bin", None)
        pieces.extend([piece async for piece in turn.attachments[0].chunks()])
        pieces.extend([piece async for piece in turn.workspace.open("big.bin")])
        yield Completed()

    world = World(agent=agent)
    content = bytes(range(256)) * 4096 * 5

    task = send(world, "m", upload(world, content, "big.bin"))

    assert task.status.state is TaskState.COMPLETED
    assert b"".join(pieces) == content * 2
    assert max(map(len, pieces)) <= 256 * 1024


def test_small_files_are_bytes_only_as_long_as_they_are_small_together() -> None:
    seen = Seen()
    world = World(agent=seen, policy=Policy(files=FilePolicy(handed_over=20)))
    parts = [upload(world, b"x" * 12, name) for name in ("a", "b")]

    send(world, "m", *parts, upload(world, b"y" * 8, "c"))

    kinds = [part.which() for part in seen.turns[0].message.parts]
    assert kinds == ["text", "raw", "url", "raw"]
    assert [len(content) for content in seen.read] == [12, 12, 8]


def test_bytes_that_the_message_held_itself_are_attachments_too() -> None:
    seen = Seen()
    world = World(agent=seen, policy=Policy(log_limit=4))

    send(world, "m", Part(raw=CUP, media_type="image/png"), Part(raw=b"x"))

    assert [
        (each.part, each.filename, each.media_type, each.source) for each in seen.turns[0].attachments
    ] == [
        (1, None, "image/png", "raw"),
        (2, None, "application/octet-stream", "raw"),
    ]
    assert seen.read == [CUP, b"x"]


def test_a_file_stays_in_the_workspace_from_turn_to_turn() -> None:
    seen = Seen(lambda: InputRequired("?"))
    world = World(agent=seen)

    send(world, "m0", upload(world))
    send(world, "m1")

    files = world_files(seen.turns[1])
    assert files == {"cup.png": CUP_DIGEST}
    assert seen.turns[1].attachments == []


def world_files(turn: Turn) -> dict[str, str]:
    files: dict[str, Any] = turn.workspace.files  # type: ignore[attr-defined]
    return {name: file.sha256 for name, file in files.items()}


def test_the_client_is_shown_the_part_as_it_sent_it_and_which_bytes_it_meant() -> None:
    world = World()

    task = send(world, "m", upload(world))

    assert task.history[0].parts[1] == Part(
        url="file:///cup.png",
        filename="cup.png",
        media_type="image/png",
        metadata={"byteSize": len(CUP), "sha256": CUP_DIGEST},
    )


# --- what a name means -------------------------------------------------


def test_what_is_uploaded_later_changes_nothing_of_what_was_sent() -> None:
    seen = Seen()
    world = World(agent=seen)
    part = upload(world)
    said = message("m", Part(text="look"), part, context_id="c")
    assert world.answer(asking(said)).task is not None

    upload(world, b"another cup")
    world.run_turns()

    assert seen.read == [CUP]


def test_a_name_means_what_was_uploaded_last() -> None:
    seen = Seen()
    world = World(agent=seen)
    send(world, "m0", upload(world))

    send(world, "m1", upload(world, b"another cup"))

    assert seen.read == [CUP, b"another cup"]


def test_a_file_is_named_again_without_another_upload_and_without_another_copy() -> None:
    seen = Seen()
    world = World(agent=seen)
    part = upload(world)
    send(world, "m0", part)
    before = set(world.contents.stored)

    send(world, "m1", part)

    assert seen.read == [CUP, CUP]
    assert [key for key in set(world.contents.stored) - before if key.startswith("content/")] == []


def test_what_the_agent_wrote_since_is_what_the_name_means_until_the_next_upload() -> None:
    async def agent(turn: Turn) -> AsyncIterator[Update]:
        read.append(await turn.attachments[0].read())
        await turn.workspace.write("cup.png", b"retouched", "image/png")
        yield Completed()

    read: list[bytes] = []
    world = World(agent=agent)
    part = upload(world)

    send(world, "m0", part)
    send(world, "m1", part)
    upload(world, b"a new photo")
    send(world, "m2", part)

    assert read == [CUP, b"retouched", b"a new photo"]


def test_what_an_agent_wrote_may_be_named_by_its_caller() -> None:
    async def agent(turn: Turn) -> AsyncIterator[Update]:
        read.extend([await each.read() for each in turn.attachments])
        await turn.workspace.write("notes/plan.md", b"# Plan", "text/markdown")
        yield Completed()

    read: list[bytes] = []
    world = World(agent=agent)
    send(world, "m0")

    send(world, "m1", Part(url="file:///notes/plan.md"))

    assert read == [b"# Plan"]


def test_a_file_of_a_turn_that_was_about_to_be_forgotten_is_found_by_its_log() -> None:
    """The last turn has settled, and died before it told its context."""
    seen = Seen()
    world = World(agent=seen)
    part = upload(world)
    task = send(world, "m0", part)
    row = world.ports.contexts.read(CALLER.context("c"))
    forgetful = replace(row, state=None)
    world.ports.contexts.take(CALLER.context("c"), seen=row, taken=forgetful, expires=0)
    del world.contents.stored[upload_key(CALLER.context("c"), "cup.png")]

    send(world, "m1", part)

    assert task.status.state is TaskState.COMPLETED
    assert seen.read == [CUP, CUP]


@pytest.mark.parametrize("name", ["cup.png", "never"])
def test_a_file_that_is_not_there_is_refused_by_name_and_nothing_is_written(name: str) -> None:
    world = World()
    upload(world, name="else.png")
    before = dict(world.contents.stored)
    said = message("m", Part(text="look"), Part(url=f"file:///{name}"), context_id="c")

    with pytest.raises(InvalidParamsError) as error:
        world.answer(asking(said))

    assert error.value.message == "A2A file URL parts must reference an existing file."
    assert [each.field for each in error.value.violations] == ["message.parts[1].url"]
    assert (world.table.items, world.contents.stored) == ({}, before)


@pytest.mark.parametrize(("caller", "context"), [(BOB, "c"), (ELSEWHERE, "c"), (CALLER, "d"), (CALLER, None)])
def test_a_file_of_another_caller_tenant_or_context_is_not_there(caller: Caller, context: str | None) -> None:
    world = World()
    part = upload(world)
    ids = {"context_id": context} if context else {}

    with pytest.raises(InvalidParamsError) as error:
        world.answer(asking(message("m", part, **ids)), caller)

    assert error.value.message == "A2A file URL parts must reference an existing file."


def test_a_follow_up_by_the_task_alone_names_files_of_the_tasks_context() -> None:
    seen = Seen(lambda: InputRequired("?"))
    world = World(agent=seen)
    first = send(world, "m0")

    part = upload(world)
    world.answer(asking(message("m1", part, task_id=first.id)))
    world.run_turns()

    assert seen.read == [CUP]


def test_a_message_that_was_admitted_is_admitted_though_its_file_has_gone() -> None:
    world = World()
    part = upload(world)
    first = send(world, "m", part)
    world.contents.stored.clear()

    again = world.answer(asking(message("m", Part(text="look"), part, context_id="c"))).task

    assert again is not None
    assert again.id == first.id


def test_a_file_that_is_replaced_while_it_is_looked_at_is_looked_at_again() -> None:
    seen = Seen()
    world = World(agent=seen)
    part = upload(world)
    fake = uploads(world)
    copy = fake.copy

    class Meddled(FakeUploads):
        def copy(self, key: str, to: str, *, version: str | None = None) -> str:
            if self.versions[key] == 1:
                self.put(key, b"another cup", "image/png")
            return copy(key, to, version=version)

    meddled = Meddled(fake.contents, fake.clock, fake.offered, fake.versions)
    world.ports = replace(world.ports, uploads=meddled)

    send(world, "m", part)

    assert seen.read == [b"another cup"]


def test_a_file_that_was_uploaded_when_files_could_be_larger_is_refused_by_name() -> None:
    world = World(policy=Policy(files=FilePolicy(upload_bytes=4)))
    uploads(world).put(upload_key(CALLER.context("c"), "cup.png"), CUP, "image/png")

    with pytest.raises(InvalidParamsError) as error:
        send(world, "m", Part(url="file:///cup.png"))

    assert error.value.message == "A2A file part content is too large."
    assert [each.field for each in error.value.violations] == ["message.parts[1].url"]


def test_of_many_files_each_is_found_and_the_first_that_is_not_there_is_named() -> None:
    seen = Seen()
    world = World(agent=seen)
    parts = [upload(world, f"file {number}".encode(), f"{number}.txt") for number in range(20)]

    send(world, "m0", *parts)
    with pytest.raises(InvalidParamsError) as error:
        send(world, "m1", *parts, Part(url="file:///never"), Part(url="file:///neither"))

    assert seen.read == [f"file {number}".encode() for number in range(20)]
    assert [each.field for each in error.value.violations] == ["message.parts[21].url"]


def test_a_context_has_room_for_so_many_files() -> None:
    world = World(policy=Policy(files=FilePolicy(most=2)))
    parts = [upload(world, name=name) for name in ("a", "b", "c")]
    send(world, "m0", *parts[:2])

    with pytest.raises(InvalidParamsError) as error:
        send(world, "m1", parts[2])

    assert [each.field for each in error.value.violations] == ["message.parts"]


# --- whatever dies on the way -------------------------------------------------


@pytest.mark.parametrize("at", range(1, 8))
@pytest.mark.parametrize("fault", [Fault.DIES_BEFORE, Fault.DIES_AFTER, Fault.ANSWER_LOST])
def test_a_message_with_a_file_is_admitted_once_and_whole_whichever_write_is_the_last(
    at: int, fault: Fault
) -> None:
    """Meanwhile the file is replaced: what the first attempt kept, if it did, is what was sent."""
    seen = Seen()
    world = World(agent=seen)
    part = upload(world)
    said = message("m", Part(text="look"), part, context_id="c")
    fate = Fate(at, fault)
    with suppress(Died):
        world.answer(asking(said), ports=world.doomed(fate))
    recorded = world.pending() != [] or fate.writes > 2

    upload(world, b"another cup")
    again = world.answer(asking(said)).task
    world.recover()

    assert again is not None
    assert fate.writes >= min(at, 7)
    assert seen.read == [CUP if recorded else b"another cup"]
    assert world.pending() == []


@pytest.mark.parametrize("fault", [Fault.DIES_BEFORE, Fault.DIES_AFTER, Fault.ANSWER_LOST])
@pytest.mark.parametrize("at", range(1, 7))
def test_files_are_the_conversations_when_the_turn_has_settled_and_not_before(at: int, fault: Fault) -> None:
    """Its turn dies at each of its writes: either all that it wrote is there, or nothing."""

    async def agent(turn: Turn) -> AsyncIterator[Update]:
        if turn.message.parts[0].text == "look":
            seen.append({file.name for file in await turn.workspace.list()} | set(turn.state))
        else:
            await turn.workspace.write("a", b"one")
            await turn.workspace.write("b", b"two")
            turn.state["c"] = 3
        yield Completed()

    seen: list[set[str]] = []
    world = World(agent=agent)
    said = message("m0", Part(text="go"), context_id="c")
    task = world.answer(asking(said)).task
    assert task is not None
    world.invoke(world.turn(task.id), world.doomed(Fate(at, fault)))
    world.recover()

    send(world, "m1", Part(text="look"))
    settled = get_task(world.ports, CALLER, GetTaskRequest(id=task.id)).status.state

    assert seen == [{"a", "b", "c"} if settled is TaskState.COMPLETED else set()]


# --- how long it stays -------------------------------------------------


def test_a_file_is_kept_anew_for_a_task_that_outlives_it() -> None:
    seen = Seen()
    world = World(agent=seen, policy=Policy(retention=timedelta(days=30)))
    part = upload(world)
    send(world, "m0", part)
    (first,) = (key for key in world.contents.stored if key.startswith("content/"))
    world.clock.sleep(timedelta(days=20).total_seconds())
    send(world, "m1")
    world.clock.sleep(timedelta(days=11).total_seconds())
    del world.contents.stored[first]
    del world.contents.stored[upload_key(CALLER.context("c"), "cup.png")]

    send(world, "m2", part)

    assert seen.read == [CUP, CUP]
    assert world.incidents.reported == []


def test_a_file_that_went_away_too_early_is_told_of_and_forgotten() -> None:
    seen = Seen()
    world = World(agent=seen, policy=Policy(retention=timedelta(days=30)))
    send(world, "m0", upload(world))
    world.clock.sleep(timedelta(days=20).total_seconds())
    world.contents.stored = {
        key: stored for key, stored in world.contents.stored.items() if key.startswith("state/")
    }

    send(world, "m1")
    send(world, "m2")

    assert [world_files(turn) for turn in seen.turns] == [
        {"cup.png": CUP_DIGEST},
        {"cup.png": CUP_DIGEST},
        {},
    ]
    assert [type(error) for error, _ in world.incidents.reported] == [GoneError]


def test_earlier_messages_name_their_files_and_hold_none_of_them() -> None:
    seen = Seen(lambda: InputRequired("?"))
    world = World(agent=seen)
    task = send(world, "m0", upload(world))
    send(world, "m1")

    earlier = seen.turns[1].history[0].parts[1]
    assert (earlier.url, earlier.raw) == ("file:///cup.png", None)
    (before,) = [each for each in seen.turns[1].history if each.message_id == "m0"]
    assert before.parts == task.history[0].parts
