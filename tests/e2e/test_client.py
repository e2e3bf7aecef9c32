"""This repository's client against a whole deployment, and its documentation as it stands."""

import asyncio
import contextlib
import io
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from a2a_serverless.agent.rehearsal import rehearse
from a2a_serverless.client import Bearer, Client, Options, Retries, connect, discover, text_message
from a2a_serverless.protocol.card import AgentCard
from a2a_serverless.protocol.errors import TaskNotFoundError, UnauthenticatedError, UnsupportedOperationError
from a2a_serverless.protocol.objects import Message, Part, Role, Task, TaskState
from a2a_serverless.protocol.requests import SendMessageConfiguration, TaskPushNotificationConfig
from tests.e2e.conftest import BINDINGS, TOKENS
from tests.e2e.stack import PATIENCE, LocalStack
from tests.integration.client.official import Wire
from tests.integration.documents.fenced import examples

DOCUMENT = "layers/core/a2a_serverless/client/README.md"

Calling = Callable[[Client], Awaitable[Any]]


def called(stack: LocalStack, calling: Calling, name: str | None = "alice", **given: Any) -> Any:
    async def run() -> Any:
        auth = Bearer(TOKENS[name]) if name else None
        options = Options(auth=auth, **given)
        async with asyncio.timeout(PATIENCE), connect(stack.url, options=options) as agent:
            return await calling(agent)

    return asyncio.run(run())


@pytest.fixture(params=BINDINGS)
def call(workshop: LocalStack, request: pytest.FixtureRequest) -> Callable[[Calling], Any]:
    return lambda calling: called(workshop, calling, bindings=(request.param,))


def test_a_task_is_begun_read_listed_and_goes_on(call: Any) -> None:
    async def run(agent: Client) -> tuple[Any, ...]:
        asked = (await agent.send_message("remember one")).task
        assert asked is not None
        read = await agent.get_task(asked.id, history_length=1)
        page = await agent.list_tasks(context_id=asked.context_id, include_artifacts=True)
        done = (await agent.send_message(text_message("done", task_id=asked.id))).task
        with pytest.raises(TaskNotFoundError):
            await agent.get_task("missing")
        with pytest.raises(UnsupportedOperationError):
            await agent.send_message(text_message("more", task_id=asked.id))
        with pytest.raises(UnsupportedOperationError):
            await agent.get_extended_agent_card()
        return asked, read, page, done

    asked, read, page, done = call(run)

    assert asked.status.state is TaskState.INPUT_REQUIRED
    assert len(read.history) == 1
    assert [each.id for each in page.tasks] == [asked.id]
    assert done.artifacts[0].parts[0].data["heard"] == ["remember one", "done"]


def test_strangers_are_told_to_say_who_they_are(workshop: LocalStack) -> None:
    with pytest.raises(UnauthenticatedError) as caught:
        called(workshop, lambda agent: agent.list_tasks(), None)

    assert caught.value.metadata["challenge"].startswith("Bearer")


def test_webhooks_are_kept_and_taken_away(call: Any) -> None:
    async def run(agent: Client) -> tuple[Any, ...]:
        task = (await agent.send_message("remember one")).task
        assert task is not None
        config = TaskPushNotificationConfig(task_id=task.id, url="https://hook.example", token="t")
        made = await agent.create_task_push_notification_config(config)
        one = await agent.get_task_push_notification_config(task.id, made.id or "")
        listed = await agent.list_task_push_notification_configs(task.id)
        await agent.delete_task_push_notification_config(task.id, made.id or "")
        return made, one, listed, await agent.list_task_push_notification_configs(task.id)

    made, one, listed, none = call(run)

    assert one.url == made.url == "https://hook.example"
    assert [each.id for each in listed.configs] == [made.id]
    assert none.configs == ()


def test_a_task_is_cancelled_while_it_is_followed(call: Any) -> None:
    async def run(agent: Client) -> Task | None:
        wanted = SendMessageConfiguration(return_immediately=True)
        task = (await agent.send_message("think 30", configuration=wanted)).task
        assert task is not None
        async with agent.subscribe_to_task(task.id) as stream:
            async for event in stream:
                if event.task is not None:
                    await agent.cancel_task(task.id)
        return stream.task

    assert call(run).status.state is TaskState.CANCELED


