"""Keys in KMS: how its DER becomes JOSE's numbers, and how often it is asked."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import Prehashed, encode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given
from hypothesis import strategies as st

from a2a_serverless.adapters.kms_card_keys import (
    PREFIX,
    REMEMBERED,
    KmsCardKeys,
    UnusableKeyError,
    public_key,
    raw_signature,
)
from a2a_serverless.adapters.p256_key_pairs import P256KeyPairs
from a2a_serverless.protocol.card_signatures import read_base64url
from tests.unit.adapters.test_kms_seals import Seconds

ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
NUMBERS = st.integers(1, ORDER - 1) | st.integers(1, 2**32)


@dataclass
class RecordedKms:
    """A KMS with these keys, by whatever name, that remembers what it was asked."""

    keys: dict[str, ec.EllipticCurvePrivateKey]
    asked: list[Mapping[str, Any]] = field(default_factory=list)
    signature: bytes | None = None

    def get_public_key(self, **request: Any) -> dict[str, Any]:
        self.asked.append(request)
        return {"KeyId": f"arn:{request['KeyId']}", "PublicKey": spki(self.keys[request["KeyId"]])}

    def sign(self, **request: Any) -> dict[str, Any]:
        self.asked.append(request)
        key = self.keys[request["KeyId"].removeprefix("arn:")]
        made = key.sign(request["Message"], ec.ECDSA(Prehashed(SHA256())))
        return {"Signature": made if self.signature is None else self.signature}


def spki(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def card_keys(**keys: ec.EllipticCurvePrivateKey) -> tuple[KmsCardKeys, RecordedKms, Seconds]:
    client: Any = RecordedKms(keys or {"a": p256()})
    seconds = Seconds()
    return KmsCardKeys(client, tuple(client.keys), seconds), client, seconds


def p256() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def test_a_key_is_named_by_the_thumbprint_of_its_public_half() -> None:
    key = p256()
    keys, _, _ = card_keys(a=key)

    (found,) = keys.current()

    point = key.public_key().public_numbers()
    assert found.public is not None
    assert found.public == public_key(spki(key))
    assert (found.kid, found.algorithm) == (found.public.kid, "ES256")
    assert int.from_bytes(read_base64url(found.public.x), "big") == point.x
    assert int.from_bytes(read_base64url(found.public.y), "big") == point.y


def test_pairs_that_are_made_here_and_in_kms_are_named_alike() -> None:
    pair = P256KeyPairs().new()
    point = read_base64url(pair.x) + read_base64url(pair.y)

    assert public_key(PREFIX + point).kid == pair.kid


def test_what_is_signed_is_the_digest_of_the_bytes_however_many() -> None:
    keys, client, _ = card_keys(a=p256())
    (key,) = keys.current()
    long = b"x" * 10_000

    signature = key.sign(long)

    assert client.asked[-1] == {
        "KeyId": "arn:a",
        "Message": hashlib.sha256(long).digest(),
        "MessageType": "DIGEST",
        "SigningAlgorithm": "ECDSA_SHA_256",
    }
    assert len(signature) == 64
    r, s = (int.from_bytes(half, "big") for half in (signature[:32], signature[32:]))
    client.keys["a"].public_key().verify(encode_dss_signature(r, s), long, ec.ECDSA(SHA256()))


@given(r=NUMBERS, s=NUMBERS)
def test_a_signature_is_its_two_numbers_in_full_length(r: int, s: int) -> None:
    assert raw_signature(encode_dss_signature(r, s)) == r.to_bytes(32, "big") + s.to_bytes(32, "big")


GOOD = encode_dss_signature(ORDER - 1, 7)


@pytest.mark.parametrize(
    "der",
    [
        b"",
        b"\x30",
        b"\x30\x00",
        GOOD[:-1],
        GOOD + b"\x00",
        b"\x31" + GOOD[1:],
        bytes.fromhex("3006020101020100"),  # zero
        bytes.fromhex("30060201010201ff"),  # negative
        bytes.fromhex("3003020101"),  # one number
        bytes.fromhex("3009020101020101020101"),  # three
        encode_dss_signature(2**256, 1),
    ],
)
def test_what_is_no_signature_on_this_curve_is_refused(der: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  there is nothing to say beyond that
        raw_signature(der)

    keys, client, _ = card_keys(a=p256())
    client.signature = der
    with pytest.raises(UnusableKeyError, match="arn:a"):
        keys.current()[0].sign(b"card")


@pytest.mark.parametrize("curve", [ec.SECP384R1(), ec.SECP256K1()])
def test_a_key_on_another_curve_is_refused_by_its_name(curve: ec.EllipticCurve) -> None:
    keys, _, _ = card_keys(odd=ec.generate_private_key(curve))

    with pytest.raises(UnusableKeyError, match="odd"):
        keys.current()


def test_public_halves_are_remembered_for_five_minutes() -> None:
    keys, client, seconds = card_keys(a=p256(), b=p256())

    for _ in range(3):
        keys.current()
        seconds.now += REMEMBERED / 3
    assert [each["KeyId"] for each in client.asked] == ["a", "b"]

    client.keys["a"] = p256()
    assert keys.current()[0].public == public_key(spki(client.keys["a"]))
    assert len(client.asked) == 4


def test_two_names_of_one_key_are_one_key_in_the_place_of_the_first() -> None:
    same, other = p256(), p256()
    keys, _, _ = card_keys(a=same, b=other, c=same)

    assert [key.public for key in keys.current()] == [public_key(spki(same)), public_key(spki(other))]
