"""Streams (specification 3.1.2, 3.1.6, 3.5.2): a task first, then every event in order, from any position."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

import pytest

from a2a_serverless.agent import ArtifactChunk, AuthRequired, Completed, Turn, Update
from a2a_serverless.operations.cancel import cancel_task
from a2a_serverless.operations.streams import Frame, Frames, send_streaming_message, subscribe_to_task
from a2a_serverless.ports import Policy
from a2a_serverless.protocol.errors import (
    InvalidParamsError,
    RateLimitedError,
    TaskNotFoundError,
    UnsupportedOperationError,
)
from a2a_serverless.protocol.objects import Message, Part, Role
from a2a_serverless.protocol.requests import CancelTaskRequest, SubscribeToTaskRequest
from a2a_serverless.tasks.content import LoggedMessage, LoggedPart
from a2a_serverless.tasks.log import LoggedEvent, MessageReceived, Voided
from tests.fakes.ports import FakeContents, FakeStreamPlaces
from tests.unit.operations.world import CALLER, World, request

MINUTES = timedelta(minutes=5)


def sent(world: World, message_id: str, text: str = "go", *, task_id: str | None = None) -> Frames:
    until = world.clock.now() + MINUTES
    return send_streaming_message(world.ports, CALLER, request(message_id, text, task_id=task_id), until)


def followed(world: World, task_id: str, last: str | None = None) -> Frames:
    until = world.clock.now() + MINUTES
    return subscribe_to_task(world.ports, CALLER, SubscribeToTaskRequest(id=task_id), until, last)


def said(frames: Frames) -> list[Frame]:
    """Everything a stream says until it ends."""
    return [frame for frame in frames if frame is not None]


def told(frames: list[Frame]) -> list[str]:
    """Each frame in a word: the state of a task or update, or the artifact that changed."""
    words = []
    for frame in frames:
        shown = frame.response
        if shown.task:
            words.append(f"task {shown.task.status.state.name}")
        elif shown.status_update:
            words.append(shown.status_update.status.state.name)
        elif shown.artifact_update:
            words.append(shown.artifact_update.artifact.artifact_id)
        else:
            words.append("message")
    return words


def open_places(world: World) -> int:
    assert isinstance(world.ports.streams, FakeStreamPlaces)
    return len(world.ports.streams.taken)


@pytest.fixture
def world() -> World:
    """A deployment whose turns run by themselves, a tenth of a second after they were started."""
    world = World()
    world.executions.on_start = lambda key: world.clock.after(0.1, lambda: world.invoke(key))
    return world


def test_a_sent_message_streams_its_task_and_then_every_event_in_order(world: World) -> None:
    frames = said(sent(world, "m1"))

    assert told(frames) == ["task SUBMITTED", "WORKING", "WORKING", "result", "COMPLETED"]
    assert [frame.position for frame in frames] == [1, 2, 3, 4, 5]
    assert open_places(world) == 0


def test_a_stream_ends_when_its_turn_asks_and_the_next_one_begins_with_the_answer(world: World) -> None:
    asked = said(sent(world, "m1", "ask"))
    assert told(asked)[-1] == "INPUT_REQUIRED"
    task = asked[0].response.task
    assert task is not None

    answered = said(sent(world, "m2", "go", task_id=task.id))

    assert told(answered) == ["task WORKING", "WORKING", "WORKING", "result", "COMPLETED"]
    first = answered[0].response.task
    assert first is not None
    assert [message.message_id for message in first.history][::2] == ["m1", "m2"]


def test_the_same_message_again_streams_the_same_task_as_it_stands(world: World) -> None:
    first = said(sent(world, "m1"))

    again = said(sent(world, "m1"))

    assert told(again) == ["task COMPLETED"]
    assert again[0].position == first[-1].position


async def authorised_meanwhile(turn: Turn) -> AsyncIterator[Update]:
    """Asks for an authorisation, and goes on when told that it is there."""
    if (turn.message.parts[0].text or "").startswith("go on"):
        yield Completed("thank you")
    else:
        yield AuthRequired("Please sign in.")


def test_a_stream_stays_open_while_an_authorisation_is_awaited(world: World) -> None:
    """Specification 7.6.1."""
    world.agent = authorised_meanwhile
    stream = sent(world, "m1")
    seen = [frame for frame in (next(stream) for _ in range(6)) if frame]
    task = seen[0].response.task
    assert task is not None
    assert told(seen)[-1] == "AUTH_REQUIRED"

    world.send("m2", "go on", task_id=task.id)

    assert told(said(stream)) == ["WORKING", "COMPLETED"]


def test_a_subscription_stays_open_through_a_question_until_the_task_has_ended(world: World) -> None:
    waiting = world.send("m1", "ask")
    world.clock.sleep(1)
    subscription = followed(world, waiting.id)
    assert told([frame for frame in (next(subscription), next(subscription)) if frame]) == [
        "task INPUT_REQUIRED"
    ]

    world.send("m2", "go", task_id=waiting.id)

    assert told(said(subscription)) == ["WORKING", "WORKING", "result", "COMPLETED"]
    assert open_places(world) == 0


@pytest.mark.parametrize("position", [1, 2, 3, 4, 5])
def test_from_any_position_a_stream_shows_the_task_as_it_stood_and_exactly_what_came_after(
    world: World, position: int
) -> None:
    whole = said(sent(world, "m1"))
    task = whole[0].response.task
    assert task is not None

    replay = said(followed(world, task.id, str(position)))

    assert replay[0].position == position
    assert replay[0].response.task is not None
    assert replay[1:] == [frame for frame in whole if frame.position and frame.position > position]


def test_two_streams_of_one_task_see_the_same_events_in_the_same_order(world: World) -> None:
    task = world.send("m1")

    first, second = followed(world, task.id), followed(world, task.id)

    assert said(first) == said(second)


def test_a_client_that_leaves_changes_nothing_for_the_task(world: World) -> None:
    stream = sent(world, "m1")
    opening = next(stream)
    assert opening is not None
    assert open_places(world) == 1

    stream.close()  # type: ignore[attr-defined]
    world.clock.sleep(1)

    task = opening.response.task
    assert task is not None
    assert open_places(world) == 0
    assert told(said(followed(world, task.id, "1")))[-1] == "COMPLETED"


def test_a_cancel_closes_a_stream_with_canceled_exactly_once() -> None:
    world = World()
    stream = sent(world, "m1")
    opening = next(stream)
    assert opening is not None
    assert opening.response.task is not None

    cancel_task(world.ports, CALLER, CancelTaskRequest(id=opening.response.task.id))

    assert told(said(stream)) == ["CANCELED"]


def test_a_stream_closes_itself_in_time_and_can_be_gone_on_with() -> None:
    world = World()
    before = world.clock.now()
    stream = said(sent(world, "m1"))
    assert told(stream) == ["task SUBMITTED"]
    assert world.clock.now() - before == MINUTES

    world.run_turns()

    task = stream[0].response.task
    assert task is not None
    assert told(said(followed(world, task.id, str(stream[0].position))))[1:] == [
        "WORKING",
        "WORKING",
        "result",
        "COMPLETED",
    ]


def test_while_nothing_happens_a_stream_says_so_at_least_every_second() -> None:
    world = World()

    moments = [world.clock.now() for _ in sent(world, "m1")]

    gaps = [(after - before).total_seconds() for before, after in pairwise(moments)]
    assert max(gaps) <= 1.0


def test_what_no_stream_shows_is_no_reason_to_be_silent() -> None:
    """The reader's client counts seconds, not events of the log."""
    world = World()
    stream = sent(world, "m1")
    opening = next(stream)
    assert opening is not None
    assert opening.response.task is not None
    key = CALLER.task(opening.response.task.id)
    task = world.load(key.task_id)

    def note() -> None:
        position = world.load(key.task_id).position + 1
        world.ports.tasks.append(key, LoggedEvent(position, "w", task.expires, Voided()))

    for number in range(1, 60):
        world.clock.after(20 + 3 * number, note)
    moments = [world.clock.now() for _ in stream]

    assert world.load(key.task_id).position == 60
    gaps = [(after - before).total_seconds() for before, after in pairwise(moments)]
    assert max(gaps) <= 1.0


