"""Which of a card's interfaces is used (specification 5.2, 8.3.2): the first that can really be spoken.

One may be passed over for its binding, its version, its address, or because the caller's credentials are
not for its origin. Nothing is passed over silently: where none remains every reason is told.
"""

from collections.abc import Collection
from dataclasses import dataclass

from a2a_serverless.client.failures import NoUsableInterfaceError, PassedOver
from a2a_serverless.client.options import Options, origin_of
from a2a_serverless.protocol.card import AgentCard, AgentInterface
from a2a_serverless.protocol.errors import VersionNotSupportedError
from a2a_serverless.protocol.parameters import negotiate

THIS_MACHINE = ("localhost", "127.0.0.1", "[::1]")
BINDINGS = ("JSONRPC", "HTTP+JSON")


@dataclass(frozen=True, slots=True)
class Chosen:
    """An interface to use, and those before it that are not."""

    interface: AgentInterface
    passed_over: tuple[PassedOver, ...] = ()


def choose(card: AgentCard, options: Options, asked_from: str | None = None) -> Chosen:
    """The first interface that can be used, in the card's own order.

    `asked_from` is the address the card came from: the origin that credentials are for without further ado.

    Raises:
        NoUsableInterfaceError: there is none; lists all of them, each with the reason.
    """
    trusted = trusted_origins(options, asked_from)
    passed_over: list[PassedOver] = []
    for interface in card.supported_interfaces:
        reason = _objection(interface, options, trusted, asked_from)
        if reason is None:
            return Chosen(interface, tuple(passed_over))
        passed_over.append(PassedOver(interface, reason))
    raise NoUsableInterfaceError(passed_over)


def trusted_origins(options: Options, asked_from: str | None) -> frozenset[str]:
    """The origins that the caller's credentials may be shown to; this machine has three names."""
    named = (*options.credential_origins, *([asked_from] if asked_from else ()))
    origins = {origin for origin in map(origin_of, named) if origin is not None}
    for origin in tuple(origins):
        scheme, _, rest = origin.partition("://")
        host, _, port = rest.rpartition(":")
        if host in THIS_MACHINE:
            origins |= {f"{scheme}://{name}:{port}" for name in THIS_MACHINE}
    return frozenset(origins)


def _objection(
    interface: AgentInterface, options: Options, trusted: Collection[str], asked_from: str | None
) -> str | None:
    """Why an interface is not used; None where it can be."""
    origin = origin_of(interface.url) or ""
    objections = {
        "its binding is not spoken here": interface.protocol_binding not in BINDINGS,
        "its binding is not wanted": interface.protocol_binding not in options.bindings,
        "its version is not spoken here": not _spoken(interface.protocol_version),
        "its address is neither http nor https": not origin,
        "it has no TLS, which the card came by": (
            origin.startswith("http:") and (asked_from or "").startswith("https:")
        ),
        f"credentials are not for {origin}: allow it with credential_origins": (
            options.auth is not None and origin not in trusted
        ),
    }
    return next((reason for reason, holds in objections.items() if holds), None)


def _spoken(version: str) -> bool:
    try:
        negotiate(version)
    except VersionNotSupportedError:
        return False
    return True
