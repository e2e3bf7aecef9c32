"""The other side of the protocol: what a program does that calls agents.

    async with connect("https://agent.example") as agent:
        answer = await agent.send_message("Investigate damaged order ORD-1042.")

Stands beside bindings and adapters and knows neither: whoever calls an agent need not be a deployment, nor on
AWS. Needs the packages of the extra `client`; what verifies signatures those of `signing`, which it loads
when it is used. Agents that call others find `RemoteAgent` in `client.remote_agent`.

Importing this loads nothing else: a name is fetched from its module when somebody asks for it.
"""

from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from a2a_serverless.client.agent_client import Client, text_message
    from a2a_serverless.client.authentication import ApiKey, Basic, Bearer, Together
    from a2a_serverless.client.connecting import connect
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

MODULES = MappingProxyType(
    {
        "ApiKey": "authentication",
        "Basic": "authentication",
        "Bearer": "authentication",
        "CachedCard": "discovery",
        "CardCache": "discovery",
        "Chosen": "interfaces",
        "Client": "agent_client",
        "ClientError": "failures",
        "Discovered": "discovery",
        "Downloaded": "files",
        "Limits": "options",
        "MemoryCardCache": "discovery",
        "NoUsableInterfaceError": "failures",
        "Options": "options",
        "PassedOver": "failures",
        "Retries": "options",
        "Stream": "streams",
        "StreamCutError": "failures",
        "TimedOutError": "failures",
        "Timeouts": "options",
        "Together": "authentication",
        "Trust": "discovery",
        "UnavailableError": "failures",
        "UnexpectedAnswerError": "failures",
        "UnknownError": "failures",
        "UnreachableError": "failures",
        "UntrustedCardError": "failures",
        "choose": "interfaces",
        "connect": "connecting",
        "discover": "discovery",
        "text_message": "agent_client",
    }
)
"""Each public name, and the module here that it comes from."""

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


def __getattr__(name: str) -> object:
    """Fetch a public name (PEP 562); from then on it is an attribute like any other."""
    if name not in MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f"{__name__}.{MODULES[name]}"), name)
    return found


def __dir__() -> list[str]:
    """The public names, fetched or not."""
    return sorted({*globals(), *__all__})
