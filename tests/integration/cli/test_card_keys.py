"""`a2a-serverless card sign --kms-key` by keys that never leave KMS."""

import json
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from a2a_serverless.adapters.kms_card_keys import kms_card_key
from a2a_serverless.client.card_verification import Verdict, verify
from a2a_serverless.client.trusted_keys import trusted_jwks
from a2a_serverless.protocol.card_signatures import read_protected_header
from tests.integration.cli.desk import Desk
from tests.unit.client.signing import CARD


@pytest.fixture
def card(tmp_path: Path) -> str:
    """A file with a card."""
    file = tmp_path / "card.json"
    file.write_text(json.dumps(CARD))
    return str(file)


def created(desk: Desk, spec: Any = "ECC_NIST_P256") -> str:
    made = desk.backend.kms.create_key(KeySpec=spec, KeyUsage="SIGN_VERIFY")
    return made["KeyMetadata"]["Arn"]


def test_a_card_is_signed_by_a_key_of_kms_named_by_id_or_alias(desk: Desk, card: str) -> None:
    arn, alias = created(desk), f"alias/card-{uuid4().hex[:8]}"
    desk.backend.kms.create_alias(AliasName=alias, TargetKeyId=arn)
    public = kms_card_key(desk.backend.kms, arn).public

    for name in (arn, alias):
        ended = desk.operate("card", "sign", card, "--kms-key", name)

        assert (ended.exit_code, ended.stderr) == (0, "")
        keys = [{"kty": "EC", "crv": "P-256", "kid": public.kid, "x": public.x, "y": public.y}]
        assert verify(ended.stdout.encode(), trusted_jwks({"keys": keys})).verdict is Verdict.VALID


def test_such_a_key_may_have_a_name_too(desk: Desk, card: str) -> None:
    ended = desk.operate("card", "sign", card, "--kms-key", created(desk), "--kid", "2027")

    made = json.loads(ended.stdout)["signatures"]
    assert {read_protected_header(each["protected"])["kid"] for each in made} == {"2027"}


def test_a_key_of_another_kind_and_one_that_is_not_there_are_refused(desk: Desk, card: str) -> None:
    arn = created(desk, "RSA_2048")

    odd = desk.operate("card", "sign", card, "--kms-key", arn)
    none = desk.operate("card", "sign", card, "--kms-key", "alias/nobody")

    assert (odd.exit_code, odd.stderr) == (2, f"error: {arn} is no key of the kind ECC_NIST_P256\n")
    assert (none.exit_code, none.stdout) == (1, "")
    assert none.stderr.startswith("error: AWS refused GetPublicKey: NotFoundException")


def test_where_aws_is_out_of_reach_it_is_said_what_is_missing(desk: Desk, card: str) -> None:
    ended = desk.run("card", "sign", card, "--kms-key", "alias/card")

    assert (ended.exit_code, ended.stderr) == (
        4,
        "error: no AWS Region is set: name one with --region, or set AWS_REGION\n",
    )
