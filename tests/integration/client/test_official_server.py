"""Our client against the official SDK's server: every operation, over both bindings, cut or not."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

from a2a_serverless.client import Client, Options, Retries, connect, discover, text_message
from a2a_serverless.protocol.card import AgentCard
from a2a_serverless.protocol.errors import (
    TaskNotCancelableError,
    TaskNotFoundError,
    UnsupportedOperationError,
)
from a2a_serverless.protocol.objects import Task, TaskState
from a2a_serverless.protocol.requests import SendMessageConfiguration, TaskPushNotificationConfig
from tests.integration.client.official import PATIENCE, Wire, served

Calling = Callable[[Client], Awaitable[Any]]

BINDINGS = ("JSONRPC", "HTTP+JSON")


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with served() as address:
        yield address


@pytest.fixture(params=BINDINGS)
def call(url: str, request: pytest.FixtureRequest) -> Callable[[Calling], Any]:
    """Call the server over one binding."""

    def called(calling: Calling) -> Any:
        async def run() -> Any:
            options = Options(bindings=(request.param,))
            async with asyncio.timeout(PATIENCE), connect(url, options=options) as agent:
                return await calling(agent)

        return asyncio.run(run())

    return called


async def begun(agent: Client, text: str = "ask") -> Task:
    answer = await agent.send_message(text)
    assert answer.task is not None
    return answer.task


def test_its_card_is_found_and_its_grpc_passed_over(url: str) -> None:
    async def run() -> Client:
        async with connect(url) as agent:
            return agent

    agent = asyncio.run(run())

    assert agent.card.name == "Official"
    assert agent.chosen.interface.protocol_binding == "JSONRPC"
    assert [each.interface.protocol_binding for each in agent.chosen.passed_over] == ["GRPC"]


def test_a_message_is_answered_with_a_message_or_a_task(call: Any) -> None:
    said = call(lambda agent: agent.send_message("say"))
    told = call(lambda agent: agent.send_message("anything"))

    assert said.message.parts[0].text == "Hi"
    assert told.task.status.state is TaskState.COMPLETED
    assert told.task.artifacts[0].parts[0].text == "You said anything"


def test_a_question_is_asked_and_answered(call: Any) -> None:
    async def talk(agent: Client) -> tuple[Task, Task]:
        asked = await begun(agent)
        answered = await agent.send_message(
            text_message("this", task_id=asked.id, context_id=asked.context_id)
        )
        assert answered.task is not None
        return asked, answered.task

    asked, answered = call(talk)

    assert asked.status.state is TaskState.INPUT_REQUIRED
    assert (answered.id, answered.status.state) == (asked.id, TaskState.COMPLETED)
    assert answered.artifacts[0].parts[0].text == "You said this"


def test_a_stream_tells_everything_once(call: Any) -> None:
    async def follow(agent: Client) -> tuple[list[str], Any, int]:
        async with agent.send_streaming_message("count 5") as stream:
            told = [event.which() async for event in stream]
        return told, stream.task, stream.interruptions

    told, task, interruptions = call(follow)

    assert told == ["task", "status_update", *["status_update", "artifact_update"] * 5, "status_update"]
    assert task.status.state is TaskState.COMPLETED
    assert task.artifacts[0].parts[0].text == "0 1 2 3 4 "
    assert interruptions == 0


def test_a_streamed_question_is_answered_in_a_stream(call: Any) -> None:
    async def talk(agent: Client) -> tuple[Any, Any]:
        async with agent.send_streaming_message("ask") as first:
            async for _ in first:
                pass
        assert first.task is not None
        answer = text_message("that", task_id=first.task_id, context_id=first.task.context_id)
        async with agent.send_streaming_message(answer) as second:
            async for _ in second:
                pass
        return first.task, second.task

    first, second = call(talk)

    assert first.status.message.parts[0].text == "What else?"
    assert second.status.state is TaskState.COMPLETED
    assert second.artifacts[0].parts[0].text == "You said that"


def test_a_task_is_read_listed_followed_and_cancelled(call: Any) -> None:
    async def run(agent: Client) -> tuple[Task, Any, list[str], Task]:
        wanted = SendMessageConfiguration(return_immediately=True)
        answer = await agent.send_message("wait", configuration=wanted)
        assert answer.task is not None
        task = answer.task
        page = await agent.list_tasks(context_id=task.context_id)
        async with agent.subscribe_to_task(task.id) as stream:
            told = []
            async for event in stream:
                told.append(event.which())
                if event.task is not None:
                    canceled = await agent.cancel_task(task.id)
        return await agent.get_task(task.id), page, told, canceled

    task, page, told, canceled = call(run)

    assert [each.id for each in page.tasks] == [task.id]
    assert told[0] == "task"
    assert task.status.state is canceled.status.state is TaskState.CANCELED


def test_webhooks_are_kept_read_listed_and_taken_away(call: Any) -> None:
    async def run(agent: Client) -> tuple[Any, Any, Any, Any]:
        task = await begun(agent)
        made = await agent.create_task_push_notification_config(
            TaskPushNotificationConfig(task_id=task.id, id="c1", url="https://hook.example", token="t")
        )
        one = await agent.get_task_push_notification_config(task.id, "c1")
        all_ = await agent.list_task_push_notification_configs(task.id)
        await agent.delete_task_push_notification_config(task.id, "c1")
        return made, one, all_, await agent.list_task_push_notification_configs(task.id)

    made, one, all_, none = call(run)

    assert (made.id, made.url, one.url) == ("c1", "https://hook.example", "https://hook.example")
    assert [each.id for each in all_.configs] == ["c1"]
    assert none.configs == ()


def test_the_extended_card_takes_the_place_of_the_other(call: Any) -> None:
    async def run(agent: Client) -> tuple[AgentCard, AgentCard]:
        return await agent.get_extended_agent_card(), agent.card

    extended, kept = call(run)

    assert extended.name == "Extended"
    assert kept is extended


def test_errors_are_the_same_classes_over_both_bindings(call: Any) -> None:
    async def ended(agent: Client) -> None:
        task = await begun(agent, "anything")
        with pytest.raises(TaskNotCancelableError):
            await agent.cancel_task(task.id)
        with pytest.raises(UnsupportedOperationError):
            async for _ in agent.subscribe_to_task(task.id):
                pass

    call(ended)
    with pytest.raises(TaskNotFoundError):
        call(lambda agent: agent.get_task("missing"))


@pytest.mark.parametrize("binding", BINDINGS)
@pytest.mark.parametrize("events", [1, 3, 4, 7])
def test_a_stream_that_is_cut_again_and_again_tells_everything_once(binding: str, events: int) -> None:
    async def run(url: str) -> tuple[list[str], str, Any, int]:
        wire = Wire(int(url.rpartition(":")[2]), events, pace)
        server = await asyncio.start_server(wire.pass_on, "127.0.0.1", 0)
        through = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        card = (await discover(url)).card.to_dict()
        for interface in card["supportedInterfaces"]:
            interface["url"] = interface["url"].replace(url, through)
        options = Options(bindings=(binding,), retries=Retries(first_pause=0.01, attempts=20))
        async with Client(AgentCard.from_dict(card), options) as agent:
            said, numbers = [], ""
            async with agent.send_streaming_message("count 12") as stream:
                async for event in stream:
                    if event.artifact_update is not None:
                        numbers += "".join(part.text or "" for part in event.artifact_update.artifact.parts)
                    elif event.status_update is not None and event.status_update.status.message is not None:
                        said.append(event.status_update.status.message.parts[0].text or "")
        server.close()
        return said, numbers, stream.task, wire.cuts

    pace = threading.Semaphore(0)
    with served(pace=pace) as url:
        said, numbers, task, cuts = asyncio.run(run(url))

    assert cuts > 1
    assert said == [f"at {each}" for each in range(12)]
    assert numbers == "".join(f"{each} " for each in range(12))
    assert task.status.state is TaskState.COMPLETED
