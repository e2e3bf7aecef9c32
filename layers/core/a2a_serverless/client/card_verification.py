"""Whether a card was signed by somebody who is trusted (specification 8.4.3).

Which keys are trusted is said by whoever verifies, never by the card: the address of keys in a signature is
followed only where its host was allowed. One signature that verifies is enough, so that keys can be replaced.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from a2a_serverless.protocol.card import AgentCard, AgentCardSignature
from a2a_serverless.protocol.card_signatures import (
    MalformedSignatureError,
    NotCanonicalError,
    canonical_as_received,
    canonical_forms,
    read_base64url,
    read_protected_header,
    signing_input,
)
from a2a_serverless.protocol.errors import A2AError, InvalidParamsError
from a2a_serverless.protocol.protojson import parse_json

if TYPE_CHECKING:
    from a2a_serverless.client.trusted_keys import TrustedKey


class Verdict(StrEnum):
    """What was found out, the most telling first: of several signatures the first of these is what counts."""

    VALID = "valid"
    MISMATCH = "mismatch"
    AMBIGUOUS = "ambiguous"
    UNSUPPORTED_ALGORITHM = "unsupported-algorithm"
    MALFORMED = "malformed"
    UNKNOWN_KEY = "unknown-key"
    UNSIGNED = "unsigned"


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found out about one signature; what its header says is to be believed only if it is valid."""

    verdict: Verdict
    detail: str
    kid: str | None = None
    algorithm: str | None = None
    jku: str | None = None


@dataclass(frozen=True, slots=True)
class Verification:
    """What was found out about a card; `card` is what was verified, None unless it is valid."""

    verdict: Verdict
    findings: Sequence[Finding]
    detail: str = ""
    card: AgentCard | None = None


class KeysOutOfReachError(Exception):
    """Keys that are to be trusted cannot be had at present; the text says why, without the address."""


KeysAt = Callable[[str], "Sequence[TrustedKey] | None"]
"""The keys at an address that a signature names; None when that address is not to be followed.

Raises KeysOutOfReachError.
"""


def verify(text: bytes, keys: "Sequence[TrustedKey]", keys_at: KeysAt | None = None) -> Verification:
    """Verify a card as it was received.

    `keys` are trusted whatever a card says; of these the one that a signature names is used. Only where
    there is none is `keys_at` asked.

    Raises:
        KeysOutOfReachError: no signature is valid, and there are keys that might change that.
    """
    try:
        received: Any = parse_json(text)
        card = AgentCard.from_dict(received)
        forms = tuple(dict.fromkeys((*canonical_forms(card), canonical_as_received(received))))
    except (A2AError, NotCanonicalError) as error:
        return Verification(Verdict.MALFORMED, (), _words(error))
    if not card.signatures:
        return Verification(Verdict.UNSIGNED, (), "the card has no signatures")
    verifier = _Verifier(forms, keys, keys_at)
    findings = [verifier.look_at(signature) for signature in card.signatures]
    best = min(findings, key=lambda finding: list(Verdict).index(finding.verdict))
    if best.verdict is Verdict.VALID:
        return Verification(best.verdict, findings, best.detail, card)
    if verifier.out_of_reach is not None:
        raise verifier.out_of_reach
    return Verification(best.verdict, findings, best.detail)


@dataclass
class _Verifier:
    forms: Sequence[bytes]
    keys: "Sequence[TrustedKey]"
    keys_at: KeysAt | None
    out_of_reach: KeysOutOfReachError | None = None

    def look_at(self, written: AgentCardSignature) -> Finding:
        try:
            header = read_protected_header(written.protected)
            signature = read_base64url(written.signature)
        except MalformedSignatureError as error:
            return Finding(Verdict.MALFORMED, str(error))
        jku = header.get("jku")
        jku = jku if isinstance(jku, str) else None
        kid, algorithm = header["kid"], header["alg"]
        if "crit" in header or header.get("b64", True) is not True:
            verdict, detail = Verdict.UNSUPPORTED_ALGORITHM, "it asks for an extension of JWS"
        else:
            inputs = [signing_input(written.protected, form) for form in self.forms]
            verdict, detail = _judged(self._named(kid, jku), kid, algorithm, inputs, signature)
        return Finding(verdict, detail, kid, algorithm, jku)

    def _named(self, kid: str, jku: str | None) -> "Sequence[TrustedKey]":
        pinned = [key for key in self.keys if key.kid == kid]
        if pinned or jku is None or self.keys_at is None:
            return pinned
        try:
            return [key for key in self.keys_at(jku) or () if key.kid == kid]
        except KeysOutOfReachError as error:
            self.out_of_reach = error
            return ()


def _judged(
    named: "Sequence[TrustedKey]", kid: str, algorithm: str, inputs: Sequence[bytes], signature: bytes
) -> tuple[Verdict, str]:
    """What a signature is worth, given the trusted keys of the name that it bears."""
    if not named:
        return Verdict.UNKNOWN_KEY, f"no trusted key is named {kid}"
    fitting = {key.fingerprint: key for key in named if algorithm in key.algorithms}
    if not fitting:
        return Verdict.UNSUPPORTED_ALGORITHM, f"{algorithm} is not an algorithm of key {kid}"
    if len(fitting) > 1:
        return Verdict.AMBIGUOUS, f"{len(fitting)} trusted keys are named {kid}"
    (key,) = fitting.values()
    if any(key.verifies(algorithm, each, signature) for each in inputs):
        return Verdict.VALID, f"signed by {kid}"
    return Verdict.MISMATCH, f"key {kid} did not sign this"


def _words(error: A2AError | NotCanonicalError) -> str:
    if isinstance(error, InvalidParamsError):
        blamed = "; ".join(f"{each.field or 'it'} {each.description}" for each in error.violations)
        return f"it is no agent card: {blamed}"
    return "it is not JSON" if isinstance(error, A2AError) else "it has no canonical form"
