"""The official SDK's server, both bindings, under uvicorn on this machine; and a wire that cuts it off."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from a2a.helpers import new_text_message, new_text_part
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes, create_rest_routes
from a2a.server.tasks import InMemoryPushNotificationConfigStore, InMemoryTaskStore, TaskUpdater
from a2a.types import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    AgentSkill,
    Role,
    Task,
    TaskState,
    TaskStatus,
)
from starlette.applications import Starlette

PATIENCE = 30
BEAT_SECONDS = 0.02


class Scripted(AgentExecutor):
    """Does what the first word of a message says; counts by a clock, or as fast as `pace` is released."""

    def __init__(self, pace: threading.Semaphore | None = None) -> None:
        self._pace = pace

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        """`say`, `ask`, `count N`, `wait`; the answer to a question is told back."""
        word, *rest = context.get_user_input().split()
        if word == "say":
            await event_queue.enqueue_event(new_text_message("Hi", role=Role.ROLE_AGENT))
            return
        updater = TaskUpdater(event_queue, context.task_id or "", context.context_id or "")
        if context.current_task is None:
            submitted = TaskStatus(state=TaskState.TASK_STATE_SUBMITTED)
            await event_queue.enqueue_event(
                Task(
                    id=context.task_id,
                    context_id=context.context_id,
                    status=submitted,
                    history=[context.message] if context.message else [],
                )
            )
        await updater.start_work()
        match word:
            case "ask":
                await updater.requires_input(updater.new_agent_message([new_text_part("What else?")]))
            case "count":
                await self._count(updater, int(rest[0]))
            case "wait":
                await asyncio.sleep(PATIENCE)
            case _:
                await updater.add_artifact(
                    [new_text_part(f"You said {word}")], artifact_id="told", last_chunk=True
                )
                await updater.complete()

    async def _count(self, updater: TaskUpdater, number: int) -> None:
        for each in range(number):
            if self._pace is not None:
                await asyncio.to_thread(self._pace.acquire, timeout=PATIENCE)
            said = updater.new_agent_message([new_text_part(f"at {each}")])
            await updater.update_status(TaskState.TASK_STATE_WORKING, message=said)
            await updater.add_artifact([new_text_part(f"{each} ")], artifact_id="numbers", append=each > 0)
            await asyncio.sleep(BEAT_SECONDS)
        await updater.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Cancel at once."""
        await TaskUpdater(event_queue, context.task_id or "", context.context_id or "").cancel()


def official_card(url: str, name: str = "Official") -> AgentCard:
    """A card that announces everything, with the JSON-RPC interface first."""
    return AgentCard(
        name=name,
        description="Does what it is told.",
        version="1.0.0",
        supported_interfaces=[
            AgentInterface(url=f"{url}/grpc", protocol_binding="GRPC", protocol_version="1.0"),
            AgentInterface(url=f"{url}/rpc", protocol_binding="JSONRPC", protocol_version="1.0"),
            AgentInterface(url=f"{url}/rest", protocol_binding="HTTP+JSON", protocol_version="1.0"),
        ],
        capabilities=AgentCapabilities(streaming=True, push_notifications=True, extended_agent_card=True),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[AgentSkill(id="all", name="All", description="All.", tags=["test"])],
    )


@contextmanager
def served(announced: str | None = None, pace: threading.Semaphore | None = None) -> Iterator[str]:
    """The server's address; its card announces another one, if that is given as `{port}` goes.

    Its agent counts no faster than `pace` is released, if that is given.
    """
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        url = f"http://127.0.0.1:{port}"
        card = official_card(announced or url)
        handler = DefaultRequestHandler(
            agent_executor=Scripted(pace),
            task_store=InMemoryTaskStore(),
            agent_card=card,
            push_config_store=InMemoryPushNotificationConfigStore(),
            extended_agent_card=official_card(announced or url, "Extended"),
        )
        application = Starlette(
            routes=[
                *create_agent_card_routes(card),
                *create_jsonrpc_routes(handler, "/rpc"),
                *create_rest_routes(handler, path_prefix="/rest"),
            ]
        )
        server = uvicorn.Server(uvicorn.Config(application, log_level="error", lifespan="off"))
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        try:
            yield url
        finally:
            server.should_exit = server.force_exit = True
            thread.join(PATIENCE)


class Wire:
    """A wire to a server that breaks whenever a number of events have gone over it; other answers pass.

    `pace`, if there is one, is released for every event: whoever waits for it stays close to whoever listens.
    """

    def __init__(self, port: int, events: int, pace: threading.Semaphore | None = None) -> None:
        self._port = port
        self._events = events
        self._pace = pace
        self.cuts = 0

    async def pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, to its end or the cut."""
        up_reader, up_writer = await asyncio.open_connection("127.0.0.1", self._port)
        asking = asyncio.ensure_future(self._copy(reader, up_writer))
        try:
            seen = 0
            while piece := await up_reader.read(65536):
                events = piece.count(b"data: ")
                seen += events
                if events and self._pace is not None:
                    self._pace.release(events)
                writer.write(piece)
                await writer.drain()
                if seen >= self._events:
                    self.cuts += 1
                    writer.transport.abort()
                    return
        finally:
            asking.cancel()
            writer.close()
            up_writer.close()

    async def _copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while piece := await reader.read(65536):
            writer.write(piece)
            await writer.drain()
