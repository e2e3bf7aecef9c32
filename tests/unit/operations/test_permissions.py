"""Permission: the question, who may answer it and how, and what an answer allows, however things break."""

import math
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from a2a_serverless.agent import Completed, InputRequired, Part, Permission, Turn, Update, Working
from a2a_serverless.operations.cancel import cancel_task
from a2a_serverless.operations.permissions import Decision, Question, Questions
from a2a_serverless.operations.waiting import TurnContinues
from a2a_serverless.ports import Policy, Ports
from a2a_serverless.protocol.errors import (
    A2AError,
    InvalidParamsError,
    TaskNotFoundError,
    UnsupportedOperationError,
)
from a2a_serverless.protocol.extensions import Extension, PermissionMode
from a2a_serverless.protocol.objects import TaskState
from a2a_serverless.protocol.requests import CancelTaskRequest
from a2a_serverless.tasks.content import logged, logged_message
from a2a_serverless.tasks.log import MessageReceived, StatusChanged
from tests.unit.operations.permitted import DELETE, answered, careful, decision, question
from tests.unit.operations.world import BOB, CALLER, Died, Fate, Fault, World, asking, at_once, message, plays

URI = Extension.PERMISSIONS.uri


@pytest.fixture
def world() -> World:
    return World(agent=careful)


def decisions(world: World, task_id: str) -> list[dict[str, Any]]:
    """What the log says was decided."""
    progress = [entry for entry in world.entries(task_id) if isinstance(entry, StatusChanged)]
    return [dict(entry.metadata[URI]) for entry in progress if URI in entry.metadata]


def agent_asking(*permissions: Permission, told: list[bool]) -> Callable[[Turn], AsyncIterator[Update]]:
    """An agent that asks for these one after the other and keeps nothing in mind."""

    async def agent(turn: Turn) -> AsyncIterator[Update]:
        for permission in permissions:
            told.append(await turn.ask_permission(permission))  # noqa: PERF401  one by one
        yield Completed("done")

    return agent


# --- the question --------------------------------------------------


def test_the_question_ends_the_turn_in_words_and_as_data(world: World) -> None:
    task = world.said("m0", context_id="c")

    assert task.status.state is TaskState.INPUT_REQUIRED
    assert task.status.message is not None
    assert task.status.message.extensions == (URI,)
    words, data = task.status.message.parts
    assert words.text == (
        "Permission needed: Delete the stack web-prod\n"
        "Tool: ros.delete_stack\n"
        "Target: web-prod\n"
        "Purpose: You asked for it.\n"
        "Effect: Everything in it is gone."
    )
    assert data.media_type == "application/json"
    assert data.data == {
        "schemaVersion": 1,
        "kind": "permission",
        "inputId": data.data["inputId"],
        "taskId": task.id,
        "contextId": "c",
        "tool": "ros.delete_stack",
        "title": "Delete the stack web-prod",
        "purpose": "You asked for it.",
        "effect": "Everything in it is gone.",
        "target": "web-prod",
        "arguments": {"StackId": "s-1", "RetainAll": False},
        "readOnly": False,
        "options": ["allow_once", "deny"],
    }


def test_a_question_without_more_to_say_is_short() -> None:
    world = World(agent=agent_asking(Permission("look", "Look around", read_only=True), told=[]))

    task = world.said("m0")

    assert task.status.message is not None
    assert task.status.message.parts[0].text == (
        "Permission needed: Look around\nTool: look\nThis changes nothing."
    )
    assert question(task)["arguments"] == {}


def test_every_question_has_an_id_of_its_own(world: World) -> None:
    first, second = (question(world.said(name))["inputId"] for name in ("m0", "m1"))

    assert first != second
    assert first.rpartition(".")[2] == second.rpartition(".")[2]


@pytest.mark.parametrize(
    "arguments", [{"x": math.nan}, {"x": object()}, {"x": "\ud800"}, {"x": "y" * 70_000}, {"x": b"bytes"}]
)
def test_what_cannot_be_asked_fails_where_it_is_asked(arguments: Any) -> None:
    world = World(agent=agent_asking(replace(DELETE, arguments=arguments), told=[]))

    assert world.said("m0").status.state is TaskState.FAILED
    assert isinstance(world.incidents.reported[0][0], ValueError)


# --- the answer --------------------------------------------------


def test_an_allowed_agent_comes_to_its_question_again_and_goes_on(world: World) -> None:
    asked = world.said("m0")

    task = answered(world, "m1", asked, decision(question(asked)))

    assert task.status.state is TaskState.COMPLETED
    assert [artifact.artifact_id for artifact in task.artifacts] == ["receipt"]
    assert [each.message_id for each in task.history if each.role.name == "USER"] == ["m0", "m1"]


