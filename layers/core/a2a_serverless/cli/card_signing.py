"""`a2a-serverless card sign`: a card with one more signature."""

import json
from typing import Any, NamedTuple

import typer

from a2a_serverless.adapters.aws_clients import AwsClients
from a2a_serverless.cli.exits import Exit, Failure
from a2a_serverless.cli.given import read_given, read_secret
from a2a_serverless.cli.operating import on_aws
from a2a_serverless.operations.card_signing import signatures
from a2a_serverless.ports.card_signing import CardKey
from a2a_serverless.protocol.card import AgentCard
from a2a_serverless.protocol.card_signatures import (
    MalformedSignatureError,
    NotCanonicalError,
    read_protected_header,
)
from a2a_serverless.protocol.errors import A2AError
from a2a_serverless.protocol.protojson import parse_json

INSTALL = "pip install 'a2a-serverless[cli,signing]'"


class Chosen(NamedTuple):
    """The key that was chosen, and what the signature is to say of it."""

    key: str | None
    kms_key: str | None
    secret: str | None
    kid: str | None
    jku: str | None


Reach = tuple[str | None, str | None, str | None]
"""Region, profile and address of AWS."""


def sign_card(context: typer.Context, file: str, chosen: Chosen, reach: Reach) -> None:
    """Print the card with its signatures.

    Raises:
        Failure: there is no card, or no key that signs it.
    """
    members, card = _card(file)
    if chosen.kms_key is not None:
        with on_aws(context, *reach) as clients:
            made = _signatures(_kms_key(clients, chosen.kms_key, chosen.kid), card, chosen.jku)
    else:
        made = _signatures(_own_key(chosen), card, chosen.jku)
    print(json.dumps({**members, "signatures": made}, indent=2, ensure_ascii=False))


def _card(file: str) -> tuple[dict[str, Any], AgentCard]:
    """The card as it was written, without spelling its signatures in two ways, and as it is meant."""
    try:
        members = parse_json(read_given(file))
        card = AgentCard.from_dict(members)
    except A2AError as error:
        faults = "; ".join(f"{each.field or 'it'} {each.description}" for each in error.violations)
        raise Failure(Exit.USAGE, f"{file} is no agent card: {faults or 'it is not JSON'}") from error
    return members, card


def _signatures(key: CardKey, card: AgentCard, jku: str | None) -> list[dict[str, Any]]:
    try:
        made = signatures([key], card, jku or "")
    except NotCanonicalError as error:
        raise Failure(Exit.USAGE, f"the card has no canonical form: {error}") from error
    others = [each for each in card.signatures if _kid(each.protected) != key.kid]
    return [each.to_dict() for each in (*others, *made)]


def _kid(protected: str) -> str | None:
    try:
        kid: str = read_protected_header(protected)["kid"]
    except MalformedSignatureError:
        return None
    return kid


def _own_key(chosen: Chosen) -> CardKey:
    """A key that is given, not kept in KMS."""
    if chosen.secret is not None:
        return _secret(chosen.secret, chosen.kid)
    try:
        from a2a_serverless.adapters.pem_card_key import (  # noqa: PLC0415  may not be installed
            UnusablePemError,
            pem_card_key,
        )
    except ModuleNotFoundError as missing:
        raise Failure(Exit.FAILED, f"{missing.name} is not installed: {INSTALL}") from missing
    try:
        return pem_card_key(read_given(str(chosen.key)), chosen.kid)
    except UnusablePemError as error:
        raise Failure(Exit.USAGE, f"{chosen.key}: {error}") from error


def _secret(given: str, kid: str | None) -> CardKey:
    from a2a_serverless.adapters.hmac_card_keys import HmacCardKey, ShortSecretError  # noqa: PLC0415

    if kid is None:
        raise Failure(Exit.USAGE, "a secret needs --kid, the name by which verifiers know it")
    try:
        return HmacCardKey(kid, read_secret(given))
    except ShortSecretError as error:
        raise Failure(Exit.USAGE, str(error)) from error


def _kms_key(clients: AwsClients, key_id: str, kid: str | None) -> CardKey:
    from a2a_serverless.adapters.kms_card_keys import (  # noqa: PLC0415  loaded when it is used
        UnusableKeyError,
        kms_card_key,
    )

    try:
        return kms_card_key(clients.kms(), key_id, kid)
    except UnusableKeyError as error:
        raise Failure(Exit.USAGE, str(error)) from error
