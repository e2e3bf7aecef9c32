"""From an address to a client: the first step of most programs that call an agent.

What it takes is loaded when somebody connects, not when somebody imports: the protocol's types and what
checks them are two thirds of the client, and many a program that can call an agent never does.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from a2a_serverless.client.agent_client import Client
    from a2a_serverless.client.discovery import CardCache, Trust
    from a2a_serverless.client.options import Options


@asynccontextmanager
async def connect(
    url: str,
    *,
    options: "Options | None" = None,
    trust: "Trust | None" = None,
    cache: "CardCache | None" = None,
) -> "AsyncIterator[Client]":
    """Find the agent at an address (see `discover`) and call it over the first interface spoken here.

    Raises:
        NoUsableInterfaceError: there is none. What `discover` raises.
    """
    from a2a_serverless.client.agent_client import Client  # noqa: PLC0415  see above
    from a2a_serverless.client.discovery import discover  # noqa: PLC0415  see above

    found = await discover(url, options=options, trust=trust, cache=cache)
    async with Client(found.card, options, asked_from=url) as client:
        yield client
