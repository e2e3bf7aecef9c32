"""Signatures over webhooks, verified by a library and by hand, and what they cost."""

import json
from base64 import urlsafe_b64decode
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from typing import Any

import jwt
import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, SECP256R1, EllipticCurvePublicNumbers
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256

from a2a_serverless.adapters.jws_signatures import JwsSignatures, LockedKeyError
from a2a_serverless.adapters.p256_key_pairs import P256KeyPairs
from a2a_serverless.bindings.keys import jwk_set
from a2a_serverless.operations.signing_keys import READ_AGAIN, SOONEST, current_ring, published, rotate
from a2a_serverless.ports.public_keys import thumbprint
from a2a_serverless.ports.signing_keys import KeyPorts, KeyRing
from a2a_serverless.ports.webhooks import UnopenableError
from tests.fakes.ports import FakeClock, FakeSeals
from tests.fakes.signing import FakeSigningKeys, fake_keys

BODY = '{"statusUpdate":{"taskId":"t-1","text":"snö.\\n"}}'.encode()
CLAIMS = {"jti": "t-1-3", "url": "https://receiver.example/hook?a=1"}
BEFORE_TAKING_OVER = timedelta(minutes=59, seconds=59)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def seals() -> FakeSeals:
    return FakeSeals()


@pytest.fixture
def ports(clock: FakeClock, seals: FakeSeals) -> KeyPorts:
    return fake_keys(clock=clock, pairs=P256KeyPairs(), seals=seals)


@pytest.fixture
def signatures(ports: KeyPorts) -> JwsSignatures:
    return JwsSignatures(ports)


def keys(ports: KeyPorts) -> Mapping[str, Any]:
    """The keys that receivers are shown now, by name."""
    shown = json.loads(jwk_set(published(ports.keys.read(), ports.clock.now())))["keys"]
    return {key["kid"]: key for key in shown}


def verified(signature: str, body: bytes, ports: KeyPorts) -> Mapping[str, Any]:
    """The protected header, by pyjwt; raises InvalidTokenError, and KeyError for an unknown key."""
    key = jwt.PyJWK(keys(ports)[kid(signature)])
    decoded = jwt.api_jws.decode_complete(signature, key, algorithms=["ES256"], detached_payload=body)
    return dict(decoded["header"])


def kid(signature: str) -> str:
    return str(jwt.get_unverified_header(signature)["kid"])


def test_a_signature_verifies_over_the_very_bytes(signatures: JwsSignatures, ports: KeyPorts) -> None:
    signature = signatures.sign(BODY, CLAIMS)

    assert verified(signature, BODY, ports) == {
        "alg": "ES256",
        "b64": False,
        "crit": ["b64"],
        "iat": int(ports.clock.now().timestamp()),
        "jti": "t-1-3",
        "kid": next(iter(keys(ports))),
        "url": "https://receiver.example/hook?a=1",
    }
    for other in (b"", BODY + b" ", BODY.replace(b"t-1", b"t-2"), BODY[:-1]):
        with pytest.raises(jwt.InvalidSignatureError):
            verified(signature, other, ports)


def test_a_signature_verifies_by_hand(signatures: JwsSignatures, ports: KeyPorts) -> None:
    """As the receivers' documentation tells it, step by step."""
    header, payload, raw = signatures.sign(BODY, CLAIMS).split(".")
    signature, key = decoded(raw), keys(ports)[json.loads(decoded(header))["kid"]]
    x, y = (int.from_bytes(decoded(key[name]), "big") for name in ("x", "y"))
    public = EllipticCurvePublicNumbers(x, y, SECP256R1()).public_key()
    halves = [int.from_bytes(half, "big") for half in (signature[:32], signature[32:])]

    assert (payload, len(signature)) == ("", 64)
    public.verify(encode_dss_signature(*halves), header.encode() + b"." + BODY, ECDSA(SHA256()))
    with pytest.raises(InvalidSignature):
        public.verify(encode_dss_signature(*halves), header.encode() + b"." + BODY[1:], ECDSA(SHA256()))


def decoded(segment: str) -> bytes:
    return urlsafe_b64decode(segment + "=" * (-len(segment) % 4))


def test_a_claim_that_was_changed_does_not_verify(signatures: JwsSignatures, ports: KeyPorts) -> None:
    own = signatures.sign(BODY, CLAIMS)
    others = signatures.sign(BODY, {**CLAIMS, "url": "https://other.example/"})
    swapped = ".".join([others.split(".")[0], "", own.split(".")[2]])

    with pytest.raises(jwt.InvalidSignatureError):
        verified(swapped, BODY, ports)


def test_no_claim_takes_the_place_of_what_the_signature_says_of_itself(
    signatures: JwsSignatures, ports: KeyPorts
) -> None:
    lies = {"alg": "none", "kid": "other", "typ": "JWT", "b64": "true", "crit": "", "iat": "0"}

    header = verified(signatures.sign(BODY, {**lies, **CLAIMS}), BODY, ports)

    assert header == verified(signatures.sign(BODY, CLAIMS), BODY, ports)


def test_whatever_is_claimed_fits_into_a_header(signatures: JwsSignatures, ports: KeyPorts) -> None:
    url = "https://receiver.example/\r\nX: 1/\u2028/snö"

    signature = signatures.sign(BODY, {"url": url})

    assert all(character.isalnum() or character in "-_." for character in signature)
    assert verified(signature, BODY, ports)["url"] == url


def test_a_process_opens_one_key_once_and_reads_the_ring_now_and_then(
    signatures: JwsSignatures, seals: FakeSeals, clock: FakeClock
) -> None:
    for _ in range(100):
        signatures.sign(BODY, CLAIMS)
        clock.sleep(READ_AGAIN.total_seconds() / 10)

    assert (seals.sealed, seals.opened) == (1, 1)