@pytest.mark.parametrize("binding", BINDINGS)
@pytest.mark.parametrize("events", [2, 5])
def test_a_stream_that_is_cut_again_and_again_tells_everything_once(
    workshop: LocalStack, binding: str, events: int
) -> None:
    words = "one two three four five six seven eight nine ten"

    async def run() -> tuple[list[str], Any, int]:
        wire = Wire(int(workshop.url.rpartition(":")[2]), events)
        server = await asyncio.start_server(wire.pass_on, "127.0.0.1", 0)
        through = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        card = (await discover(workshop.url)).card.to_dict()
        for interface in card["supportedInterfaces"]:
            interface["url"] = interface["url"].replace(workshop.url, through)
        options = Options(
            bindings=(binding,), auth=Bearer(TOKENS["alice"]), retries=Retries(first_pause=0.01, attempts=20)
        )
        async with Client(AgentCard.from_dict(card), options, asked_from=through) as agent:
            told = []
            async with agent.send_streaming_message(f"spell {words}") as stream:
                async for event in stream:
                    if event.artifact_update is not None:
                        told += [part.text or "" for part in event.artifact_update.artifact.parts]
        server.close()
        return told, stream.task, wire.cuts

    told, task, cuts = asyncio.run(run())

    assert cuts > 1
    assert "".join(told) == words.replace(" ", "")
    assert task.status.state is TaskState.COMPLETED
    assert task.artifacts[0].parts[0].text == words.replace(" ", "")


def test_what_is_too_big_for_an_answer_is_fetched_from_where_the_part_says(
    workshop: LocalStack, tmp_path: Path
) -> None:
    content = bytes(range(256)) * 4096

    async def run(agent: Client) -> Any:
        part = Part(raw=content, media_type="application/octet-stream", filename="big")
        message = Message(message_id="big-1", role=Role.USER, parts=(part,))
        task = (await agent.send_message(message)).task
        assert task is not None
        (made,) = task.artifacts[0].parts
        assert made.url is not None
        return await agent.download(made, tmp_path / "big")

    got = called(workshop, run)

    assert (got.byte_size, got.path.read_bytes()) == (len(content), content)


def run_example(number: int) -> str:
    """What an example prints."""
    said = io.StringIO()
    code = examples(DOCUMENT, "python", before="# Signed cards")[number]
    with contextlib.redirect_stdout(said):
        exec(code, {})  # noqa: S102  that is what the example is for
    return said.getvalue()


def test_the_examples_of_the_documentation_do_what_it_says(
    fulfilment: LocalStack, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    decision = "Approved. Reserve SKU-RED-42 and dispatch with priority shipping."
    photo = tmp_path / "cup.png"
    photo.write_bytes(b"\x89PNG...")
    monkeypatch.setenv("AGENT_URL", fulfilment.url)
    monkeypatch.setenv("PHOTO", str(photo))

    called_, credentials, streamed, wrong, files = (run_example(number) for number in range(5))

    assert called_.startswith("COMPLETED Approved. Reserve SKU-MUG-07")
    assert re.fullmatch(r"Fulfilment Agent \d\n", credentials)
    assert streamed.splitlines()[-2:] == ["Please provide a photo showing the damaged item.", decision]
    assert streamed.startswith("task\nstatus_update\n")
    assert wrong == "Task not found TASK_NOT_FOUND\n"
    assert files == f"{len(decision)} {decision}\n"


def test_the_agent_of_the_documentation_delegates(
    fulfilment: LocalStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENT_URL", fulfilment.url)
    found: dict[str, Any] = {}
    exec(examples(DOCUMENT, "python", before="# Signed cards")[5], found)  # noqa: S102  as above

    happened = rehearse(found["agent"], "Investigate ORD-1042", "damage-photo-8841.jpg")

    assert happened.turns[0].text == "Please provide a photo showing the damaged item."
    assert "SKU-RED-42" in happened.texts["replacement-decision-1042"]