def test_a_denied_agent_is_told_so(world: World) -> None:
    asked = world.said("m0")

    assert answered(world, "m1", asked, decision(question(asked), "deny")).status.state is TaskState.REJECTED


def test_what_the_agent_remembered_when_it_asked_is_there_when_it_is_answered(world: World) -> None:
    asked = world.said("m0", context_id="c")
    answered(world, "m1", asked, decision(question(asked)))

    world.agent = plays(Completed())
    remembered = world.contents.get(world.load(asked.id).settled_state or "")

    assert remembered == b'{"begun": 2, "told": [true]}'


def test_the_log_says_what_was_decided_before_the_agent_hears_of_it(world: World) -> None:
    seen: list[list[dict[str, Any]]] = []

    async def agent(turn: Turn) -> AsyncIterator[Update]:
        await turn.ask_permission(DELETE)
        seen.append(decisions(world, turn.task_id))
        yield Completed()

    world.agent = agent
    asked = world.said("m0")
    answered(world, "m1", asked, decision(question(asked)))

    assert seen == [
        [
            {
                "schemaVersion": 1,
                "kind": "permission_decision",
                "decision": "allow_once",
                "automatic": False,
                "tool": "ros.delete_stack",
                "title": "Delete the stack web-prod",
                "target": "web-prod",
                "inputId": question(asked)["inputId"],
            }
        ]
    ]


def test_a_decision_holds_in_every_segment_of_the_turn_that_it_started(world: World) -> None:
    told: list[tuple[int, bool]] = []

    async def agent(turn: Turn) -> AsyncIterator[Update]:
        told.append((turn.segment, await turn.ask_permission(DELETE)))
        if turn.segment < 3:
            await turn.checkpoint(resume_after=1)
        yield Completed()

    world.agent = agent
    asked = world.said("m0")
    world.answer(asking(message("m1", decision(question(asked)), task_id=asked.id)))
    key = world.turn(asked.id)
    for _ in range(2):
        with pytest.raises(TurnContinues):
            world.invoke(key)
    world.invoke(key)

    assert told == [(1, True), (2, True), (3, True)]
    assert world.get(asked.id).status.state is TaskState.COMPLETED


def test_a_decision_is_used_once() -> None:
    told: list[bool] = []
    world = World(agent=agent_asking(DELETE, DELETE, told=told))
    asked = world.said("m0")

    again = answered(world, "m1", asked, decision(question(asked)))

    assert told == [True]
    assert again.status.state is TaskState.INPUT_REQUIRED
    assert question(again)["inputId"] != question(asked)["inputId"]


@pytest.mark.parametrize(
    "other",
    [
        {"arguments": {"StackId": "s-2", "RetainAll": False}},
        {"arguments": {"StackId": "s-1", "RetainAll": 0}},
        {"arguments": None},
        {"tool": "ros.update_stack"},
        {"target": "web-test"},
        {"title": "Have a look"},
        {"purpose": "Nothing."},
        {"effect": "Nothing."},
        {"read_only": True},
    ],
)
def test_a_decision_allows_nothing_but_what_was_asked(other: dict[str, Any]) -> None:
    told: list[bool] = []
    world = World(agent=agent_asking(DELETE, told=told))
    asked = world.said("m0")
    world.agent = agent_asking(replace(DELETE, **other), told=told)

    again = answered(world, "m1", asked, decision(question(asked)))

    assert told == []
    assert again.status.state is TaskState.INPUT_REQUIRED
    assert question(again)["inputId"] != question(asked)["inputId"]


def test_arguments_in_another_order_are_the_same() -> None:
    told: list[bool] = []
    world = World(agent=agent_asking(DELETE, told=told))
    asked = world.said("m0")
    turned = dict(reversed(list((DELETE.arguments or {}).items())))
    world.agent = agent_asking(replace(DELETE, arguments=turned), told=told)

    answered(world, "m1", asked, decision(question(asked)))

    assert told == [True]


def test_one_question_after_the_other_is_answered_one_by_one() -> None:
    first, second = DELETE, replace(DELETE, target="web-test")

    async def agent(turn: Turn) -> AsyncIterator[Update]:
        for permission in (first, second):
            if permission.target not in turn.state:
                turn.state[permission.target] = await turn.ask_permission(permission)
        yield Completed(str(dict(turn.state)))

    world = World(agent=agent)
    asked = world.said("m0")
    asked_next = answered(world, "m1", asked, decision(question(asked)))
    task = answered(world, "m2", asked_next, decision(question(asked_next), "deny"))

    assert task.status.message is not None
    assert task.status.message.parts[0].text == "{'web-prod': True, 'web-test': False}"