def test_a_quiet_stream_reads_at_most_once_a_second_in_the_long_run() -> None:
    world = World()

    looks = sum(frame is None for frame in sent(world, "m1"))

    assert looks < 7 * 10 + 60 * 5


async def chunks(turn: Turn) -> AsyncIterator[Update]:
    """Streams text in pieces."""
    for piece in ("Hel", "lo, ", "wor", "ld"):
        yield ArtifactChunk("greeting", piece)
    yield Completed()


def test_text_in_pieces_reads_the_same_by_stream_and_after_replay(world: World) -> None:
    world.agent = chunks
    frames = said(sent(world, "m1"))

    updates = [frame.response.artifact_update for frame in frames if frame.response.artifact_update]
    assert "".join(part.text or "" for update in updates for part in update.artifact.parts) == "Hello, world"
    assert [update.append for update in updates] == [False, *[True] * (len(updates) - 1)]
    task = said(followed(world, updates[0].task_id, str(frames[-1].position)))[0].response.task
    assert task is not None
    assert [part.text for part in task.artifacts[0].parts] == ["Hello, world"]


async def big(turn: Turn) -> AsyncIterator[Update]:
    """Adds a part that is too big to be shown inline to one that is not."""
    yield ArtifactChunk("report", parts=[Part(text="small")])
    yield ArtifactChunk("report", parts=[Part(raw=b"x" * 300_000)], last_chunk=True)


