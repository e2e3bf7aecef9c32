"""The other side of the protocol: what a program does that calls agents.

    async with connect("https://agent.example") as agent:
        answer = await agent.send_message("Investigate damaged order ORD-1042.")

Stands beside bindings and adapters and knows neither: whoever calls an agent need not be a deployment, nor on
AWS. Needs the packages of the extra `client`; what verifies signatures those of `signing`, which it loads
when it is used. Agents that call others find `RemoteAgent` in `client.remote_agent`.
"""

from a2a_serverless.client.agent_client import Client, connect, text_message
from a2a_serverless.client.authentication import ApiKey, Basic, Bearer, Together
from a2a_serverless.client.discovery import (
    CachedCard,
    CardCache,
    Discovered,
    MemoryCardCache,
    Trust,
    discover,
)
from a2a_serverless.client.failures import (
    ClientError,
    NoUsableInterfaceError,
    PassedOver,
    StreamCutError,
    TimedOutError,
    UnavailableError,
    UnexpectedAnswerError,
    UnknownError,
    UnreachableError,
    UntrustedCardError,
)
from a2a_serverless.client.files import Downloaded
from a2a_serverless.client.interfaces import Chosen, choose
from a2a_serverless.client.options import Limits, Options, Retries, Timeouts
from a2a_serverless.client.streams import Stream

__all__ = [
    "ApiKey",
    "Basic",
    "Bearer",
    "CachedCard",
    "CardCache",
    "Chosen",
    "Client",
    "ClientError",
    "Discovered",
    "Downloaded",
    "Limits",
    "MemoryCardCache",
    "NoUsableInterfaceError",
    "Options",
    "PassedOver",
    "Retries",
    "Stream",
    "StreamCutError",
    "TimedOutError",
    "Timeouts",
    "Together",
    "Trust",
    "UnavailableError",
    "UnexpectedAnswerError",
    "UnknownError",
    "UnreachableError",
    "UntrustedCardError",
    "choose",
    "connect",
    "discover",
    "text_message",
]