def test_an_agent_that_takes_text_only_takes_decisions() -> None:
    world = World(agent=careful, policy=Policy(input_modes=("text/plain",)))
    asked = world.said("m0")

    assert answered(world, "m1", asked, decision(question(asked))).status.state is TaskState.COMPLETED


# --- what is refused --------------------------------------------------

MISMATCH = "input_response_mismatch: "
ALLOW_OR_DENY = "Permission decision must be allow_once or deny."
EXACTLY = MISMATCH + "must have exactly schemaVersion, kind, taskId, inputId, decision"
STALE = "permission_resume_invalid: is not the question that the task waits with"

Parts = Callable[[dict[str, Any]], list[Part]]

REFUSED: list[tuple[Parts, str, str]] = [
    (lambda q: [decision(q, "allow_always")], "data.decision", ALLOW_OR_DENY),
    (lambda q: [decision(q, decided=True)], "data.decision", ALLOW_OR_DENY),
    (lambda q: [decision(q, ["allow_once"])], "data.decision", ALLOW_OR_DENY),
    (
        lambda q: [decision(q, taskId="x")],
        "data.taskId",
        MISMATCH + "must be the task that the message goes to",
    ),
    (lambda q: [decision(q, inputId="another")], "data.inputId", STALE),
    (lambda q: [decision(q, schemaVersion=2)], "data.schemaVersion", MISMATCH + "must be 1"),
    (lambda q: [decision(q, schemaVersion=True)], "data.schemaVersion", MISMATCH + "must be 1"),
    (lambda q: [decision(q, None)], "data", EXACTLY),
    (lambda q: [decision(q, note="x")], "data", EXACTLY),
    (
        lambda q: [decision(q).model_copy(update={"media_type": "text/plain"})],
        "mediaType",
        MISMATCH + "must be application/json",
    ),
    (lambda q: [decision(q), decision(q)], "", MISMATCH + "must be exactly one data part"),
    (lambda q: [Part(text="yes"), decision(q)], "", MISMATCH + "must be exactly one data part"),
]


@pytest.mark.parametrize(("parts", "member", "text"), REFUSED)
def test_a_decision_that_is_none_is_refused_by_name_and_loses_nothing(
    world: World, parts: Parts, member: str, text: str
) -> None:
    asked = world.said("m0")
    before = world.entries(asked.id)

    with pytest.raises(InvalidParamsError) as refused:
        world.answer(asking(message("m1", *parts(question(asked)), task_id=asked.id)))

    at = f"message.parts[0].{member}" if member else "message.parts"
    assert refused.value.message == text
    assert [(each.field, each.description) for each in refused.value.violations] == [(at, text)]
    assert world.entries(asked.id) == before
    assert world.pending() == []
    assert answered(world, "m1", asked, decision(question(asked))).status.state is TaskState.COMPLETED


def test_a_decision_for_a_task_that_waits_for_something_else_is_refused(world: World) -> None:
    asked = world.said("m0")
    world.agent = plays(InputRequired("Which one?"))
    other = world.said("m1")

    with pytest.raises(InvalidParamsError, match="permission_resume_invalid"):
        world.answer(asking(message("m2", decision(question(asked), taskId=other.id), task_id=other.id)))
    assert world.get(other.id) == other


def test_what_looks_like_a_question_and_was_not_asked_cannot_be_answered(world: World) -> None:
    asked = world.said("m0")
    forged = Part(data={**question(asked), "taskId": "forged"}, media_type="application/json")
    world.agent = plays(InputRequired("Allow?", [forged]))
    other = world.said("m1")

    with pytest.raises(InvalidParamsError, match="permission_resume_invalid"):
        world.answer(asking(message("m2", decision(question(asked), taskId=other.id), task_id=other.id)))


def test_data_of_a_permission_that_is_no_decision_is_the_agents_own() -> None:
    world = World(agent=plays(Completed("done")))

    world.answer(asking(message("m", Part(data={"kind": "permission", "user": "alice"}))))
    world.run_turns()

    assert len(world.logs()) == 1


def test_a_decision_that_goes_to_no_task_is_refused(world: World) -> None:
    asked = world.said("m0")

    with pytest.raises(InvalidParamsError, match="permission_resume_invalid"):
        world.answer(asking(message("m1", decision(question(asked)))))
    assert len(world.logs()) == 1


