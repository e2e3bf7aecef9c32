"""Order ORD-1042 across two deployments: support talks with the customer, fulfilment decides.

The customer's side is this repository's own client. What is streamed, pushed or read afterwards is the same,
and so it is when every function is replaced while everybody waits for the customer.
"""

import asyncio
import contextlib
import os
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import botocore.session
import pytest

from a2a_serverless.client import Bearer, Client, Options, connect, text_message
from a2a_serverless.protocol.objects import Task, TaskState
from a2a_serverless.protocol.requests import SendMessageConfiguration, TaskPushNotificationConfig
from tests.e2e.conftest import BINDINGS, TOKENS
from tests.e2e.desk import Desk
from tests.e2e.receiver import receiving
from tests.e2e.stack import PATIENCE, LocalStack, running

COMPLAINT = "My order ORD-1042 arrived damaged."
QUESTION = "Please provide a photo showing the damaged item."
EVIDENCE = "Evidence received and approved: damage-photo-8841.jpg"
DECISION = "Approved. Reserve SKU-RED-42 and dispatch with priority shipping."

TOKEN = "support-may-ask-this"

Calling = Callable[[Client], Awaitable[Any]]


@pytest.fixture(scope="module")
def peer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStack]:
    """Fulfilment, which lets in nobody but support."""
    with running(tmp_path_factory.mktemp("peer"), "--token", f"support={TOKEN}") as stack:
        yield stack


@pytest.fixture(scope="module")
def support(peer: LocalStack, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStack]:
    """Support, which was told where fulfilment is and where the token for it lies."""
    arguments = (
        *("--agent", "a2a_agents.support:agent", "--loopback-webhooks"),
        *("--parameter", f"FulfilmentUrl={peer.url}"),
        *("--parameter", "FulfilmentCredentials=secretsmanager:a2a/fulfilment"),
    )
    with running(tmp_path_factory.mktemp("support"), *arguments) as stack:
        keep_secret(stack, "a2a/fulfilment", TOKEN)
        yield stack


def keep_secret(stack: LocalStack, name: str, value: str) -> None:
    """Put a secret into the stack's Secrets Manager, as a deployer does."""
    session = botocore.session.get_session()
    session.set_credentials("local", "local")
    client: Any = session.create_client("secretsmanager", region_name="us-east-1", endpoint_url=stack.aws)
    with contextlib.closing(client):
        client.create_secret(Name=name, SecretString=value)


def called(stack: LocalStack, calling: Calling, **given: Any) -> Any:
    async def run() -> Any:
        async with asyncio.timeout(PATIENCE), connect(stack.url, options=Options(**given)) as agent:
            return await calling(agent)

    return asyncio.run(run())


async def streamed(agent: Client, text: str, task: Task | None = None) -> tuple[list[str], Task]:
    """What a stream tells, in words, and the task it leaves."""
    ids = {"task_id": task.id, "context_id": task.context_id} if task else {}
    told = []
    async with agent.send_streaming_message(text_message(text, **ids)) as stream:
        async for event in stream:
            if event.status_update is not None:
                message = event.status_update.status.message
                told.append(message.parts[0].text if message else event.status_update.status.state.name)
            elif event.artifact_update is not None:
                told.append(
                    f"{event.artifact_update.artifact.artifact_id}: "
                    f"{event.artifact_update.artifact.parts[0].text}"
                )
        assert stream.task is not None
        return told, stream.task


@pytest.mark.parametrize("binding", BINDINGS)
def test_a_customer_is_asked_what_fulfilment_asks_and_told_what_it_decides(
    support: LocalStack, binding: str
) -> None:
    async def talk(agent: Client) -> tuple[list[str], list[str], Task]:
        asked, task = await streamed(agent, COMPLAINT)
        assert task.status.state is TaskState.INPUT_REQUIRED
        decided, task = await streamed(agent, EVIDENCE, task)
        return asked, decided, task

    asked, decided, task = called(support, talk, bindings=(binding,))

    assert [each for each in asked if each != "WORKING"] == [
        "Asking fulfilment about order ORD-1042",
        "Looking up order ORD-1042",
        QUESTION,
    ]
    assert f"replacement-decision-1042: {DECISION}" in decided
    assert task.status.state is TaskState.COMPLETED
    assert task.artifacts[0].parts[0].text == DECISION