def test_content_too_big_for_a_frame_has_the_address_it_has_in_the_task(world: World) -> None:
    world.agent = big
    frames = said(sent(world, "m1"))

    update = frames[-2].response.artifact_update
    assert update is not None
    task_id = update.task_id
    assert update.artifact.parts[0].url == f"https://agent.example/artifacts/{task_id}/report/1"


def test_an_instant_reply_is_the_only_frame_of_its_stream() -> None:
    world = World()
    reply = Message(message_id="r", role=Role.AGENT, parts=(Part(text="hello"),))
    ports = replace(world.ports, answer=lambda _: reply)

    frames = said(send_streaming_message(ports, CALLER, request("m1"), world.clock.now() + MINUTES))

    assert told(frames) == ["message"]
    assert frames[0].position is None
    assert open_places(world) == 0


def test_what_a_send_refuses_is_refused_before_the_first_frame(world: World) -> None:
    with pytest.raises(TaskNotFoundError):
        sent(world, "m1", task_id="nobody")

    assert open_places(world) == 0


def test_a_message_whose_task_cannot_be_shown_keeps_no_stream_open(world: World) -> None:
    world.policy = replace(world.policy, log_limit=10)
    world.ports = replace(world.ports, policy=world.policy, contents=Forgetful())

    with pytest.raises(KeyError):
        sent(world, "m1", "more than ten bytes of text")

    assert open_places(world) == 0


class Forgetful(FakeContents):
    """Keeps nothing."""

    def put(self, key: str, content: bytes, media_type: str) -> None:
        """Forget it at once."""


def test_a_subscription_to_nothing_or_to_what_has_ended_is_refused(world: World) -> None:
    with pytest.raises(TaskNotFoundError):
        followed(world, "nobody")
    task = world.send("m1")
    world.clock.sleep(1)

    with pytest.raises(UnsupportedOperationError):
        followed(world, task.id)


@pytest.mark.parametrize("last", ["0", "-1", "6", "x", "", "1.0", "٣", "1" * 30, "01"])
def test_a_last_event_id_that_this_task_never_gave_is_refused(world: World, last: str) -> None:
    task = world.send("m1")
    world.clock.sleep(1)

    with pytest.raises(InvalidParamsError) as refused:
        followed(world, task.id, last)

    assert [violation.field for violation in refused.value.violations] == ["lastEventId"]


def test_a_position_at_which_there_was_no_task_yet_is_no_event_of_it(world: World) -> None:
    """A message refused at once leaves a void; a stream never showed it."""
    key, expires = CALLER.task("t"), int(world.clock.now().timestamp()) + 3600
    received = MessageReceived(
        message=LoggedMessage(message_id="m", role=Role.USER, parts=(LoggedPart(text="go"),)),
        context_id="c",
        received_at=world.clock.now(),
    )
    for position, entry in enumerate((Voided(), received), 1):
        world.ports.tasks.append(key, LoggedEvent(position, "w", expires, entry))

    with pytest.raises(InvalidParamsError):
        followed(world, "t", "1")
    assert next(followed(world, "t", "2")) is not None


def test_one_caller_may_have_only_so_many_streams_open_at_once() -> None:
    world = World(policy=Policy(streams_per_caller=2))
    task = world.send("m1")
    streams = [followed(world, task.id) for _ in range(2)]
    for stream in streams:
        next(stream)

    with pytest.raises(RateLimitedError):
        followed(world, task.id)
    with pytest.raises(RateLimitedError):
        sent(world, "m2")
    assert len(world.executions.started) == 1, "a refused stream admits nothing"

    streams[0].close()  # type: ignore[attr-defined]
    assert next(followed(world, task.id)) is not None


def test_a_stream_that_died_gives_its_place_back_when_it_would_have_closed() -> None:
    world = World(policy=Policy(streams_per_caller=1))
    task = world.send("m1")
    assert next(followed(world, task.id)) is not None
    world.clock.sleep(MINUTES.total_seconds())

    assert next(followed(world, task.id)) is not None