def test_many_threads_that_need_the_first_pair_at_once_make_and_open_one(
    signatures: JwsSignatures, seals: FakeSeals, ports: KeyPorts
) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: signatures.sign(BODY, CLAIMS), range(64)))

    assert len({kid(signature) for signature in made}) == 1
    assert (seals.sealed, seals.opened) == (1, 1)
    for signature in made:
        verified(signature, BODY, ports)


def test_processes_that_need_the_first_pair_at_once_sign_with_the_same(ports: KeyPorts) -> None:
    processes = [JwsSignatures(ports) for _ in range(8)]

    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda process: process.sign(BODY, CLAIMS), processes))

    assert {kid(signature) for signature in made} == set(keys(ports))
    assert len(keys(ports)) == 1


def test_a_process_changes_to_the_next_pair_when_its_time_has_come(
    signatures: JwsSignatures, ports: KeyPorts, clock: FakeClock, seals: FakeSeals
) -> None:
    first = kid(signatures.sign(BODY, CLAIMS))
    rotate(ports)
    assert kid(signatures.sign(BODY, CLAIMS)) == first

    clock.sleep(BEFORE_TAKING_OVER.total_seconds())
    assert kid(signatures.sign(BODY, CLAIMS)) == first
    clock.sleep(1)
    second = kid(signatures.sign(BODY, CLAIMS))

    assert list(keys(ports)) == [first, second]
    assert seals.opened == 2


def test_a_delivery_signed_before_a_rotation_verifies_until_its_pair_retires(
    signatures: JwsSignatures, ports: KeyPorts, clock: FakeClock
) -> None:
    early = signatures.sign(BODY, CLAIMS)
    rotate(ports)
    clock.sleep(BEFORE_TAKING_OVER.total_seconds())
    late = signatures.sign(BODY, CLAIMS)

    clock.sleep(ports.policy.publish_after.total_seconds())
    assert len({kid(each) for each in (early, late, signatures.sign(BODY, CLAIMS))}) == 2
    for signature in (early, late, signatures.sign(BODY, CLAIMS)):
        verified(signature, BODY, ports)

    clock.sleep(1)
    with pytest.raises(KeyError):
        verified(early, BODY, ports)


def test_a_pair_that_has_grown_old_is_followed_by_another_without_anybody_asking(
    signatures: JwsSignatures, ports: KeyPorts, clock: FakeClock
) -> None:
    first = kid(signatures.sign(BODY, CLAIMS))

    clock.sleep(ports.policy.lasts.total_seconds())
    assert kid(signatures.sign(BODY, CLAIMS)) == first
    clock.sleep(ports.policy.publish_ahead.total_seconds())

    assert kid(signatures.sign(BODY, CLAIMS)) != first


def test_a_key_that_cannot_be_opened_now_signs_later(
    signatures: JwsSignatures, ports: KeyPorts, seals: FakeSeals
) -> None:
    """And is not taken for a webhook's own secrets that cannot be opened, which ends the webhook."""
    current_ring(ports)
    seals.lost = True
    with pytest.raises(LockedKeyError) as locked:
        signatures.sign(BODY, CLAIMS)
    assert not isinstance(locked.value, UnopenableError)

    seals.lost = False
    verified(signatures.sign(BODY, CLAIMS), BODY, ports)


def test_a_key_that_will_never_be_opened_again_is_replaced_in_ten_minutes(
    ports: KeyPorts, clock: FakeClock
) -> None:
    current_ring(replace(ports, seals=FakeSeals(lost=True)))
    here = replace(ports, seals=OtherSeals())
    with pytest.raises(LockedKeyError):
        JwsSignatures(here).sign(BODY, CLAIMS)

    rotate(here, leaked=True)
    clock.sleep(SOONEST.total_seconds())

    verified(JwsSignatures(here).sign(BODY, CLAIMS), BODY, here)


class OtherSeals(FakeSeals):
    """Seals that open nothing but their own."""

    def seal(self, secret: bytes, context: Mapping[str, str]) -> str:
        return super().seal(secret, {**context, "key": "other"})

    def open(self, sealed: str, context: Mapping[str, str]) -> bytes:
        return super().open(sealed, {**context, "key": "other"})


class CountedReadings(FakeSigningKeys):
    """Says how often it was read."""

    readings: list[None]

    def read(self) -> KeyRing | None:
        self.readings.append(None)
        return super().read()


def test_the_ring_is_read_once_in_five_minutes(ports: KeyPorts, clock: FakeClock) -> None:
    current_ring(ports)
    assert isinstance(ports.keys, FakeSigningKeys)
    counted = CountedReadings(ports.keys.table)
    object.__setattr__(counted, "readings", [])
    signatures = JwsSignatures(replace(ports, keys=counted))

    for _ in range(20):
        signatures.sign(BODY, CLAIMS)
        clock.sleep(60)

    assert len(counted.readings) == 4


def test_a_pair_is_named_by_the_thumbprint_of_its_public_half() -> None:
    """The key is that of RFC 7517, A.1."""
    x, y = "MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4", "4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM"

    assert thumbprint(x, y) == "cn-I_WNMClehiVp51i_0VpOENW1upEerA8sEam5hn-s"


def test_no_two_pairs_are_the_same_and_none_shows_its_private_half() -> None:
    pairs = [P256KeyPairs().new() for _ in range(20)]

    assert len({pair.kid for pair in pairs}) == len({pair.private for pair in pairs}) == 20
    assert all(len(pair.x) == len(pair.y) == 43 for pair in pairs)
    assert not any("private" in repr(pair) for pair in pairs)