def test_it_goes_on_where_every_function_was_replaced_meanwhile(
    support: LocalStack, peer: LocalStack
) -> None:
    asked, task = called(support, lambda agent: streamed(agent, COMPLAINT))
    support.replace_functions()
    peer.replace_functions()

    decided, task = called(support, lambda agent: streamed(agent, EVIDENCE, task))

    assert asked[-1] == QUESTION
    assert f"replacement-decision-1042: {DECISION}" in decided
    assert task.status.state is TaskState.COMPLETED


def test_fulfilment_has_one_task_for_it_in_one_conversation(support: LocalStack, peer: LocalStack) -> None:
    async def read(agent: Client) -> set[str]:
        return {task.id for task in (await agent.list_tasks()).tasks}

    def known() -> set[str]:
        found: set[str] = called(peer, read, auth=Bearer(TOKEN))
        return found

    before = known()
    _, task = called(support, lambda agent: streamed(agent, COMPLAINT))
    called(support, lambda agent: streamed(agent, EVIDENCE, task))
    (new,) = known() - before

    mirrored = called(peer, lambda agent: agent.get_task(new), auth=Bearer(TOKEN))

    said = [part.text for message in mirrored.history for part in message.parts]
    assert said == [
        "Investigate damaged order ORD-1042 and prepare a replacement decision.",
        QUESTION,
        EVIDENCE,
    ]
    assert mirrored.status.state is TaskState.COMPLETED


def test_whoever_cannot_stay_is_told_by_webhook(support: LocalStack) -> None:
    with receiving() as receiver:
        config = TaskPushNotificationConfig(url=receiver.url("/told"))

        async def complain(agent: Client) -> Task | None:
            wanted = SendMessageConfiguration(return_immediately=True, task_push_notification_config=config)
            return (await agent.send_message(COMPLAINT, configuration=wanted)).task

        async def answer(agent: Client) -> None:
            wanted = SendMessageConfiguration(return_immediately=True)
            await agent.send_message(text_message(EVIDENCE, task_id=task.id), configuration=wanted)

        task = called(support, complain)
        asked = receiver.until("INPUT_REQUIRED")
        called(support, answer)
        decided = receiver.until("COMPLETED")

    assert asked[-1].payload.status_update.status.message.parts[0].text == QUESTION
    assert f"replacement-decision-1042: {DECISION}" in [each.told for each in decided]


@pytest.fixture(scope="module")
def delegate(workshop: LocalStack, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStack]:
    """An agent that has the workshop do everything, in the name of Alice."""
    environment = {**os.environ, "DELEGATE_TO": workshop.url, "DELEGATE_TOKEN": TOKENS["alice"]}
    arguments = ("--agent", "tests.e2e.delegating:agent")
    with running(tmp_path_factory.mktemp("delegate"), *arguments, environment=environment) as stack:
        yield stack


def test_a_turn_sleeps_while_the_other_agent_works_and_may_wake_up_in_another_process(
    delegate: LocalStack,
) -> None:
    async def begin(agent: Client) -> Task | None:
        wanted = SendMessageConfiguration(return_immediately=True)
        return (await agent.send_message("think 4", configuration=wanted)).task

    async def follow(agent: Client) -> Task | None:
        async with agent.subscribe_to_task(task.id, known=task) as stream:
            async for _ in stream:
                pass
        return stream.task

    task = called(delegate, begin)
    delegate.replace_functions()
    done = called(delegate, follow)

    assert done.status.state is TaskState.COMPLETED
    assert done.status.message.parts[0].text == "Thought about it."


def test_who_cancels_the_one_task_cancels_the_other(delegate: LocalStack, desk: Desk) -> None:
    async def begin(agent: Client) -> Task | None:
        wanted = SendMessageConfiguration(return_immediately=True)
        return (await agent.send_message(desk.order, configuration=wanted)).task

    task = called(delegate, begin)
    desk.wait_until_working()

    canceled = called(delegate, lambda agent: agent.cancel_task(task.id))

    assert canceled.status.state is TaskState.CANCELED
    desk.wait_until_stopped()
