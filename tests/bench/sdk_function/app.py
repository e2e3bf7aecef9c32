"""The job of functions/jsonrpc done with a2a-sdk and boto3: what a cold start is compared with.

A card, the JSON-RPC routes and a request handler of the official SDK, served through Mangum, and the client
that a deployment of it would keep its tasks with. As small as the SDK lets it be.
"""

import boto3
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill
from mangum import Mangum
from starlette.applications import Starlette

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
    capabilities=AgentCapabilities(),
    default_input_modes=["text/plain"],
    default_output_modes=["text/plain"],
    skills=[AgentSkill(id="none", name="None", description="None.", tags=["none"])],
)

HANDLER = DefaultRequestHandler(agent_executor=Nothing(), task_store=InMemoryTaskStore(), agent_card=CARD)

handler = Mangum(
    Starlette(routes=[*create_agent_card_routes(CARD), *create_jsonrpc_routes(HANDLER, "/")]), lifespan="off"
)
