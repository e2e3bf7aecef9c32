"""What signs the card, and what callers' own cards take: granted where it is chosen, and never in halves."""

from typing import Any

import pytest

from infra.local.intrinsics import Scope
from infra.local.template import pseudo, read_deployment
from tests.integration.infra.declared import ROOT, deployed, several, template

KEYS = ["arn:aws:kms:us-east-1:123456789012:key/new", "arn:aws:kms:us-east-1:123456789012:key/mrk-0ld"]
SIGNED = {"CardSigningKeys": ",".join(KEYS), "DomainName": "agent.example", "CertificateArn": "arn:aws:acm:x"}
SECRET = "arn:aws:secretsmanager:us-east-1:123456789012:secret:card-AbCdEf"
PARAMETER = "arn:aws:ssm:us-east-1:123456789012:parameter/a2a/card"
EXTENDED = {"ExtendedCard": "my.agent:extended_card", "Credentials": "ssm:/callers"}
API = ("JsonRpcRole", "HttpJsonRole")
OTHERS = ("TurnRole", "SweepRole", "FanoutRole", "PushRole")
ABOUT_CARDS = {"SignCards", "CardSecret", "SignedCards"}


def shared(arn: str) -> dict[str, str]:
    """The parameters of a deployment that signs with a secret."""
    return {"CardSigningSecret": arn, "CardSigningKid": "default", "BaseUrl": "https://agent.example"}


def granted(role: str, **parameters: str) -> list[tuple[list[str], list[Any]]]:
    """What a role may do about cards, and to what."""
    [policy] = deployed(**parameters)[role]["Policies"]
    return [
        (several(each["Action"]), several(each["Resource"]))
        for each in policy["PolicyDocument"]["Statement"]
        if each["Sid"] in ABOUT_CARDS
    ]


SIGNS = (["kms:GetPublicKey", "kms:Sign"], KEYS)
KEEPS = (["dynamodb:GetItem", "dynamodb:PutItem"], ["State.Outputs.TableArn"])


def test_the_card_is_signed_with_the_keys_that_were_named_and_no_others() -> None:
    assert granted("CardRole", **SIGNED) == [SIGNS, KEEPS]
    assert granted("CardRole") == []


def test_of_the_table_the_card_writes_signatures_and_nothing_else() -> None:
    [policy] = deployed(**SIGNED)["CardRole"]["Policies"]
    tables = {
        each["Sid"]: each["Condition"]
        for each in policy["PolicyDocument"]["Statement"]
        if any(action.startswith("dynamodb:") for action in several(each["Action"]))
    }

    assert tables == {
        "SignedCards": {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["CARD#*"]}},
        "SigningKeys": {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": ["KEYS#webhooks"]}},
    }


@pytest.mark.parametrize(
    ("arn", "action"), [(SECRET, "secretsmanager:GetSecretValue"), (PARAMETER, "ssm:GetParameter")]
)
def test_a_secret_is_read_where_it_lies(arn: str, action: str) -> None:
    assert granted("CardRole", **shared(arn)) == [([action], [arn])]
    for role in API:
        assert granted(role, **shared(arn)) == []
        assert granted(role, **shared(arn), **EXTENDED) == [([action], [arn])]


@pytest.mark.parametrize("role", API)
def test_the_bindings_sign_where_callers_have_cards_of_their_own_and_nowhere_else(role: str) -> None:
    assert granted(role, **SIGNED, **EXTENDED) == [SIGNS]
    assert granted(role, **SIGNED) == granted(role, **EXTENDED) == []


@pytest.mark.parametrize("role", OTHERS)
def test_nobody_else_signs_cards(role: str) -> None:
    assert granted(role, **SIGNED, **EXTENDED) == granted(role, **shared(SECRET), **EXTENDED) == []


@pytest.mark.parametrize(
    ("arn", "told"),
    [("", ""), (SECRET, f"secretsmanager:{SECRET}"), (PARAMETER, f"ssm:{PARAMETER}")],
)
def test_functions_are_told_where_the_secret_lies(arn: str, told: str) -> None:
    for function in read_deployment(ROOT, shared(arn)).functions.values():
        assert function.environment["CARD_SIGNING_SECRET"] == told
        assert function.environment["CARD_SIGNING_KID"] == "default"


def refusals(**parameters: str) -> set[str]:
    """The rules that CloudFormation would refuse such a deployment by."""
    whole = template()
    rules = whole["Rules"]
    conditions = {f"{name}Applies": rule.get("RuleCondition", True) for name, rule in rules.items()}
    asserted = {
        f"{name}{number}": each["Assert"]
        for name, rule in rules.items()
        for number, each in enumerate(rule["Assertions"])
    }
    defaults = {name: declared.get("Default", "") for name, declared in whole["Parameters"].items()}
    scope = Scope(
        {**whole, "Conditions": {**conditions, **asserted}},
        defaults | pseudo("stack") | parameters,
        resource=str,
        attribute=lambda name, attribute: "",
    )
    return {
        name
        for name, rule in rules.items()
        if conditions[f"{name}Applies"] is True or scope.holds(f"{name}Applies")
        if not all(scope.holds(f"{name}{number}") for number in range(len(rule["Assertions"])))
    }


OPEN = {"Anonymous": "allowed"}


@pytest.mark.parametrize(
    ("parameters", "refused"),
    [
        ({}, set()),
        (SIGNED, set()),
        ({"CardSigningKeys": KEYS[0]}, {"CardsAreSignedForAnAddress"}),
        ({"CardSigningKeys": KEYS[0], "BaseUrl": "https://agent.example"}, set()),
        (shared(SECRET), set()),
        ({**shared(SECRET), "BaseUrl": ""}, {"CardsAreSignedForAnAddress"}),
        ({**shared(SECRET), **SIGNED}, {"CardsAreSignedForAnAddress"}),
        ({**shared(SECRET), "CardSigningKid": ""}, {"CardSecretHasItsName"}),
        ({"CardSigningKid": "default"}, {"CardSecretHasItsName"}),
        (EXTENDED, set()),
        ({"ExtendedCard": "my.agent:extended_card"}, {"ExtendedCardsHaveCallers"}),
    ],
)
def test_halves_are_refused_before_anything_is_deployed(
    parameters: dict[str, str], refused: set[str]
) -> None:
    assert refusals(**{**OPEN, **parameters}) == refused
