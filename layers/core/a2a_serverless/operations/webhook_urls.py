"""Which URLs a webhook may have, and which of a host's addresses may be connected to.

A URL is read here once and for all: registration, delivery and the sender share this reading, so no two of
them can differ about where it leads. What another program might read otherwise is refused, not interpreted.
A name says nothing about its addresses, so they are checked at registration and again before each delivery.
Knows no socket; addresses come from the port `Names`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv4Address, IPv6Address

from a2a_serverless.operations.public_addresses import Address, address, is_loopback, is_public
from a2a_serverless.ports.webhooks import UnresolvableNameError, WebhookPolicy, WebhookPorts
from a2a_serverless.protocol.errors import InvalidParamsError

FIELD = "url"

LONGEST = 2048
"""Characters of a URL."""

# Patterns are compiled when a URL is first read: most processes that load this never see one.
CHARACTERS = r"[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%]*"
"""What a URL is written with (RFC 3986 2); anything else is percent-encoded."""

PARTS = r"([A-Za-z][A-Za-z0-9+.-]*)://([^/?#]*)([^?#]*)(\?[^#]*)?(#.*)?"
AUTHORITY = r"(?:\[(?P<ipv6>[^\[\]]*)\]|(?P<name>[^:\[\]]*))(?P<colon>:(?P<port>[^:\[\]]*))?"
PORT = r"[1-9][0-9]{0,4}"
LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
NUMBER = r"[0-9]+|0x[0-9a-f]*"
"""A last label that makes a host an IPv4 address to those who read like the C library."""

LONGEST_NAME = 253
LAST_PORT = 65535
FIRST_USER_PORT = 1024
DEFAULT_PORTS = {"https": 443, "http": 80}

OTHER_SERVICES = frozenset(
    {
        *(1433, 1434, 1521, 3306, 5432, 6379, 9042, 11211, 27017, 27018, 27019),  # databases and caches
        *(1883, 4369, 5671, 5672, 8883, 9092, 61613, 61616),  # message brokers
        *(1080, 1719, 1720, 1723, 2181, 2379, 2380, 5060, 5061),  # proxies, calls, tunnels, coordination
        *(2049, 3389, 3659, 4045, 4190, 5900, 6000, 6566, 10080),  # files, screens, mail filters, printers
        *(6665, 6666, 6667, 6668, 6669, 6679, 6697),  # chat
    }
)
"""Ports above 1023 where something other than HTTP listens by convention: nobody is to be called there."""

PRIVATE_SUFFIXES = (
    "corp",
    "home",
    "home.arpa",
    "internal",
    "intranet",
    "lan",
    "local",
    "localdomain",
    "private",
)
"""Ends of names that only mean something inside a network (RFC 6762, RFC 8375, ICANN)."""

NOT_PUBLIC = "must not point to a private or local host"


class PrivateAddressError(Exception):
    """An address of the host does not belong to the public internet."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where a URL leads, in one form only.

    `host` is a name in lower-case ASCII or an address without brackets (`is_literal`); `path` is what goes
    into the request line, the query included.
    """

    scheme: str
    host: str
    port: int
    path: str
    is_literal: bool

    @property
    def authority(self) -> str:
        """What the Host header says (RFC 9110 7.2)."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        """Whether the URL itself says this machine."""
        literal = address(self.host) if self.is_literal else None
        return is_loopback(literal) if literal else _ends(self.host, "localhost")


def read_url(url: str) -> Target:
    """What the URL says, whether or not a webhook may have it.

    Raises:
        InvalidParamsError: it is no http or https URL, or leaves room for a second reading.
    """
    if len(url) > LONGEST:
        raise _refused(f"must have at most {LONGEST} characters")
    if not re.fullmatch(CHARACTERS, url):
        raise _refused(
            "must be plain ASCII without spaces, line breaks or backslashes: percent-encode what else is in "
            "the path, and write an international host name in its xn-- form"
        )
    parts = re.fullmatch(PARTS, url)
    if parts is None:
        raise _refused("must be an absolute URL")
    scheme, authority, path, query, fragment = parts.groups()
    scheme = scheme.lower()
    if scheme not in DEFAULT_PORTS:
        raise _refused("must begin with https://")
    if fragment is not None:
        raise _refused("must not have a fragment")
    host, port, is_literal = _read_authority(authority, DEFAULT_PORTS[scheme])
    return Target(scheme, host, port, (path or "/") + (query or ""), is_literal)


def check_url(policy: WebhookPolicy, url: str) -> Target:
    """Where the URL leads, if a webhook may have it; what its host's addresses are is checked apart.

    Raises:
        InvalidParamsError: a webhook may not have it; names `url`.
    """
    target = read_url(url)
    if policy.loopback and target.is_loopback:
        return target
    if target.scheme != "https" and not policy.plain_http:
        raise _refused("must begin with https://")
    if target.port != DEFAULT_PORTS[target.scheme] and target.port < FIRST_USER_PORT:
        raise _refused(f"must use port {DEFAULT_PORTS[target.scheme]}, or one from {FIRST_USER_PORT} on")
    if target.port in OTHER_SERVICES:
        raise _refused("must not use the port of a service other than HTTP")
    literal = address(target.host) if target.is_literal else None
    if not (is_public(literal) if literal else _is_public_name(target.host)):
        raise _refused(NOT_PUBLIC)
    return target


def check_addresses(policy: WebhookPolicy, target: Target, addresses: Sequence[str]) -> str:
    """The one of the host's addresses to connect to, an IPv4 one if there is any.

    Raises:
        PrivateAddressError: one of them is not public, or there are none. This machine's count as public
            where the policy allows them, and a URL that says this machine has no others.
    """
    found = [address(text) for text in addresses]
    permitted = [each for each in found if each is not None and _may_connect(policy, target, each)]
    if not permitted or len(permitted) < len(found):
        raise PrivateAddressError
    return str(min(permitted, key=lambda each: each.version))


def guard(webhooks: WebhookPorts, policy: WebhookPolicy, url: str) -> Target:
    """Where the URL of a webhook to be registered leads.

    A name without addresses is taken: it may have some by the time of a delivery, which checks them again.

    Raises:
        InvalidParamsError: a webhook may not have the URL, or its host has an address that is not public;
            names `url`.
    """
    target = check_url(policy, url)
    try:
        check_addresses(policy, target, webhooks.names.addresses(target.host))
    except UnresolvableNameError:
        return target
    except PrivateAddressError:
        raise _refused(NOT_PUBLIC) from None
    return target


def _may_connect(policy: WebhookPolicy, target: Target, given: Address) -> bool:
    if policy.loopback and is_loopback(given):
        return True
    return is_public(given) and not target.is_loopback


def _refused(description: str) -> InvalidParamsError:
    return InvalidParamsError.of(FIELD, description)


def _read_authority(authority: str, default: int) -> tuple[str, int, bool]:
    """Host, port and whether the host is an address."""
    if "@" in authority:
        raise _refused("must not contain a user name or password")
    parts = re.fullmatch(AUTHORITY, authority)
    if parts is None:
        raise _refused("must have a host name or an address, an IPv6 address in brackets")
    port = _read_port(parts["port"]) if parts["colon"] else default
    if parts["ipv6"] is not None:
        return _read_ipv6(parts["ipv6"]), port, True
    host = parts["name"].lower()
    if re.fullmatch(NUMBER, host.rpartition(".")[2]):
        return _read_ipv4(host), port, True
    return _read_name(host), port, False


def _read_port(text: str) -> int:
    if not re.fullmatch(PORT, text) or int(text) > LAST_PORT:
        raise _refused(f"must have a port between 1 and {LAST_PORT}, or none")
    return int(text)


def _read_ipv6(text: str) -> str:
    if "%" in text:
        raise _refused("must not have a zone in its address")
    try:
        return IPv6Address(text).compressed
    except AddressValueError:
        raise _refused("must have an IPv6 address between the brackets") from None


def _read_ipv4(text: str) -> str:
    try:
        return IPv4Address(text).compressed
    except AddressValueError:
        raise _refused("must spell an IPv4 address as four decimal numbers without leading zeros") from None


def _read_name(name: str) -> str:
    if name.endswith("."):
        raise _refused("must have a host name that does not end in a dot")
    if len(name) > LONGEST_NAME or not re.fullmatch(rf"{LABEL}(\.{LABEL})*", name):
        raise _refused("must have a host name of letters, digits, hyphens and single dots")
    return name


def _is_public_name(name: str) -> bool:
    """Whether the name can mean anything outside of a network."""
    return "." in name and not any(_ends(name, suffix) for suffix in ("localhost", *PRIVATE_SUFFIXES))


def _ends(name: str, suffix: str) -> bool:
    return name == suffix or name.endswith(f".{suffix}")
