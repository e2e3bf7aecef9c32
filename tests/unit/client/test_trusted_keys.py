"""Which keys are believed, and for what (RFC 7517, RFC 7518)."""

from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed448, rsa
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, PrivateFormat

from a2a_serverless.client.trusted_keys import (
    ALGORITHMS,
    TrustedKey,
    UnusableKeyError,
    trusted_jwks,
    trusted_pem,
    trusted_secret,
)
from a2a_serverless.protocol.card_signatures import base64url
from tests.unit.client.signing import ED25519, KEYS, P256, RSA, SECRET, jwk, pem, private_pem

SHORT = rsa.generate_private_key(65537, 1024)  # noqa: S505  which is the point
SECRET_JWK = {"kty": "oct", "kid": "default", "k": base64url(SECRET)}


def names(keys: Any) -> list[tuple[str, set[str]]]:
    return [(key.kid, set(key.algorithms)) for key in trusted_jwks({"keys": keys})]


@pytest.mark.parametrize("algorithm", KEYS)
def test_a_key_of_a_set_is_for_the_algorithms_of_its_kind(algorithm: str) -> None:
    ((kid, algorithms),) = names([jwk(algorithm)])

    assert kid == "key-1"
    assert algorithm in algorithms
    assert algorithms <= ALGORITHMS


def test_a_key_that_says_which_algorithm_it_is_for_is_for_no_other() -> None:
    assert names([jwk("RS256", alg="PS256")]) == [("key-1", {"PS256"})]


def test_a_public_key_is_the_same_key_from_a_set_and_from_files() -> None:
    (from_a_set,) = trusted_jwks({"keys": [jwk("ES256")]})

    assert from_a_set == trusted_pem("key-1", pem(P256)) == trusted_pem("key-1", private_pem(P256))


@pytest.mark.parametrize(
    "unusable",
    [
        jwk("ES256", kid=""),
        jwk("ES256", kid=7),
        jwk("ES256", use="enc"),
        jwk("ES256", key_ops=["sign"]),
        jwk("ES256", key_ops="verify"),
        jwk("ES256", alg="ES384"),
        jwk("ES256", alg="HS256"),
        jwk("ES256", x="AAAA"),
        jwk("ES256", crv="P-192"),
        jwk("ES256", kty="XX"),
        jwk("ES256", kty=None),
        jwk("RS256", n=base64url(SHORT.public_key().public_numbers().n.to_bytes(128))),
        SECRET_JWK,
        "text",
        None,
    ],
)
def test_keys_that_cannot_be_used_are_passed_over(unusable: Any) -> None:
    assert names([unusable, jwk("EdDSA", "other")]) == [("other", {"EdDSA"})]


def test_a_set_that_only_we_can_read_may_hold_secrets() -> None:
    short = {**SECRET_JWK, "k": base64url(b"short")}
    garbled = {**SECRET_JWK, "k": "+/+/"}

    found = trusted_jwks({"keys": [SECRET_JWK, short, garbled]}, secrets=True)

    assert found == [trusted_secret("default", SECRET)]
    assert found[0].algorithms == {"HS256"}


@pytest.mark.parametrize("document", [None, [], {}, {"keys": {}}, "keys"])
def test_what_is_no_key_set_is_refused(document: Any) -> None:
    with pytest.raises(UnusableKeyError, match="no JWK set"):
        trusted_jwks(document)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"", "no PEM file"),
        (b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", "no PEM file"),
        (P256.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"x")), "password"),
        (pem(SHORT), "2048 bits"),
        (pem(ec.generate_private_key(ec.SECP256K1())), "neither of P-256"),
        (pem(ed448.Ed448PrivateKey.generate()), "neither of P-256"),
    ],
    ids=["nothing", "garbage", "a password", "a short key", "another curve", "another kind"],
)
def test_a_file_without_a_usable_key_is_refused_in_words(text: bytes, words: str) -> None:
    with pytest.raises(UnusableKeyError, match=words):
        trusted_pem("key-1", text)


def test_a_secret_that_could_be_guessed_is_refused_without_being_repeated() -> None:
    with pytest.raises(UnusableKeyError, match="32 bytes") as refused:
        trusted_secret("default", b"hunter2")

    assert "hunter2" not in str(refused.value)


def test_a_key_that_is_printed_does_not_show_what_it_is() -> None:
    printed = repr(trusted_secret("default", SECRET))

    assert SECRET.decode() not in printed
    assert "default" in printed


def test_only_the_same_key_has_the_same_fingerprint() -> None:
    keys: list[TrustedKey] = [trusted_pem("k", pem(key)) for key in (P256, ED25519, RSA)]

    assert len({key.fingerprint for key in keys}) == 3
