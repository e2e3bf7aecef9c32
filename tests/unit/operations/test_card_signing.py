"""A card signed once for what it says and the keys there are (specification 8.4)."""

from typing import Any

from a2a_serverless.operations.card_signing import signed
from a2a_serverless.ports.card_signing import CardSigning
from a2a_serverless.protocol.card import AgentCard
from a2a_serverless.protocol.card_signatures import (
    canonical,
    canonical_forms,
    read_protected_header,
    signing_input,
)
from tests.fakes.card_signing import FakeCardKey, FakeCardKeys, FakeCardSignatures, fake_signing

JKU = "https://agent.example/.well-known/jwks.json"


def card(**changed: Any) -> AgentCard:
    return AgentCard.from_dict(
        {
            "name": "Agent",
            "description": "Does things.",
            "supportedInterfaces": [
                {"url": "https://agent.example", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
            ],
            "version": "1",
            "capabilities": {"streaming": True},
            "defaultInputModes": ["text/plain"],
            "defaultOutputModes": ["text/plain"],
            "skills": [{"id": "a", "name": "A", "description": "Does A", "tags": ["a"]}],
            **changed,
        }
    )


GUARDED = card(securityRequirements=[{"schemes": {"bearer": {}}}])
"""A card of which there are two forms."""


def headers(signed_card: AgentCard) -> list[dict[str, Any]]:
    return [read_protected_header(each.protected) for each in signed_card.signatures]


def kids(signed_card: AgentCard) -> list[str]:
    return [header["kid"] for header in headers(signed_card)]


def inputs(signing: CardSigning) -> list[list[bytes]]:
    """What each key was given to sign."""
    return [key.signed for key in signing.keys.current()]  # type: ignore[attr-defined]


def test_a_signature_says_which_key_made_it_and_where_that_is() -> None:
    result = signed(fake_signing("key-1"), card())

    assert headers(result) == [{"alg": "ES256", "typ": "JOSE", "kid": "key-1", "jku": JKU}]
    assert result.model_copy(update={"signatures": ()}) == card()


def test_what_is_signed_is_the_canonical_card() -> None:
    signing = fake_signing()

    result = signed(signing, card())

    assert inputs(signing) == [[signing_input(result.signatures[0].protected, canonical(card()))]]


def test_a_capability_that_is_denied_is_left_out() -> None:
    denying = card(capabilities={"streaming": True, "pushNotifications": False, "extendedAgentCard": False})

    result = signed(fake_signing(), denying)

    assert result.to_dict()["capabilities"] == {"streaming": True}


def test_every_key_signs_the_one_that_is_to_stay_first() -> None:
    assert kids(signed(fake_signing("new", "old"), card())) == ["new", "old"]


def test_every_form_that_some_reader_goes_by_is_signed_the_specifications_first() -> None:
    signing = fake_signing("new", "old")

    result = signed(signing, GUARDED)

    prescribed, reduced = canonical_forms(GUARDED)
    assert kids(result) == ["new", "old", "new", "old"]
    new, old = (result.signatures[index].protected for index in (0, 1))
    assert inputs(signing) == [
        [signing_input(new, prescribed), signing_input(new, reduced)],
        [signing_input(old, prescribed), signing_input(old, reduced)],
    ]


def test_a_card_is_signed_once_however_many_processes_show_it() -> None:
    kept = FakeCardSignatures()
    first, second = fake_signing(kept=kept), fake_signing(kept=kept)

    shown = [signed(first, card()), signed(first, card()), signed(second, card())]

    assert shown == [shown[0]] * 3
    assert inputs(second) == [[]]


def test_two_processes_that_sign_at_once_agree_on_what_was_kept_first() -> None:
    kept = FakeCardSignatures()
    slow_key = FakeCardKey("key-1")
    slow, fast = fake_signing(kept=kept, keys=FakeCardKeys([slow_key])), fake_signing(kept=kept)
    next(slow_key.made)
    meanwhile: list[AgentCard] = []
    sign = slow_key.sign

    def overtaken(signing_input: bytes) -> bytes:
        meanwhile.append(signed(fast, card()))
        return sign(signing_input)

    slow_key.sign = overtaken  # type: ignore[method-assign]

    assert [signed(slow, card())] == meanwhile


def test_another_content_another_address_of_the_keys_and_other_keys_are_signed_anew() -> None:
    kept = FakeCardSignatures()

    for signing, shown in (
        (fake_signing("a", kept=kept), card()),
        (fake_signing("a", kept=kept), card(version="2")),
        (fake_signing("b", kept=kept), card()),
        (fake_signing("a", "b", kept=kept), card()),
        (fake_signing("b", "a", kept=kept), card()),
        (fake_signing("a", kept=kept, jku="https://other.example/jwks.json"), card()),
    ):
        signed(signing, shown)

    assert len(kept.kept) == 6


def test_a_key_that_is_a_secret_has_no_address_and_signs_each_time() -> None:
    secret = FakeCardKey("default", "HS256")
    signing = fake_signing(keys=FakeCardKeys([secret]), kept=None)

    results = [signed(signing, card()) for _ in range(2)]

    assert headers(results[0]) == [{"alg": "HS256", "typ": "JOSE", "kid": "default"}]
    assert len(secret.signed) == 2
