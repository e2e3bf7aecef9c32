"""The canonical forms of a card and how a signature is written down (specification 8.4)."""

import json
from typing import Any

import pytest
from a2a.utils._jcs import CanonicalizationError
from a2a.utils.signing import _canonicalize_agent_card
from hypothesis import HealthCheck, assume, given, settings

from a2a_serverless.protocol.card import AgentCard
from a2a_serverless.protocol.card_signatures import (
    MalformedSignatureError,
    NotCanonicalError,
    base64url,
    canonical,
    canonical_as_received,
    canonical_forms,
    protected_header,
    read_base64url,
    read_protected_header,
    signature_of,
    signing_input,
)
from tests.unit.protocol.official import official_messages, print_officially

FRAGMENT: dict[str, Any] = {
    "name": "Example Agent",
    "description": "",
    "capabilities": {"streaming": False, "pushNotifications": False, "extensions": []},
    "skills": [],
}
"""The example of 8.4.1."""

FRAGMENT_IN_FORM = (
    '{"capabilities":{"pushNotifications":false,"streaming":false},'
    '"description":"","name":"Example Agent","skills":[]}'
)

EXAMPLE = {
    "protected": (
        "eyJhbGciOiJFUzI1NiIsInR5cCI6IkpPU0UiLCJraWQiOiJrZXktMSIsImprdSI6Imh0dHBzOi8vZXhhbXBsZS5jb20vYWdlbnQv"
        "andrcy5qc29uIn0"
    ),
    "signature": "QFdkNLNszlGj3z3u0YQGt_T9LixY3qtdQpZmsTdDHDe3fXV9y9-B3m2-XgCpzuhiLt8E0tV6HXoZKHv4GtHgKQ",
}
"""The example of 8.4.2. Its key is not published, so what can be held to it is how it is written."""

REST = {
    "supportedInterfaces": [{"url": "https://a.example", "protocolBinding": "X", "protocolVersion": "1.0"}],
    "version": "1",
    "defaultInputModes": ["text/plain"],
    "defaultOutputModes": ["text/plain"],
}
"""What the fragment lacks to be a card."""

SIGNED = {**FRAGMENT, **REST, "signatures": [EXAMPLE]}


def card(**changed: Any) -> AgentCard:
    return AgentCard.from_dict({**SIGNED, **changed})


def test_the_example_of_the_specification_has_the_form_that_it_prints() -> None:
    form = json.loads(canonical(card()))

    members = {name: member for name, member in form.items() if name not in REST}
    assert json.dumps(members, separators=(",", ":")) == FRAGMENT_IN_FORM


def test_members_stand_in_order_without_spaces_and_without_the_signatures() -> None:
    assert canonical(card(name="Zürich 🚲")) == (
        b'{"capabilities":{"pushNotifications":false,"streaming":false},"defaultInputModes":["text/plain"],'
        b'"defaultOutputModes":["text/plain"],"description":"","name":"Z\xc3\xbcrich \xf0\x9f\x9a\xb2",'
        b'"skills":[],"supportedInterfaces":[{"protocolBinding":"X","protocolVersion":"1.0",'
        b'"url":"https://a.example"}],"version":"1"}'
    )


def test_optional_fields_that_were_set_are_kept_and_unset_ones_are_not() -> None:
    form = json.loads(canonical(card(documentationUrl="", capabilities={"streaming": False})))

    assert form["capabilities"] == {"streaming": False}
    assert form["documentationUrl"] == ""
    assert "iconUrl" not in form


def test_a_card_without_empty_values_has_one_form() -> None:
    full = card(
        description="Plans", skills=[{"id": "a", "name": "A", "description": "Does A", "tags": ["a"]}]
    )

    assert canonical_forms(full) == (canonical(full),)