def test_a_decision_that_names_its_context_only_goes_to_the_task_that_waits_in_it(world: World) -> None:
    asked = world.said("m0", context_id="c")
    answer = message("m1", decision(question(asked)), context_id="c")

    world.answer(asking(answer))
    world.run_turns()
    again = world.answer(asking(answer))

    assert world.get(asked.id).status.state is TaskState.COMPLETED
    assert again.task is not None
    assert again.task.id == asked.id


def test_nobody_else_can_decide(world: World) -> None:
    asked = world.said("m0")

    with pytest.raises(TaskNotFoundError):
        world.answer(asking(message("m1", decision(question(asked)), task_id=asked.id)), BOB)


def test_the_log_says_who_decided(world: World) -> None:
    asked = world.said("m0")
    known = replace(CALLER, claims={"iss": "https://idp.example", "sub": "alice", "amr": "mfa"})

    world.answer(asking(message("m1", decision(question(asked)), task_id=asked.id)), known)

    received = [entry for entry in world.entries(asked.id) if isinstance(entry, MessageReceived)]
    assert received[-1].claims == known.claims


def test_the_same_answer_sent_again_is_the_same_answer(world: World) -> None:
    asked = world.said("m0")
    first = answered(world, "m1", asked, decision(question(asked)))

    assert answered(world, "m1", asked, decision(question(asked))) == first
    assert world.load(asked.id).turns[-1].message_id == "m1"


@pytest.mark.parametrize("ran", [False, True])
def test_an_answer_after_the_answer_is_refused(world: World, ran: bool) -> None:  # noqa: FBT001
    asked = world.said("m0")
    answer = decision(question(asked), "deny")
    world.answer(asking(message("m1", answer, task_id=asked.id)))
    if ran:
        world.run_turns()

    with pytest.raises(UnsupportedOperationError):
        world.answer(asking(message("m2", decision(question(asked)), task_id=asked.id)))
    world.run_turns()
    assert world.get(asked.id).status.state is TaskState.REJECTED


def test_of_two_answers_at_once_one_is_taken() -> None:
    for _ in range(20):
        world = World(agent=careful)
        asked = world.said("m0")
        answers = [
            asking(message(name, decision(question(asked), name), task_id=asked.id))
            for name in ("allow_once", "deny")
        ]

        told = at_once(*[partial(world.answer, answer) for answer in answers])
        world.recover()

        (refused,) = [each for each in told if isinstance(each, A2AError)]
        assert isinstance(refused, UnsupportedOperationError | InvalidParamsError)
        (said,) = decisions(world, asked.id)
        taken = told.index(refused) == 1
        assert said["decision"] == ("allow_once" if taken else "deny")
        assert world.get(asked.id).status.state is (TaskState.COMPLETED if taken else TaskState.REJECTED)


def test_a_late_answer_to_an_earlier_question_is_refused(world: World) -> None:
    asked = world.said("m0")
    world.agent = agent_asking(replace(DELETE, target="web-test"), told=[])
    waiting = answered(world, "m1", asked, Part(text="no, the other one"))

    with pytest.raises(InvalidParamsError, match="is not the question"):
        world.answer(asking(message("m2", decision(question(asked)), task_id=asked.id)))
    assert world.get(asked.id) == waiting


def test_a_decision_in_the_log_that_answers_nothing_allows_nothing(world: World) -> None:
    asked = world.said("m0")
    task = world.load(asked.id)
    for answers, told in ((task.asked, Decision), (None, Question), ("another", Question)):
        said = logged_message(message("m1", decision(question(asked))), [logged(decision(question(asked)))])
        begun = task.model_copy(update={"history": (*task.history, said), "asked": None, "answers": answers})

        assert isinstance(Questions(PermissionMode.ASK, begun, lambda: "new").ask(DELETE), told)


@pytest.mark.parametrize("words", ["allow_once", "yes", '{"decision": "allow_once"}'])
def test_words_allow_nothing_and_the_agent_may_ask_again(world: World, words: str) -> None:
    asked = world.said("m0")

    again = answered(world, "m1", asked, Part(text=words))

    assert again.status.state is TaskState.INPUT_REQUIRED
    assert question(again)["inputId"] != question(asked)["inputId"]
    assert decisions(world, asked.id) == []
    assert answered(world, "m2", again, decision(question(again))).status.state is TaskState.COMPLETED


