"""Public keys of token issuers, fetched where the deployment says (RFC 7517; OpenID Connect Discovery 1.0).

Nothing a token says leads here: an address is the deployer's, or stands in the configuration of an issuer
that the deployer trusts. By https with a certificate that is checked, no redirects, no proxy, within seconds
and a few hundred kilobytes.
"""

import json
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from ssl import SSLContext
from time import monotonic
from typing import Any

from urllib3 import PoolManager, Timeout
from urllib3.exceptions import HTTPError
from urllib3.response import BaseHTTPResponse

from a2a_serverless.ports.access import TrustedIssuer, is_fetchable

CONNECT_SECONDS = 2.0
READ_SECONDS = 3.0
SECONDS = 5.0
"""For one document in all, give or take one read."""

MOST_BYTES = 256 * 1024
PIECE = 16 * 1024
MOST_KEYS = 100


class UnfetchedError(Exception):
    """There are no keys to be had there at present; the text says why in a few words."""


class HttpsKeys:
    """Fetches the key sets of issuers; `loopback` lets them be on this machine, by http too."""

    def __init__(self, *, loopback: bool = False, tls: SSLContext | None = None) -> None:
        self._loopback = loopback
        self._tls = tls

    def fetch(self, issuer: TrustedIssuer) -> Sequence[Mapping[str, Any]]:
        """The issuer's keys as they are now, each a JWK that has not been looked at.

        Raises:
            UnfetchedError: they cannot be had.
        """
        keys = self._document(issuer.jwks_uri or self._found_by(issuer)).get("keys")
        if not isinstance(keys, list):
            raise UnfetchedError("not a key set")
        return [key for key in keys[:MOST_KEYS] if isinstance(key, dict)]

    def _found_by(self, issuer: TrustedIssuer) -> str:
        """Where its configuration says that its keys are; it must be the issuer's own (4.3)."""
        configuration = self._document(issuer.configuration_url)
        if configuration.get("issuer") != issuer.issuer:
            raise UnfetchedError("the configuration of another issuer")
        uri = configuration.get("jwks_uri")
        if not isinstance(uri, str):
            raise UnfetchedError("a configuration without keys")
        return uri

    def _document(self, url: str) -> Mapping[str, Any]:
        if not is_fetchable(url, loopback=self._loopback):
            raise UnfetchedError("not an address to fetch from")
        timeout = Timeout(connect=CONNECT_SECONDS, read=READ_SECONDS)
        headers = {"Accept": "application/json, application/jwk-set+json", "Accept-Encoding": "identity"}
        ends = monotonic() + SECONDS
        try:
            with PoolManager(1, headers, timeout=timeout, retries=False, ssl_context=self._tls) as pool:
                answer = pool.request("GET", url, redirect=False, preload_content=False)
                body = _body(answer, ends)
                answer.close()
        except HTTPError as error:
            raise UnfetchedError(type(error).__name__) from None
        return _object(body)


def _body(answer: BaseHTTPResponse, ends: float) -> bytes:
    if answer.status != HTTPStatus.OK:
        raise UnfetchedError(f"status {answer.status}")
    if answer.headers.get("Content-Encoding", "identity") != "identity":
        raise UnfetchedError("compressed")
    body = bytearray()
    while piece := answer.read(PIECE, decode_content=False):
        body += piece
        if len(body) > MOST_BYTES:
            raise UnfetchedError("too long")
        if monotonic() > ends:
            raise UnfetchedError("too slow")
    return bytes(body)


def _object(body: bytes) -> Mapping[str, Any]:
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        raise UnfetchedError("not JSON") from None
    if not isinstance(document, dict):
        raise UnfetchedError("not an object")
    return document
