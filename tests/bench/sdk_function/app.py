"""The job of functions/jsonrpc done with a2a-sdk and boto3: what a cold start is compared with.

A card, the JSON-RPC routes and a request handler of the official SDK, and the client that a deployment of it
would keep its tasks with. As small as the SDK lets it be. On Lambda it can stream as ours does only with a
runtime loop, so it is served by the same one; `application` is the same for any ASGI server.
"""

import boto3
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill
from starlette.applications import Starlette

from a2a_runtime.from_asgi import AsgiHandler

DYNAMODB = boto3.client("dynamodb")


class Nothing(AgentExecutor):
    """An agent that is never reached."""

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Do nothing."""

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Do nothing."""


CARD = AgentCard(
    name="Nothing",
    description="Is never asked anything.",
    version="1.0.0",
    supported_interfaces=[
        AgentInterface(url="https://example.invalid", protocol_binding="JSONRPC", protocol_version="1.0")
    ],
    capabilities=AgentCapabilities(streaming=True),
    default_input_modes=["text/plain"],
    default_output_modes=["text/plain"],
    skills=[AgentSkill(id="none", name="None", description="None.", tags=["none"])],
)

HANDLER = DefaultRequestHandler(agent_executor=Nothing(), task_store=InMemoryTaskStore(), agent_card=CARD)

application = Starlette(routes=[*create_agent_card_routes(CARD), *create_jsonrpc_routes(HANDLER, "/")])


def __getattr__(name: str) -> object:
    """`handler` for the runtime loop, made when it asks: under another server there is none."""
    if name != "handler":
        raise AttributeError(name)
    return AsgiHandler(application)