def test_a_task_that_waits_for_a_decision_can_be_canceled(world: World) -> None:
    asked = world.said("m0")
    cancel_task(world.ports, CALLER, CancelTaskRequest(id=asked.id))

    with pytest.raises(UnsupportedOperationError):
        world.answer(asking(message("m1", decision(question(asked)), task_id=asked.id)))


def test_a_decision_does_not_outlive_its_turn(world: World) -> None:
    told: list[bool] = []

    async def late(turn: Turn) -> AsyncIterator[Update]:
        if turn.message.parts[0].text is None:
            yield InputRequired("Are you sure?")
            return
        told.append(await turn.ask_permission(DELETE))

    asked = world.said("m0")
    world.agent = late
    sure = answered(world, "m1", asked, decision(question(asked)))

    again = answered(world, "m2", sure, Part(text="yes"))

    assert told == []
    assert again.status.state is TaskState.INPUT_REQUIRED


# --- a deployment that decides --------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "decided", "state"),
    [
        (PermissionMode.ALLOW, "allow_once", TaskState.COMPLETED),
        (PermissionMode.DENY, "deny", TaskState.REJECTED),
    ],
)
def test_a_deployment_may_decide_for_everybody_and_says_so(
    mode: PermissionMode, decided: str, state: TaskState
) -> None:
    world = World(agent=careful, policy=Policy(permissions=mode))

    task = world.said("m0")

    assert task.status.state is state
    (said,) = decisions(world, task.id)
    assert (said["decision"], said["automatic"], "inputId" in said) == (decided, True, False)


# --- however it breaks --------------------------------------------------


def acting(
    world: World, acts: list[tuple[int, list[dict[str, Any]]]]
) -> Callable[[Turn], AsyncIterator[Update]]:
    """Does what was allowed, and notes what the log said at that moment."""

    async def agent(turn: Turn) -> AsyncIterator[Update]:
        yield Working("on it")
        if await turn.ask_permission(DELETE):
            acts.append((world.load(turn.task_id).turns[-1].position, decisions(world, turn.task_id)))
        yield Completed("done")

    return agent


def asks(world: World, ports: Ports) -> None:
    """The turn that asks."""
    run(world, ports)


def decides(world: World, ports: Ports) -> None:
    """The message that decides."""
    (key,) = {turn.task for turn in world.executions.started}
    task = world.get(key.task_id)
    if world.load(key.task_id).asked is not None:
        answer = message("m1", decision(question(task)), task_id=task.id)
        with suppress(Died, A2AError):
            world.answer(asking(answer), ports=ports)


def run(world: World, ports: Ports) -> None:
    """Whatever turn was started."""
    for key in world.running():
        world.invoke(key, ports)


STEPS = (asks, decides, run)


def canceled(world: World, task_id: str) -> None:
    """Somebody cancels the task, if it has not ended."""
    with suppress(A2AError):
        cancel_task(world.ports, CALLER, CancelTaskRequest(id=task_id))


def crash_points() -> Iterator[Any]:
    for struck in range(len(STEPS)):
        acts: list[Any] = []
        world = World()
        world.agent = acting(world, acts)
        world.send("m0")
        fate = Fate()
        for number, step in enumerate(STEPS):
            step(world, world.doomed(fate) if number == struck else world.ports)
        assert len(acts) == 1
        for at in range(1, fate.writes + 1):
            for fault in Fault:
                yield pytest.param(
                    struck, at, fault, id=f"{STEPS[struck].__name__}, write {at}: {fault.value}"
                )


@pytest.mark.parametrize(("struck", "at", "fault"), list(crash_points()))
def test_whatever_breaks_nothing_is_done_that_the_log_does_not_allow_and_nothing_twice(
    struck: int, at: int, fault: Fault
) -> None:
    acts: list[tuple[int, list[dict[str, Any]]]] = []
    world = World()
    world.agent = acting(world, acts)
    task_id = world.send("m0").id

    for number, step in enumerate(STEPS):
        fate = Fate(at, fault, meddler=lambda: canceled(world, task_id))
        step(world, world.doomed(fate) if number == struck else world.ports)
    world.recover()
    decides(world, world.ports)
    world.recover()

    assert len(acts) <= 1
    for turn, said in acts:
        (each,) = [entry for entry in world.entries(task_id) if isinstance(entry, MessageReceived)][-1:]
        assert each.message.message_id == "m1"
        assert turn == world.load(task_id).turns[-1].position
        assert [one["decision"] for one in said] == ["allow_once"]
    task = world.load(task_id)
    assert task.terminal
    if task.current.state is TaskState.COMPLETED:
        assert len(acts) == 1
    assert world.pending() == []