def test_a_card_with_empty_values_has_the_form_of_the_specification_and_that_of_the_sdks() -> None:
    with_a_scheme = card(securityRequirements=[{"schemes": {"bearer": {}}}])

    first, second = canonical_forms(with_a_scheme)

    assert first == canonical(with_a_scheme)
    assert json.loads(first).keys() - json.loads(second).keys() == {
        "description",
        "skills",
        "securityRequirements",
    }


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(official=official_messages("AgentCard"))
def test_one_of_the_forms_is_always_the_one_of_the_official_sdk(official: Any) -> None:
    try:
        theirs = _canonicalize_agent_card(official).encode()
    except CanonicalizationError:
        assume(False)  # noqa: FBT003  numbers that it takes for integers out of bounds

    assert theirs in canonical_forms(AgentCard.from_dict(print_officially(official)))


def test_a_card_of_a_later_protocol_is_signed_with_what_it_has_more() -> None:
    assert canonical_as_received({**SIGNED, "novelty": 1.0}) == canonical_as_received(
        {"novelty": 1, **FRAGMENT, **REST}
    )
    assert b'"novelty":1' in canonical_as_received({"novelty": 1})


@pytest.mark.parametrize(
    ("number", "written"),
    [
        (42.0, b"42"),
        (-0.0, b"0"),
        (2**53 - 1, b"9007199254740991"),
        (2**53, b"9007199254740992"),
        (-(2**60), b"-1152921504606847000"),
        (10**21, b"1e+21"),
        (1e-7, b"1e-7"),
        (True, b"true"),
    ],
)
def test_numbers_are_written_as_every_reader_of_json_sees_them(number: float, written: bytes) -> None:
    assert canonical_as_received({"n": [number]}) == b'{"n":[' + written + b"]}"


def nested(depth: int) -> Any:
    return [nested(depth - 1)] if depth else []


@pytest.mark.parametrize("value", [float("nan"), 10**400, "\ud800", nested(900)])
def test_what_has_no_form_is_refused(value: Any) -> None:
    with pytest.raises(NotCanonicalError):
        canonical_as_received({"value": value})
    with pytest.raises(NotCanonicalError):
        canonical_as_received({"\ud800": value})


def test_a_header_is_written_as_in_the_specification() -> None:
    written = protected_header("ES256", "key-1", "https://example.com/agent/jwks.json")

    assert written == EXAMPLE["protected"]
    assert read_protected_header(written) == {
        "alg": "ES256",
        "typ": "JOSE",
        "kid": "key-1",
        "jku": "https://example.com/agent/jwks.json",
    }
    assert "jku" not in read_protected_header(protected_header("HS256", "default"))


def test_the_signature_of_the_specification_is_64_bytes_and_written_back_as_it_was() -> None:
    signature = read_base64url(EXAMPLE["signature"])

    assert len(signature) == 64
    assert signature_of(EXAMPLE["protected"], signature).to_dict() == EXAMPLE


def test_what_is_signed_is_the_header_and_the_payload_in_base64() -> None:
    assert signing_input("eyJ9", b"\xff\xfe{}") == b"eyJ9.__57fQ"


@pytest.mark.parametrize(
    ("protected", "words"),
    [
        ("", "base64url"),
        ("e30=", "base64url"),
        ("e+/9", "base64url"),
        ("e", "base64url"),
        (base64url(b"nonsense"), "not JSON"),
        (base64url(b"\xff"), "not JSON"),
        (base64url(b'{"alg":"ES256","alg":"HS256","kid":"k"}'), "not JSON"),
        (base64url(b"[]"), "no object"),
        (base64url(b'{"kid":"k"}'), "no alg"),
        (base64url(b'{"alg":7,"kid":"k"}'), "no alg"),
        (base64url(b'{"alg":"ES256"}'), "no kid"),
        (base64url(b'{"alg":"ES256","kid":""}'), "no kid"),
    ],
)
def test_what_is_no_header_is_refused_in_words(protected: str, words: str) -> None:
    with pytest.raises(MalformedSignatureError, match=words):
        read_protected_header(protected)
