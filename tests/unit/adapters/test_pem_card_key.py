"""Keys in files that sign cards: which there are, what they sign with, and what is refused."""

from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed448, rsa
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, PrivateFormat

from a2a_serverless.adapters.pem_card_key import UnusablePemError, pem_card_key
from a2a_serverless.client.trusted_keys import trusted_pem
from tests.unit.client.signing import ED25519, P256, P384, RSA, pem, private_pem

P521 = ec.generate_private_key(ec.SECP521R1())


@pytest.mark.parametrize(
    ("key", "algorithm"),
    [(P256, "ES256"), (P384, "ES384"), (P521, "ES512"), (ED25519, "EdDSA"), (RSA, "RS256")],
    ids=["P-256", "P-384", "P-521", "Ed25519", "RSA"],
)
def test_a_key_signs_by_its_kind_and_its_public_half_verifies(key: Any, algorithm: str) -> None:
    signs = pem_card_key(private_pem(key), "key-1")

    assert (signs.kid, signs.algorithm) == ("key-1", algorithm)
    assert trusted_pem("key-1", pem(key)).verifies(algorithm, b"card", signs.sign(b"card"))


def test_a_pair_on_p256_has_a_name_of_its_own() -> None:
    signs = pem_card_key(private_pem(P256))

    assert signs.public is not None
    assert signs.kid == signs.public.kid


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"", "no PEM file"),
        (pem(P256), "no PEM file"),
        (P256.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"x")), "no PEM file"),
        (private_pem(P384), "needs a name"),
        (private_pem(rsa.generate_private_key(65537, 1024)), "2048 bits"),  # noqa: S505  which is the point
        (private_pem(ec.generate_private_key(ec.SECP256K1())), "neither of P-256"),
        (private_pem(ed448.Ed448PrivateKey.generate()), "neither of P-256"),
    ],
    ids=["nothing", "a public key", "a password", "no name", "a short key", "another curve", "another kind"],
)
def test_what_signs_nothing_is_refused_in_words(text: bytes, words: str) -> None:
    with pytest.raises(UnusablePemError, match=words):
        pem_card_key(text)


def test_a_key_that_is_printed_does_not_show_what_it_is() -> None:
    assert "EllipticCurve" not in repr(pem_card_key(private_pem(P256)))
