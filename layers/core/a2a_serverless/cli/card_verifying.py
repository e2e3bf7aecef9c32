"""`a2a-serverless card verify`: whom a card is by, as far as those can tell who are trusted."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from a2a_serverless.cli.card_places import STATUSES, card_address, is_address
from a2a_serverless.cli.exits import Exit, Failure
from a2a_serverless.cli.given import read_given, read_secret
from a2a_serverless.cli.output import print_json, shown
from a2a_serverless.client.card_verification import (
    Finding,
    KeysOutOfReachError,
    Verification,
    verify,
)
from a2a_serverless.client.fetching import AllowedKeys, UnfetchedError, fetch, fetched_keys
from a2a_serverless.client.trusted_keys import (
    TrustedKey,
    UnusableKeyError,
    trusted_jwks,
    trusted_pem,
    trusted_secret,
)
from a2a_serverless.protocol.errors import JSONParseError
from a2a_serverless.protocol.protojson import parse_json


class Trust(NamedTuple):
    """Whose signatures count, as it was typed."""

    keys: Sequence[str]
    secrets: Sequence[str]
    jwks: Sequence[str]
    hosts: Sequence[str]


def verify_card(source: str, trust: Trust, *, as_json: bool) -> Exit:
    """Print what was found out about a card; returns the status that tells it.

    Raises:
        Failure: there is no card, or a key that is to be trusted is none or out of reach.
    """
    keys = list(_trusted(trust))
    text = _fetched(source) if is_address(source) else read_given(source)
    try:
        verification = verify(text, keys, AllowedKeys(trust.hosts))
    except KeysOutOfReachError as error:
        raise Failure(Exit.UNREACHABLE, f"keys that a signature names are out of reach: {error}") from error
    if as_json:
        print_json(_members(verification))
    else:
        for line in _lines(verification):
            print(line)
    return STATUSES[verification.verdict]


def _trusted(trust: Trust) -> Iterator[TrustedKey]:
    for given in trust.keys:
        kid, file = _named(given, "--key NAME=PEM")
        yield _usable(f"--key {file}", trusted_pem, kid, read_given(file))
    for given in trust.secrets:
        kid, secret = _named(given, "--secret NAME=SECRET")
        yield _usable(f"--secret {kid}", trusted_secret, kid, read_secret(secret))
    for place in trust.jwks:
        yield from key_set(place)


def key_set(place: str) -> Sequence[TrustedKey]:
    """The keys of a set: one that everybody can read, or a file of one's own that may hold secrets too.

    Raises:
        Failure: it is out of reach, or no set.
    """
    if not is_address(place):
        try:
            document = parse_json(read_given(place))
        except JSONParseError as error:
            raise Failure(Exit.USAGE, f"--jwks {place}: it is not JSON") from error
        return list(_usable(f"--jwks {place}", trusted_jwks, document, secrets=True))
    try:
        return fetched_keys(place)
    except KeysOutOfReachError as error:
        raise Failure(Exit.UNREACHABLE, f"--jwks {place}: {error}") from error


def _usable(what: str, trusted: Any, *given: Any, **options: Any) -> Any:  # noqa: ANN401  any of the three
    try:
        return trusted(*given, **options)
    except UnusableKeyError as error:
        raise Failure(Exit.USAGE, f"{what}: {error}") from error


def _named(given: str, form: str) -> tuple[str, str]:
    name, equals, value = given.partition("=")
    if not (name and equals and value):
        raise Failure(Exit.USAGE, f"it is {form}")
    return name, value


def _fetched(url: str) -> bytes:
    """The card at an address, or of the agent whose address it is."""
    try:
        return fetch(card_address(url))
    except UnfetchedError as error:
        raise Failure(Exit.UNREACHABLE, f"{url}: {error}") from error


def _members(verification: Verification) -> dict[str, Any]:
    card = verification.card
    return {
        "verdict": verification.verdict,
        "detail": verification.detail,
        "card": {"name": card.name, "version": card.version} if card else None,
        "signatures": [
            {
                "verdict": each.verdict,
                "detail": each.detail,
                "kid": each.kid,
                "alg": each.algorithm,
                "jku": each.jku,
            }
            for each in verification.findings
        ],
    }


def _lines(verification: Verification) -> Iterator[str]:
    """The verdict and, where there are several signatures, what there is to say of each."""
    card = verification.card
    of = f"{card.name} {card.version}, " if card else ""
    yield shown(f"{verification.verdict}: {of}{verification.detail}")
    if len(verification.findings) > 1:
        for finding in verification.findings:
            yield f"  {finding.verdict}: {_said(finding)}"


def _said(finding: Finding) -> str:
    by = f" ({finding.algorithm})" if finding.algorithm else ""
    return shown(f"{finding.detail}{by}")
