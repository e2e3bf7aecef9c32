"""What a card's signature is made over, and how it is written down (specification 8.4; RFC 7515, RFC 8785).

The canonical forms of a card, the protected header, the bytes that a key signs. Knows no key and no cipher.

A card has more than one canonical form because not all readers agree on empty values. The specification keeps
what is required or explicitly set, empty or not (8.4.1). The official SDKs leave out every empty text, list
and object, and so the requirement of a scheme that needs no scopes. The forms differ in nothing else.
"""

import json
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from typing import Any

from a2a_serverless.protocol.card import AgentCard, AgentCardSignature
from a2a_serverless.protocol.errors import JSONParseError
from a2a_serverless.protocol.protojson import parse_json

EXACT = 2**53 - 1
"""The largest integer that is safe to be written as one (RFC 8785, 3.2.2.3; RFC 7493, 2.2)."""

BASE64URL = re.compile(r"[A-Za-z0-9_-]+")


class NotCanonicalError(ValueError):
    """A card has no canonical form: too deeply nested, or not of text and numbers that JSON can hold."""


class MalformedSignatureError(ValueError):
    """A signature is not written as one; the text says what is wrong, in words for whoever verifies."""


def canonical(card: AgentCard) -> bytes:
    """The form that the specification prescribes (8.4.1), without the card's signatures.

    Raises:
        NotCanonicalError: it has none.
    """
    return _jcs(_content(card))


def canonical_forms(card: AgentCard) -> tuple[bytes, ...]:
    """Every form that some reader goes by, the specification's own first; mostly there is only that one.

    Raises:
        NotCanonicalError: the card has none.
    """
    content = _content(card)
    return tuple(dict.fromkeys((_jcs(content), _jcs(_without_empty(content)))))


def canonical_as_received(card: Mapping[str, Any]) -> bytes:
    """The form of a card as it was received, with members of a later protocol and all.

    Raises:
        NotCanonicalError: it has none.
    """
    return _jcs({name: value for name, value in card.items() if name != "signatures"})


def protected_header(algorithm: str, kid: str, jku: str | None = None) -> str:
    """The protected header of a signature by that key (8.4.2)."""
    header = {"alg": algorithm, "typ": "JOSE", "kid": kid, **({"jku": jku} if jku else {})}
    return base64url(json.dumps(header, separators=(",", ":")).encode())


def read_protected_header(protected: str) -> dict[str, Any]:
    """The members of a protected header, of which `alg` and `kid` are texts and not empty.

    Raises:
        MalformedSignatureError: it is none.
    """
    try:
        header = parse_json(read_base64url(protected))
    except JSONParseError:
        raise MalformedSignatureError("its protected header is not JSON") from None
    if not isinstance(header, dict):
        raise MalformedSignatureError("its protected header is no object")
    for name in ("alg", "kid"):
        if not isinstance(header.get(name), str) or not header[name]:
            raise MalformedSignatureError(f"its protected header has no {name}")
    return header


def signing_input(protected: str, payload: bytes) -> bytes:
    """The bytes that a key signs (RFC 7515, 5.1)."""
    return f"{protected}.{base64url(payload)}".encode("ascii")


def signature_of(protected: str, signature: bytes) -> AgentCardSignature:
    """A signature as it stands on a card."""
    return AgentCardSignature(protected=protected, signature=base64url(signature))


def base64url(value: bytes) -> str:
    """Bytes as JWS writes them (RFC 7515, 2)."""
    return urlsafe_b64encode(value).rstrip(b"=").decode("ascii")


def read_base64url(text: str) -> bytes:
    """The bytes again; raises MalformedSignatureError."""
    if not BASE64URL.fullmatch(text) or len(text) % 4 == 1:
        raise MalformedSignatureError("it is not base64url without padding")
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _content(card: AgentCard) -> dict[str, Any]:
    return card.model_copy(update={"signatures": ()}).to_dict()


def _without_empty(value: Any) -> Any:  # noqa: ANN401  JSON is any of six types
    """The value without what is empty, or has become so; None when nothing is left."""
    match value:
        case dict():
            members = {name: _without_empty(member) for name, member in value.items()}
            return {name: member for name, member in members.items() if member is not None} or None
        case list():
            return [item for item in map(_without_empty, value) if item is not None] or None
        case "":
            return None
    return value


def _jcs(value: object) -> bytes:
    # A few milliseconds at a cold start, for those who sign or verify.
    import rfc8785  # noqa: PLC0415

    try:
        return rfc8785.dumps(_doubles(value))
    except (rfc8785.CanonicalizationError, RecursionError, OverflowError, UnicodeEncodeError) as error:
        raise NotCanonicalError(str(error)) from error


def _doubles(value: Any) -> Any:  # noqa: ANN401  JSON is any of six types
    """The value, with the integers that are not safe as the doubles that readers make of them."""
    match value:
        case dict():
            return {name: _doubles(member) for name, member in value.items()}
        case list():
            return [_doubles(item) for item in value]
        case int() if abs(value) > EXACT:
            return float(value)
    return value
