"""How often KMS is asked, and how its refusals are understood."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from botocore.exceptions import ClientError

from a2a_serverless.adapters.kms_seals import MOST_REMEMBERED, REMEMBERED, KmsSeals
from a2a_serverless.ports.webhooks import UnopenableError
from tests.unit.adapters.client import refusal

CONTEXT = {"tenant": "", "task": "t-1", "config": "c-1"}


@dataclass
class RecordedKms:
    """A KMS that seals by reversing, remembers what it was asked, and refuses when told to."""

    refusal: ClientError | None = None
    asked: list[Mapping[str, Any]] = field(default_factory=list)

    def encrypt(self, **request: Any) -> dict[str, bytes]:
        self.asked.append(request)
        return {"CiphertextBlob": request["Plaintext"][::-1]}

    def decrypt(self, **request: Any) -> dict[str, bytes]:
        self.asked.append(request)
        if self.refusal is not None:
            raise self.refusal
        return {"Plaintext": request["CiphertextBlob"][::-1]}


@dataclass
class Seconds:
    """Time that passes when a test says so."""

    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


def kms_seals(refused: ClientError | None = None) -> tuple[KmsSeals, RecordedKms, Seconds]:
    """Seals, the KMS they ask and the time they go by."""
    client: Any = RecordedKms(refused)
    seconds = Seconds()
    return KmsSeals(client, "alias/secrets", seconds), client, seconds


def test_the_key_is_named_to_seal_and_not_to_open_and_no_value_is_empty() -> None:
    seals, client, _ = kms_seals()

    seals.open(seals.seal(b"\xfb\xff", CONTEXT), CONTEXT)

    meant = {"task": "t-1", "config": "c-1"}
    assert client.asked == [
        {"KeyId": "alias/secrets", "Plaintext": b"\xfb\xff", "EncryptionContext": meant},
        {"CiphertextBlob": b"\xff\xfb", "EncryptionContext": meant},
    ]


def test_what_is_sealed_says_its_form() -> None:
    seals, _, _ = kms_seals()

    assert seals.seal(b"\xfb\xff", CONTEXT) == "kms1:__s="


def test_an_opened_secret_is_remembered_for_five_minutes() -> None:
    seals, client, seconds = kms_seals()

    for _ in range(3):
        assert seals.open("kms1:YWI=", CONTEXT) == b"ba"
        seconds.now += REMEMBERED / 3
    assert len(client.asked) == 1

    assert seals.open("kms1:YWI=", CONTEXT) == b"ba"
    assert len(client.asked) == 2


def test_it_is_remembered_for_what_it_was_opened_for() -> None:
    seals, client, _ = kms_seals()

    seals.open("kms1:YWI=", CONTEXT)
    client.refusal = refusal("InvalidCiphertextException")

    with pytest.raises(UnopenableError):
        seals.open("kms1:YWI=", {**CONTEXT, "task": "t-2"})
    assert seals.open("kms1:YWI=", CONTEXT) == b"ba"


def test_the_longest_remembered_is_forgotten_first() -> None:
    seals, client, _ = kms_seals()

    for number in range(MOST_REMEMBERED + 1):
        seals.open("kms1:YWI=", {"config": str(number)})
    seals.open("kms1:YWI=", {"config": "1"})
    assert len(client.asked) == MOST_REMEMBERED + 1

    seals.open("kms1:YWI=", {"config": "0"})
    assert len(client.asked) == MOST_REMEMBERED + 2


@pytest.mark.parametrize(
    "code",
    [
        "DisabledException",
        "IncorrectKeyException",
        "InvalidCiphertextException",
        "KMSInvalidStateException",
        "NotFoundException",
    ],
)
def test_a_refusal_that_stays_means_the_secret_cannot_be_opened(code: str) -> None:
    seals, _, _ = kms_seals(refusal(code))

    with pytest.raises(UnopenableError):
        seals.open("kms1:YWI=", CONTEXT)


@pytest.mark.parametrize(
    "code",
    ["AccessDeniedException", "ThrottlingException", "KMSInternalException", "KeyUnavailableException"],
)
def test_any_other_refusal_rises_and_is_not_remembered(code: str) -> None:
    seals, client, _ = kms_seals(refusal(code))

    with pytest.raises(ClientError):
        seals.open("kms1:YWI=", CONTEXT)

    client.refusal = None
    assert seals.open("kms1:YWI=", CONTEXT) == b"ba"


@pytest.mark.parametrize(
    "sealed", ["", "YWI=", "kms1:", "kms1:YWI", "kms1:Y W I =", "kms2:YWI=", "kms1:\xfc"]
)
def test_what_is_not_of_the_form_is_not_even_asked_about(sealed: str) -> None:
    seals, client, _ = kms_seals()

    with pytest.raises(UnopenableError):
        seals.open(sealed, CONTEXT)
    assert client.asked == []
