"""Secrets that only open for what they were sealed for, whichever key sealed them."""

import re
from collections.abc import Callable

import pytest
from botocore.exceptions import ClientError

from a2a_serverless.adapters.kms_seals import KmsSeals
from a2a_serverless.ports.webhooks import Seals, UnopenableError
from tests.fakes.ports import FakeSeals
from tests.integration.ports.backends import Backend
from tests.integration.ports.world import StoredWorld, World

CONTEXT = {"tenant": "acme", "owner": "o", "task": "t-1", "config": "c-1"}


@pytest.fixture
def seals(world: World) -> Seals:
    """The seals of each implementation."""
    if isinstance(world, StoredWorld):
        return KmsSeals(world.backend.kms, world.backend.secrets_key)
    return FakeSeals()


@pytest.mark.parametrize(
    "secret",
    [b"s", b'{"token":"t\xc3\xb6ken"}', bytes(range(256)) * 16],
    ids=["a byte", "text", "4,096 bytes"],
)
def test_a_secret_opens_for_what_it_was_sealed_for(seals: Seals, secret: bytes) -> None:
    assert seals.open(seals.seal(secret, CONTEXT), CONTEXT) == secret


def test_what_is_sealed_is_printable_and_does_not_show_the_secret(seals: Seals) -> None:
    sealed = seals.seal(b"tops3cret-tops3cret", CONTEXT)

    assert re.fullmatch(r"[!-~]+", sealed)
    assert "tops3cret" not in sealed


def test_the_order_of_names_does_not_matter(seals: Seals) -> None:
    sealed = seals.seal(b"secret", CONTEXT)

    assert seals.open(sealed, dict(reversed(CONTEXT.items()))) == b"secret"


@pytest.mark.parametrize(
    "other",
    [
        {**CONTEXT, "tenant": "other"},
        {**CONTEXT, "owner": "p"},
        {**CONTEXT, "task": "t-2"},
        {**CONTEXT, "config": "c-2"},
        {**CONTEXT, "more": "x"},
        {"tenant": "acme"},
        {},
    ],
    ids=["tenant", "owner", "task", "config", "more", "less", "nothing"],
)
def test_a_secret_opens_for_nothing_else(seals: Seals, other: dict[str, str]) -> None:
    sealed = seals.seal(b"secret", CONTEXT)

    with pytest.raises(UnopenableError):
        seals.open(sealed, other)


def test_an_opened_secret_opens_for_nothing_else_either(seals: Seals) -> None:
    sealed = seals.seal(b"secret", CONTEXT)
    seals.open(sealed, CONTEXT)

    with pytest.raises(UnopenableError):
        seals.open(sealed, {**CONTEXT, "task": "t-2"})


def test_a_tenant_without_a_name_is_a_context_like_any_other(seals: Seals) -> None:
    sealed = seals.seal(b"secret", {**CONTEXT, "tenant": ""})

    assert seals.open(sealed, {**CONTEXT, "tenant": ""}) == b"secret"
    with pytest.raises(UnopenableError):
        seals.open(sealed, CONTEXT)


@pytest.mark.parametrize("sealed", ["", "secret", "kms1:", "kms1:%%%", "kms2:c2VjcmV0", "kms1:ü"])
def test_what_nobody_sealed_does_not_open(seals: Seals, sealed: str) -> None:
    with pytest.raises(UnopenableError):
        seals.open(sealed, CONTEXT)


def test_a_tampered_secret_does_not_open(started: Callable[[str], Backend]) -> None:
    """MiniStack does not authenticate what it encrypts."""
    moto = started("moto")
    seals = KmsSeals(moto.kms, moto.secrets_key)
    sealed = seals.seal(b"secret", CONTEXT)
    end = "AAAAAAAA" if sealed[-8:] != "AAAAAAAA" else "BBBBBBBB"

    with pytest.raises(UnopenableError):
        seals.open(sealed[:-8] + end, CONTEXT)


def test_a_key_goes_by_its_alias_as_well(stored: StoredWorld) -> None:
    kms = stored.backend.kms
    alias = f"alias/{stored.owner}"
    kms.create_alias(AliasName=alias, TargetKeyId=kms.create_key()["KeyMetadata"]["KeyId"])
    seals = KmsSeals(kms, alias)

    assert seals.open(seals.seal(b"secret", CONTEXT), CONTEXT) == b"secret"


def test_another_key_leaves_old_secrets_readable(stored: StoredWorld) -> None:
    kms = stored.backend.kms
    alias = f"alias/{stored.owner}"
    former, latter = (kms.create_key()["KeyMetadata"]["KeyId"] for _ in range(2))
    kms.create_alias(AliasName=alias, TargetKeyId=former)
    old = KmsSeals(kms, alias).seal(b"old", CONTEXT)

    kms.update_alias(AliasName=alias, TargetKeyId=latter)
    seals = KmsSeals(kms, alias)
    new = seals.seal(b"new", CONTEXT)

    assert [seals.open(sealed, CONTEXT) for sealed in (old, new)] == [b"old", b"new"]


def test_nothing_is_sealed_with_a_key_that_is_not_there(stored: StoredWorld) -> None:
    with pytest.raises(ClientError):
        KmsSeals(stored.backend.kms, f"alias/{stored.owner}").seal(b"secret", CONTEXT)
