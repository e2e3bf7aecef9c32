"""Signing an agent card (specification 8.4): by every key that signs, and everywhere the same.

Signatures with elliptic curves hold a random number, so two that were made over one card differ. They are
made once for what the card says and the keys there are, kept, and found by everybody else.
"""

import hashlib
import json
from collections.abc import Sequence

from a2a_serverless.ports.card_signing import CardKey, CardSigning, Signatures
from a2a_serverless.protocol.card import AgentCapabilities, AgentCard
from a2a_serverless.protocol.card_signatures import (
    canonical_forms,
    protected_header,
    signature_of,
    signing_input,
)

SCHEMA = "1"
"""Counts the ways in which a card is signed: what was kept in another one is not looked at."""


def signed(signing: CardSigning, card: AgentCard) -> AgentCard:
    """The card with its signatures: by each key over every form, so that every reader agrees with one.

    A capability that is denied is left out, which says the same in fewer forms.
    """
    card = card.model_copy(update={"capabilities": _without_denials(card.capabilities)})
    keys = signing.keys.current()
    if signing.kept is None:
        return _with(card, signatures(keys, card, signing.jku))
    digest = _digest(signing, keys, card)
    kept = signing.kept.read(digest) or signing.kept.keep(digest, signatures(keys, card, signing.jku))
    return _with(card, kept)


def signatures(keys: Sequence[CardKey], card: AgentCard, jku: str = "") -> Signatures:
    """One by each key over each form of the card; those over the form of the specification come first.

    `jku` is where the public halves are found; a secret has none. Raises NotCanonicalError.
    """
    headers = {
        key.kid: protected_header(key.algorithm, key.kid, jku if key.algorithm != "HS256" else None)
        for key in keys
    }
    return tuple(
        signature_of(headers[key.kid], key.sign(signing_input(headers[key.kid], form)))
        for form in canonical_forms(card)
        for key in keys
    )


def _without_denials(capabilities: AgentCapabilities) -> AgentCapabilities:
    """What is not said is not so either; and 8.4.3, by the letter, leaves out a "no" that 8.4.1 keeps."""
    denied = {name: None for name in capabilities.model_fields_set if getattr(capabilities, name) is False}
    return capabilities.model_copy(update=denied)


def _with(card: AgentCard, kept: Signatures) -> AgentCard:
    return card.model_copy(update={"signatures": kept})


def _digest(signing: CardSigning, keys: Sequence[CardKey], card: AgentCard) -> str:
    """What was said, and who says it, in 64 characters of hexadecimal."""
    said = [SCHEMA, signing.jku, [[key.kid, key.algorithm] for key in keys], card.to_json()]
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()
