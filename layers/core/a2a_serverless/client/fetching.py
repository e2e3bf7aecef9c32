"""Cards and keys fetched for whoever verifies: a few kilobytes of JSON, within seconds, from where they lie.

Keys come by https, with a certificate that is checked; http is for this machine alone. No redirect is
followed, so that what was allowed is what was asked.
"""

from collections.abc import Collection, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from http import HTTPStatus
from ipaddress import ip_address
from time import monotonic
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit

from a2a_serverless.client.breaking import what_broke
from a2a_serverless.client.card_verification import KeysOutOfReachError
from a2a_serverless.protocol.errors import JSONParseError
from a2a_serverless.protocol.protojson import parse_json

if TYPE_CHECKING:
    from urllib3.response import BaseHTTPResponse

    from a2a_serverless.client.trusted_keys import TrustedKey

SECONDS = 10.0
"""For one document in all, give or take one piece of it."""

MOST_BYTES = 1024 * 1024
PIECE = 16 * 1024
PORTS = {"http": 80, "https": 443}


class UnfetchedError(Exception):
    """Something cannot be had where it should lie; the text says why in a few words, without the address."""


@dataclass(frozen=True)
class AllowedKeys:
    """The keys at addresses that signatures name, on these hosts and no others; fetched once each.

    A host is a name, or a name and a port where that is not 443.
    """

    hosts: Collection[str]
    _known: "dict[str, Sequence[TrustedKey]]" = field(default_factory=dict)

    def __call__(self, jku: str) -> "Sequence[TrustedKey] | None":
        """The keys; None where the address is not to be followed. Raises KeysOutOfReachError."""
        if not _leads_to(jku, self.hosts):
            return None
        if jku not in self._known:
            self._known[jku] = fetched_keys(jku)
        return self._known[jku]


def fetched_keys(url: str) -> "Sequence[TrustedKey]":
    """The keys of a JWK set.

    Raises:
        KeysOutOfReachError: there is none to be had.
    """
    from a2a_serverless.client.trusted_keys import UnusableKeyError, trusted_jwks  # noqa: PLC0415  late

    parts = _split(url)
    if parts is None or not (parts.scheme == "https" or _is_this_machine(parts)):
        raise KeysOutOfReachError("keys are fetched by https")
    try:
        return trusted_jwks(parse_json(fetch(url)))
    except (UnfetchedError, UnusableKeyError) as error:
        raise KeysOutOfReachError(str(error)) from error
    except JSONParseError:
        raise KeysOutOfReachError("it is not JSON") from None


def fetch(url: str) -> bytes:
    """The document at an http or https address.

    Raises:
        UnfetchedError: it cannot be had.
    """
    from urllib3 import PoolManager, Timeout  # noqa: PLC0415  loaded when something is fetched
    from urllib3.exceptions import HTTPError  # noqa: PLC0415  as above

    timeout = Timeout(connect=SECONDS / 2, read=SECONDS / 2)
    headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
    ends = monotonic() + SECONDS
    try:
        with (
            PoolManager(1, headers, timeout=timeout, retries=False) as pool,
            closing(pool.request("GET", url, redirect=False, preload_content=False)) as answer,
        ):
            return _body(answer, ends)
    except HTTPError as error:
        raise UnfetchedError(f"there is no answer: {what_broke(error)}") from error


def _body(answer: "BaseHTTPResponse", ends: float) -> bytes:
    if answer.status != HTTPStatus.OK:
        raise UnfetchedError(f"the answer is {answer.status}")
    body = bytearray()
    while piece := answer.read(PIECE, decode_content=False):
        body += piece
        if len(body) > MOST_BYTES or monotonic() > ends:
            raise UnfetchedError("the answer is too long, or takes too long")
    return bytes(body)


def _leads_to(url: str, hosts: Collection[str]) -> bool:
    parts = _split(url)
    if parts is None or "@" in parts.netloc:
        return False
    allowed = {
        (each.hostname, each.port or PORTS["https"]) for each in map(_split, map(_by_https, hosts)) if each
    }
    return (parts.hostname, parts.port or PORTS[parts.scheme]) in allowed


def _by_https(host: str) -> str:
    return f"https://{host}"


def _split(url: str) -> SplitResult | None:
    """The parts of an http or https address whose port is one; None for anything else."""
    try:
        parts = urlsplit(url)
        well_formed = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return None
    return parts if well_formed else None


def _is_this_machine(parts: SplitResult) -> bool:
    if parts.hostname == "localhost":
        return True
    try:
        return ip_address(parts.hostname or "").is_loopback
    except ValueError:
        return False
