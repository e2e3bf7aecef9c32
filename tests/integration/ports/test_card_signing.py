"""Signing cards with KMS and the table: one signature for all, verified by whoever has the public key."""

from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any
from uuid import uuid4

import jwt
import pytest
from botocore.awsrequest import AWSPreparedRequest
from jwt.algorithms import ECAlgorithm

from a2a_serverless.adapters.dynamodb_card_signatures import KEPT, DynamoCardSignatures
from a2a_serverless.adapters.dynamodb_table import DynamoTable
from a2a_serverless.adapters.kms_card_keys import KmsCardKeys, UnusableKeyError
from a2a_serverless.operations.card_signing import signed
from a2a_serverless.ports.card_signing import CardKey, CardSignatures, CardSigning, Signatures
from a2a_serverless.protocol.card import AgentCard, AgentCardSignature
from a2a_serverless.protocol.card_signatures import canonical, signing_input
from tests.fakes.card_signing import FakeCardSignatures, fake_signing
from tests.integration.ports.samples import THREADS, all_at_once
from tests.integration.ports.world import StoredWorld, World

CARD = AgentCard.from_dict(
    {
        "name": "Agent",
        "description": "Does things. " * 400,  # more than KMS takes of a message
        "supportedInterfaces": [
            {"url": "https://agent.example", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
        ],
        "version": "1",
        "capabilities": {"streaming": True},
        "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["text/plain"],
        "skills": [{"id": "a", "name": "A", "description": "Does A", "tags": ["a"]}],
    }
)


@pytest.fixture
def signatures(world: World) -> CardSignatures:
    """The place of each implementation."""
    return another(world) if isinstance(world, StoredWorld) else FakeCardSignatures(world.clock)


@pytest.fixture
def digest() -> str:
    """What nobody else has."""
    return uuid4().hex


def another(stored: StoredWorld) -> DynamoCardSignatures:
    """The place as one more process sees it."""
    return DynamoCardSignatures(DynamoTable(stored.backend.dynamodb, stored.backend.table, stored.clock))


def some(*names: str) -> Signatures:
    return tuple(AgentCardSignature(protected="eyJ9", signature=name) for name in names)


def test_before_the_first_there_are_none(signatures: CardSignatures, digest: str) -> None:
    assert signatures.read(digest) == ()


def test_they_are_read_as_they_were_kept(signatures: CardSignatures, digest: str) -> None:
    assert signatures.keep(digest, some("a", "b")) == some("a", "b")
    assert signatures.read(digest) == some("a", "b")
    assert signatures.read(digest + "0") == ()


def test_those_that_were_kept_first_stand(signatures: CardSignatures, digest: str) -> None:
    signatures.keep(digest, some("a"))

    assert signatures.keep(digest, some("b")) == some("a")
    assert signatures.read(digest) == some("a")


def test_after_ninety_days_others_may_be_kept(world: World, signatures: CardSignatures, digest: str) -> None:
    signatures.keep(digest, some("a"))
    world.clock.sleep((KEPT - timedelta(seconds=1)).total_seconds())
    assert signatures.read(digest) == some("a")

    world.clock.sleep(1)

    assert signatures.read(digest) == ()
    assert signatures.keep(digest, some("b")) == some("b")
    assert signatures.read(digest) == some("b")


def test_all_who_sign_at_once_agree_on_one(signatures: CardSignatures, digest: str) -> None:
    card = CARD.model_copy(update={"version": digest})

    shown = all_at_once(lambda _: signed(fake_signing(kept=signatures), card))

    assert shown == [shown[0]] * THREADS


def test_processes_that_sign_at_once_agree_on_one(stored: StoredWorld, digest: str) -> None:
    standing = all_at_once(lambda number: another(stored).keep(digest, some(f"of-{number}")))

    assert standing == [another(stored).read(digest)] * THREADS


def test_a_signature_whose_answer_was_lost_is_known_as_ones_own(stored: StoredWorld, digest: str) -> None:
    with stored.losing_the_answer_of("PutItem"):
        assert another(stored).keep(digest, some("a")) == some("a")


@contextmanager
def requests_of(stored: StoredWorld) -> Iterator[list[str]]:
    """The requests that the table gets meanwhile."""
    asked: list[str] = []

    def note(request: AWSPreparedRequest, **_: Any) -> None:
        asked.append(request.url)

    events = stored.backend.dynamodb.meta.events
    events.register_first("before-send.dynamodb.*", note)
    try:
        yield asked
    finally:
        events.unregister("before-send.dynamodb.*", note)


def test_what_was_read_once_is_not_asked_for_again(stored: StoredWorld, digest: str) -> None:
    place = another(stored)
    place.keep(digest, some("a"))

    with requests_of(stored) as asked:
        assert [place.read(digest) for _ in range(3)] == [some("a")] * 3
        assert asked == []
        assert another(stored).read(digest) == some("a")
        assert len(asked) == 1


def test_a_process_remembers_no_more_than_it_should(
    stored: StoredWorld, digest: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("a2a_serverless.adapters.dynamodb_card_signatures.MOST_REMEMBERED", 1)
    place = another(stored)
    for name in ("1", "2"):
        place.keep(digest + name, some(name))

    with requests_of(stored) as asked:
        assert place.read(digest + "2") == some("2")
        assert asked == []
        assert place.read(digest + "1") == some("1")
        assert len(asked) == 1


def test_they_lie_where_the_documentation_says(stored: StoredWorld, digest: str) -> None:
    another(stored).keep(digest, some("a"))

    place = {"pk": {"S": f"CARD#{digest}"}, "sk": {"S": "HEAD"}}
    item = stored.backend.dynamodb.get_item(TableName=stored.backend.table, Key=place)["Item"]
    assert item.keys() == {"pk", "sk", "expires", "body"}


def created(stored: StoredWorld, spec: Any = "ECC_NIST_P256", usage: Any = "SIGN_VERIFY") -> str:
    """The ARN of a key that was made for this test."""
    made = stored.backend.kms.create_key(KeySpec=spec, KeyUsage=usage)
    return made["KeyMetadata"]["Arn"]


def public_jwk(key: CardKey) -> Any:
    assert key.public is not None
    return ECAlgorithm.from_jwk({"kty": "EC", "crv": "P-256", "x": key.public.x, "y": key.public.y})


def test_a_card_is_signed_by_every_key_of_kms_and_each_signature_verifies(stored: StoredWorld) -> None:
    arns = [created(stored), created(stored)]
    keys = KmsCardKeys(stored.backend.kms, arns)

    result = signed(CardSigning(keys, another(stored), "https://agent.example/jwks.json"), CARD)

    assert len(result.signatures) == 2
    for each, key in zip(result.signatures, keys.current(), strict=True):
        token = f"{signing_input(each.protected, canonical(CARD)).decode()}.{each.signature}"
        header = jwt.PyJWS().decode_complete(token, public_jwk(key), ["ES256"])["header"]
        assert header["kid"] == key.kid


def test_a_key_may_be_named_by_an_alias(stored: StoredWorld) -> None:
    arn, alias = created(stored), f"alias/card-{uuid4().hex[:8]}"
    stored.backend.kms.create_alias(AliasName=alias, TargetKeyId=arn)

    (named,), (key,) = (KmsCardKeys(stored.backend.kms, [name]).current() for name in (alias, arn))

    assert named.public == key.public
    assert len(named.sign(b"card")) == 64


@pytest.mark.parametrize("spec", ["ECC_NIST_P384", "RSA_2048"])
def test_a_key_of_another_kind_is_refused(stored: StoredWorld, spec: str) -> None:
    arn = created(stored, spec)

    with pytest.raises(UnusableKeyError, match=arn):
        KmsCardKeys(stored.backend.kms, [arn]).current()


def test_the_emulators_show_keys_as_kms_does(stored: StoredWorld) -> None:
    shown = stored.backend.kms.get_public_key(KeyId=created(stored))["PublicKey"]

    assert len(shown) == 91
    assert shown[:27] == b64decode("MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE")
