"""Another agent as part of a turn: its progress, its questions, and what happens when nobody is there."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from typing import Any

import httpx
import pytest

from a2a_serverless.agent import (
    ArtifactChunk,
    Completed,
    InputRequired,
    Message,
    Part,
    Turn,
    Update,
    Working,
)
from a2a_serverless.agent.rehearsal import rehearse
from a2a_serverless.client.remote_agent import RemoteAgent
from a2a_serverless.client.view import TaskView
from a2a_serverless.protocol.events import StreamResponse
from a2a_serverless.protocol.objects import Role, TaskState
from tests.unit.client.agents_on_paper import URL, Answering, Paper, card, rpc, rpc_error, task


class Pieces(httpx.AsyncByteStream):
    """A body that breaks off or falls silent after its pieces."""

    def __init__(self, pieces: list[bytes], then: str) -> None:
        self.pieces = pieces
        self.then = then

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self.pieces:
            yield piece
        if self.then == "cut":
            raise httpx.ReadError("gone")
        if self.then == "silence":
            await asyncio.Event().wait()


def streamed(*frames: Mapping[str, Any], ids: int | None = None, then: str = "end") -> Answering:
    def answer(request: httpx.Request) -> httpx.Response:
        rpc_id = json.loads(request.content)["id"]
        pieces = []
        for number, frame in enumerate(frames, start=ids or 0):
            said = json.dumps({"jsonrpc": "2.0", "id": rpc_id, "result": frame})
            place = f"id: {number}\n" if ids is not None else ""
            pieces.append(f"{place}data: {said}\n\n".encode())
        return httpx.Response(200, stream=Pieces(pieces, then), headers={"Content-Type": "text/event-stream"})

    return answer


def status(state: str, text: str | None = None) -> dict[str, Any]:
    said: dict[str, Any] = {"state": f"TASK_STATE_{state}"}
    if text is not None:
        said["message"] = {"messageId": f"m-{text}", "role": "ROLE_AGENT", "parts": [{"text": text}]}
    return {"statusUpdate": {"taskId": "t1", "contextId": "c1", "status": said}}


def chunk(text: str, *, append: bool = False) -> dict[str, Any]:
    artifact = {"artifactId": "report/1", "parts": [{"text": text}]}
    return {"artifactUpdate": {"taskId": "t1", "contextId": "c1", "artifact": artifact, "append": append}}


BEGUN = {"task": task("TASK_STATE_SUBMITTED")}


def remote(paper: Paper, **given: Any) -> RemoteAgent:
    return RemoteAgent(url=URL, name="helper", options=paper.options(poll_seconds=0), **given)


def sent(paper: Paper, number: int) -> dict[str, Any]:
    message: dict[str, Any] = paper.params(number)["message"]
    return message


def test_what_it_does_is_told_as_the_turns_own_progress() -> None:
    paper = Paper(
        [
            streamed(
                BEGUN,
                status("WORKING", "Looking"),
                chunk("Fi"),
                chunk("ne", append=True),
                status("COMPLETED"),
            )
        ]
    )

    (turn,) = rehearse(remote(paper), "Check it").turns

    assert turn.updates == (
        Working("Looking"),
        ArtifactChunk("report-1", "Fi", append=False),
        ArtifactChunk("report-1", "ne", append=True),
        Completed(),
    )
    assert turn.state is TaskState.COMPLETED
    assert sent(paper, 0)["parts"] == [{"text": "Check it"}]


def test_its_question_is_asked_on_and_the_next_message_is_the_answer_to_it() -> None:
    paper = Paper(
        [
            streamed(BEGUN, status("INPUT_REQUIRED", "Which order?")),
            streamed({"task": task("TASK_STATE_WORKING")}, status("COMPLETED", "Done.")),
            streamed(BEGUN, status("COMPLETED")),
        ]
    )

    happened = rehearse(remote(paper), "Check it", "ORD-1042", "And another")

    first, second, third = happened.turns
    assert (first.state, first.text) == (TaskState.INPUT_REQUIRED, "Which order?")
    assert (second.state, second.text) == (TaskState.COMPLETED, "Done.")
    asked = [sent(paper, number) for number in range(3)]
    assert [each.get("taskId") for each in asked] == [None, "t1", None]
    assert [each.get("contextId") for each in asked] == [None, "c1", "c1"]
    assert len({each["messageId"] for each in asked}) == 3
    assert third.state is TaskState.COMPLETED


class Living(Paper):
    """An agent with one task, of which things happen whether or not anybody listens; with ids or without."""

    def __init__(self, *frames: Mapping[str, Any], ids: bool = True, silent_after: int = 100) -> None:
        super().__init__([])
        self.frames = [BEGUN, *frames]
        self.ids = ids
        self.happened = min(silent_after, len(self.frames))
        self.methods: list[str] = []

    def stood(self, place: int) -> dict[str, Any]:
        """The task after so many frames, with what was said on the way in its history, as the SDK has it."""
        view, said = TaskView(), []
        for frame in self.frames[:place]:
            view.apply(StreamResponse.from_dict(frame))
            message = frame.get("statusUpdate", {}).get("status", {}).get("message")
            said += [message] if message else []
        assert view.task is not None
        return {**view.task.to_dict(), "history": said}

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("agent-card.json"):
            return await super().handle_async_request(request)
        method = json.loads(request.content)["method"]
        self.methods.append(method)
        self.asked.append(request)
        if method == "GetTask":
            return rpc(request, self.stood(self.happened))
        if method == "SendStreamingMessage":
            then = "silence" if self.happened < len(self.frames) else "end"
            return streamed(*self.frames[: self.happened], ids=1 if self.ids else None, then=then)(request)
        if not self.ids and self.happened == len(self.frames):
            return rpc_error(request, {"code": -32004, "message": "It has ended"})
        place = int(request.headers.get("last-event-id", self.happened))
        self.happened = len(self.frames)
        now = {"task": self.stood(place)}
        return streamed(now, *self.frames[place:], ids=place if self.ids else None)(request)


WORK = (status("WORKING", "Looking"), chunk("Fi"), chunk("ne", append=True), status("COMPLETED"))


@pytest.mark.parametrize("silent_after", [1, 2, 3, 4, 100])
def test_a_turn_sleeps_through_silence_and_goes_on_where_it_was(silent_after: int) -> None:
    living = Living(*WORK, silent_after=silent_after)

    (turn,) = rehearse(remote(living, patience=0.02), "Check it", resume=True).turns

    assert turn.updates == (
        Working("Looking"),
        ArtifactChunk("report-1", "Fi", append=False),
        ArtifactChunk("report-1", "ne", append=True),
        Completed(),
    )
    assert living.methods[0] == "SendStreamingMessage"
    assert set(living.methods[1:]) <= {"SubscribeToTask"}


@pytest.mark.parametrize("silent_after", [1, 2, 3, 4, 100])
def test_where_events_have_no_ids_it_goes_on_with_what_is_new(silent_after: int) -> None:
    living = Living(*WORK, ids=False, silent_after=silent_after)

    happened = rehearse(remote(living, patience=0.02), "Check it", resume=True)

    updates = happened.updates
    assert happened.texts == {"report-1": "Fine"}
    assert "".join(each.text or "" for each in updates if isinstance(each, ArtifactChunk)) == "Fine"
    assert [each for each in updates if isinstance(each, Working)] == [Working("Looking")]
    assert updates[-1] == Completed()


def test_a_message_of_which_nothing_was_heard_is_sent_again_under_its_id() -> None:
    gone = httpx.Response(503)
    paper = Paper([*[lambda _: gone] * 4, streamed(BEGUN, status("COMPLETED"))])

    (turn,) = rehearse(remote(paper), "Check it", resume=True).turns

    assert turn.state is TaskState.COMPLETED
    assert turn.segments == 2
    assert len({sent(paper, number)["messageId"] for number in range(5)}) == 1


def test_an_agent_that_stays_out_of_reach_is_given_up() -> None:
    paper = Paper([lambda _: httpx.Response(503)])

    (turn,) = rehearse(remote(paper, failures=3), "Check it", resume=True).turns

    assert turn.state is TaskState.FAILED
    assert "helper cannot be reached" in (turn.text or "")
    assert len(paper.asked) == 3 * 4


def test_an_agent_that_refuses_is_quoted_and_the_conversation_goes_on() -> None:
    paper = Paper(
        [
            lambda request: rpc_error(request, {"code": -32005, "message": "No pictures"}),
            streamed(BEGUN, status("COMPLETED")),
        ]
    )

    first, second = rehearse(remote(paper), "Check it", "Again").turns

    assert (first.state, first.text) == (TaskState.FAILED, "helper refuses: No pictures")
    assert second.state is TaskState.COMPLETED


@pytest.mark.parametrize(
    ("state", "becomes"),
    [
        ("FAILED", TaskState.FAILED),
        ("REJECTED", TaskState.REJECTED),
        ("CANCELED", TaskState.FAILED),
        ("AUTH_REQUIRED", TaskState.AUTH_REQUIRED),
        ("COMPLETED", TaskState.COMPLETED),
    ],
)
def test_how_it_ends_is_how_the_turn_ends(state: str, becomes: TaskState) -> None:
    paper = Paper([streamed(BEGUN, status(state, "So it is."))])

    (turn,) = rehearse(remote(paper), "Check it").turns

    assert (turn.state, turn.text) == (becomes, "So it is.")


def test_an_authorisation_given_elsewhere_is_not_asked_for_again() -> None:
    done = task(artifacts=[{"artifactId": "a", "parts": [{"text": "Made"}]}])
    paper = Paper([streamed(BEGUN, status("AUTH_REQUIRED", "Log in")), lambda request: rpc(request, done)])

    happened = rehearse(remote(paper), "Check it", "I did")

    assert happened.turns[1].state is TaskState.COMPLETED
    assert happened.texts == {"a": "Made"}
    assert [json.loads(each.content)["method"] for each in paper.asked] == ["SendStreamingMessage", "GetTask"]


def test_an_authorisation_that_is_still_wanted_takes_the_message() -> None:
    waiting = task("TASK_STATE_AUTH_REQUIRED")
    paper = Paper(
        [
            streamed(BEGUN, status("AUTH_REQUIRED", "Log in")),
            lambda request: rpc(request, waiting),
            streamed({"task": task("TASK_STATE_WORKING")}, status("COMPLETED")),
        ]
    )

    happened = rehearse(remote(paper), "Check it", "secret word")

    assert happened.turns[1].state is TaskState.COMPLETED
    assert sent(paper, 2)["taskId"] == "t1"


def test_an_agent_that_does_not_stream_is_looked_at() -> None:
    paper = Paper(
        [
            lambda request: rpc(request, {"task": task("TASK_STATE_WORKING")}),
            lambda request: rpc(request, task("TASK_STATE_WORKING")),
            lambda request: rpc(request, task(artifacts=[{"artifactId": "a", "parts": [{"text": "Made"}]}])),
        ],
        card=card(capabilities={}),
    )

    happened = rehearse(remote(paper), "Check it")

    assert happened.texts == {"a": "Made"}


def test_a_message_without_a_task_is_a_whole_answer() -> None:
    message = {"messageId": "r", "role": "ROLE_AGENT", "parts": [{"text": "Hi"}], "contextId": "c1"}
    paper = Paper([streamed({"message": message})])

    (turn,) = rehearse(remote(paper), "Hello").turns

    assert (turn.state, turn.text) == (TaskState.COMPLETED, "Hi")


def test_what_a_tool_asks_is_answered_at_once_when_the_turn_is_called_again() -> None:
    living = Living(chunk("42"), status("COMPLETED", "Known."))
    helper = remote(living)

    async def agent(turn: Turn) -> AsyncIterator[Update]:
        first = await helper.ask(turn, "One?", step="one")
        if turn.segment < 5:
            await turn.checkpoint(resume_after=1)
        second = await helper.ask(turn, "Two?", step="two")
        yield Completed(f"{first.text} / {second.text}")

    (turn,) = rehearse(agent, "Go", resume=True).turns

    assert turn.text == "Known.\n\n42 / Known.\n\n42"
    assert living.methods.count("SendStreamingMessage") == 2


class Patient:
    """A host that never ends an invocation."""

    def remaining_seconds(self) -> float:
        return 100.0

    async def checkpoint(self, resume_after: float) -> None:
        """Go on."""

    async def ask_permission(self, permission: Any) -> bool:
        return False


def a_turn(text: str = "Check it") -> Turn:
    message = Message(message_id="m1", role=Role.USER, parts=(Part(text=text),))
    return Turn(message=message, task_id="parent", context_id="context", host=Patient())


class SleepingError(Exception):
    """An invocation that has ended at a checkpoint."""


class Deployed(Patient):
    """A host that ends the invocation when it is asked to wake it up later."""

    def __init__(self) -> None:
        self.sleeps: list[float] = []

    async def checkpoint(self, resume_after: float) -> None:
        if resume_after:
            self.sleeps.append(resume_after)
            raise SleepingError


def test_an_agent_that_stays_silent_is_looked_at_less_and_less_often() -> None:
    host = Deployed()
    turn = replace(a_turn(), host=host)
    silence = streamed(BEGUN, ids=1, then="silence")
    speaks = streamed(BEGUN, status("WORKING", "Looking"), ids=1, then="silence")
    helper = remote(
        Paper([silence, silence, silence, speaks, silence]), patience=0.01, pauses=(1.0, 2.0, 5.0)
    )

    async def invocation() -> None:
        with pytest.raises(SleepingError):
            _ = [update async for update in helper.delegate(turn)]

    for _ in range(5):
        asyncio.run(invocation())

    assert host.sleeps == [1.0, 2.0, 5.0, 1.0, 2.0]


@pytest.mark.parametrize("leaving", ["cancelled", "closed"])
def test_a_turn_that_is_cancelled_cancels_the_other_task(leaving: str) -> None:
    paper = Paper(
        [
            streamed(BEGUN, status("WORKING", "Looking"), ids=1, then="silence"),
            lambda request: rpc(request, task("TASK_STATE_CANCELED")),
        ]
    )

    async def run() -> None:
        updates = remote(paper).delegate(a_turn())
        assert await anext(updates) == Working("Looking")
        if leaving == "closed":
            await updates.aclose()
            return
        waiting = asyncio.ensure_future(anext(updates))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    asyncio.run(run())

    assert json.loads(paper.asked[-1].content)["method"] == "CancelTask"
    assert paper.params() == {"id": "t1"}


def test_a_turn_that_is_over_cancels_nothing() -> None:
    paper = Paper([streamed(BEGUN, status("INPUT_REQUIRED", "Which?"))])

    async def run() -> None:
        async for update in remote(paper).delegate(a_turn()):
            assert update == InputRequired("Which?")
            break

    asyncio.run(run())

    assert len(paper.asked) == 1


def test_a_skill_and_the_media_types_that_are_wanted_are_passed_on() -> None:
    paper = Paper([streamed(BEGUN, status("COMPLETED"))])

    rehearse(remote(paper, skill="orders"), "Check it", accepted_output_modes=("text/plain",))

    assert paper.params()["metadata"] == {"skill": "orders"}
    assert paper.params()["configuration"] == {"acceptedOutputModes": ["text/plain"]}


def test_parts_that_are_no_text_cross_over_both_ways() -> None:
    question = status("INPUT_REQUIRED", "Allow?")
    question["statusUpdate"]["status"]["message"]["parts"].append({"data": {"inputId": "i1"}})
    paper = Paper([streamed(BEGUN, question), streamed(BEGUN, status("COMPLETED"))])

    first, _ = rehearse(remote(paper), "Check it", Part(data={"inputId": "i1", "decision": "deny"})).turns

    assert first.updates == (InputRequired("Allow?", (Part(data={"inputId": "i1"}),)),)
    assert sent(paper, 1)["parts"] == [{"data": {"inputId": "i1", "decision": "deny"}}]


def with_link(url: str) -> dict[str, Any]:
    update = chunk("")
    part = {"url": url, "mediaType": "image/png", "filename": "cup.png"}
    update["artifactUpdate"]["artifact"]["parts"] = [part]
    return update


def test_a_file_in_the_other_agents_deployment_becomes_one_of_this_turns() -> None:
    content = httpx.Response(200, content=b"\x89PNG", headers={"Content-Type": "image/png"})
    paper = Paper(
        [streamed(BEGUN, with_link(f"{URL}/artifacts/t1/x"), status("COMPLETED")), lambda _: content]
    )

    happened = rehearse(remote(paper), "Draw it")

    (part,) = happened.artifacts["report-1"].parts
    assert (part.raw, part.media_type, part.filename) == (b"\x89PNG", "image/png", "cup.png")
    assert happened.state is TaskState.COMPLETED


def test_a_link_to_elsewhere_stays_one() -> None:
    elsewhere = "https://elsewhere.example/cup.png"
    paper = Paper([streamed(BEGUN, with_link(elsewhere), status("COMPLETED"))])

    happened = rehearse(remote(paper), "Draw it")

    assert happened.artifacts["report-1"].parts[0].url == elsewhere


def test_a_file_that_cannot_be_had_fails_the_turn_in_words() -> None:
    gone = httpx.Response(404, text="nothing")
    paper = Paper([streamed(BEGUN, with_link(f"{URL}/artifacts/t1/x"), status("COMPLETED")), lambda _: gone])

    happened = rehearse(remote(paper), "Draw it")

    assert happened.state is TaskState.FAILED
    assert "helper cannot be reached" in happened.text


def test_an_agent_that_does_not_let_this_one_in_is_told_from_one_that_refuses() -> None:
    paper = Paper([lambda _: httpx.Response(401)])

    assert rehearse(remote(paper), "Check it").text == "helper does not let this agent in."


def test_more_may_be_said_than_the_message_of_the_turn() -> None:
    living = Living(status("COMPLETED"))
    own = Message(message_id="own", role=Role.USER, parts=(Part(text="In other words"),))

    async def agent(turn: Turn) -> AsyncIterator[Update]:
        async for update in remote(living).delegate(turn, own):
            yield update

    rehearse(agent, "Check it")

    assert sent(living, 0)["parts"] == [{"text": "In other words"}]
    assert sent(living, 0)["messageId"] != "own"


def test_before_anything_was_said_it_has_no_task() -> None:
    paper = Paper([streamed(BEGUN)])

    assert asyncio.run(remote(paper).task(a_turn())) is None
    assert not remote(paper).awaits_answer(a_turn())
